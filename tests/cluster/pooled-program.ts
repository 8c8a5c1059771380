// The built program on a database that is reached in some way, for example through a pooler: what its users notice.
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { jwtSecret } from '../support/application.ts'
import { startBuiltProgram } from '../support/built-program.ts'
import { bearer } from '../support/token.ts'
import { clientOf, startLoad, type Client } from './load.ts'
import type { UriOf } from './pooler.ts'

type Row = Record<string, unknown>
export type Query = (text: string) => Promise<Row[]>

export const database = 'pooled'

/** Creates the database of the program. `query` runs SQL in the database `postgres`. */
export async function createPooledDatabase(query: Query, port: number): Promise<Query> {
  await query(`create database ${database}`)
  const pool = new pg.Pool({ connectionString: `postgresql://postgres@127.0.0.1:${port}/${database}`, max: 2 })
  pool.on('error', () => undefined)
  await pool.query(`
    create role login login noinherit;
    alter role login set client_connection_check_interval = '500ms';
    create role pooled_anon nologin;
    create role alice nologin;
    create role bob nologin;
    alter role alice set statement_timeout = '7s';
    alter role bob set statement_timeout = '9s';
    grant pooled_anon, alice, bob to login;
    create table notes (id int primary key, owner name not null default current_user);
    alter table notes enable row level security;
    create policy own on notes using (owner = current_user);
    insert into notes select id, case id % 2 when 0 then 'alice' else 'bob' end from generate_series(1, 100) id;
    create table ledger (id int primary key);
    create function seen() returns json stable language sql as $$ select json_build_object(
      'role', current_user,
      'sub', current_setting('request.jwt.claims', true)::json ->> 'sub',
      'tag', current_setting('request.headers', true)::json ->> 'x-tag',
      'zone', current_setting('timezone'),
      'timeout', current_setting('statement_timeout')) $$;
    create function seen_volatile() returns json volatile language sql as $$ select seen() $$;
    -- Leaves settings in the session, which another client's transaction then finds there.
    create function leave_traces() returns void volatile language sql as $$
      select set_config('role', current_user, false), set_config('search_path', 'pg_temp', false),
        set_config('request.jwt.claims', '{"sub":"trace"}', false),
        set_config('response.headers', '[{"Trace":"trace"}]', false) $$;
    create function nap() returns text volatile language sql as $$ select pg_sleep(100)::text $$;
    grant select on notes to alice, bob;
    grant all on ledger to pooled_anon`)
  return async (text) => (await pool.query<Row>(text)).rows
}

export type PooledProgram = {
  readonly url: string
  readonly client: Client
  readonly stop: () => Promise<void>
}

/**
 * Starts the program on the database.
 *
 * @param uriOf connection string by which it reaches the database
 * @param parameters of the connection string
 */
export async function startPooledProgram(
  uriOf: UriOf,
  env: Readonly<Record<string, string>>,
  parameters = '',
): Promise<PooledProgram> {
  const closings: (() => unknown)[] = []
  const { url } = await startBuiltProgram(
    { teardown: (close: () => unknown) => void closings.push(close) },
    {
      DATABASE_URL: `${uriOf(database, 'login')}${parameters}`,
      PGRST_DB_ANON_ROLE: 'pooled_anon',
      PGRST_JWT_SECRET: jwtSecret,
      PGRST_LOG_LEVEL: 'crit',
      REST_BASE_PATH: '/',
      SERVICES: 'rest',
      // A busy machine would be taken for an overload.
      LOAD_SHEDDING_WAIT: '0',
      ...env,
    },
  )
  return {
    url,
    client: clientOf(url, 64),
    stop: async () => {
      for (const close of closings) await close()
    },
  }
}

const users = [
  { role: 'alice', zone: 'Asia/Tokyo', timeout: '7s', ids: [2, 4, 6] },
  { role: 'bob', zone: 'America/Lima', timeout: '9s', ids: [1, 3, 5] },
] as const

/**
 * Two users send requests at the same time, in other time zones, with other settings of their roles. Some requests leave
 * settings in their session.
 *
 * @returns the responses that contain anything of the other user, or are errors
 */
export async function findLeaks(client: Client, requests: number): Promise<readonly string[]> {
  const leaks: string[] = []
  const tokens = await Promise.all(users.map(({ role }) => bearer(role, { sub: `sub of ${role}` })))
  let left = requests
  const work = async (worker: number): Promise<void> => {
    for (let turn = worker; left > 0; turn++) {
      left--
      const user = turn % users.length === 0 ? users[0] : users[1]
      const tag = `${user.role} ${turn}`
      const headers = {
        Authorization: tokens[turn % users.length] ?? '',
        Prefer: `timezone=${user.zone}`,
        'X-Tag': tag,
      }
      if (turn % 7 === 3) {
        const { status, trace } = await client('POST', '/rpc/leave_traces', headers, '{}')
        if (status !== 204 || trace !== 'trace') leaks.push(`${tag}: ${status} without its own header`)
        continue
      }
      const expected = { role: user.role, sub: `sub of ${user.role}`, tag, zone: user.zone, timeout: user.timeout }
      const [reply, wanted] =
        turn % 5 === 0
          ? [await client('GET', '/notes?select=id&order=id&limit=3', headers), user.ids.map((id) => ({ id }))]
          : turn % 5 === 1
            ? [await client('POST', '/rpc/seen_volatile', headers, '{}'), expected]
            : [await client('GET', '/rpc/seen', headers), expected]
      if (
        reply.status !== 200 ||
        reply.trace !== undefined ||
        JSON.stringify(JSON.parse(reply.body)) !== JSON.stringify(wanted)
      ) {
        leaks.push(`${tag}: ${reply.status} ${reply.body}`)
      }
    }
  }
  await Promise.all(Array.from({ length: 16 }, (_, worker) => work(worker)))
  return leaks
}

/** Milliseconds from a client's disconnection to the end of its statement. Undefined if it goes on for ten seconds. */
export async function measureHangUp(url: string, query: Query): Promise<number | undefined> {
  const naps = async (): Promise<number> => {
    const [row] = await query(`select count(*)::int as n from pg_stat_activity
      where datname = current_database() and state = 'active' and query like '%nap%' and pid <> pg_backend_pid()`)
    return Number(row?.n)
  }
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write('POST /rpc/nap HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}')
  const started = performance.now()
  while ((await naps()) === 0) {
    if (performance.now() - started > 10_000) throw new Error('the statement did not start')
    await pause(20)
  }
  socket.destroy()
  const gone = performance.now()
  while ((await naps()) > 0) {
    if (performance.now() - gone > 10_000) {
      await query(
        `select pg_cancel_backend(pid) from pg_stat_activity where query like '%nap%' and pid <> pg_backend_pid()`,
      )
      return undefined
    }
    await pause(20)
  }
  return performance.now() - gone
}

/** Milliseconds until a program that checks the catalog serves a new table. */
export async function measureReload(client: Client, query: Query): Promise<number> {
  await query(`drop table if exists arrivals`)
  while ((await client('GET', '/arrivals')).status !== 404) await pause(50)
  await query(`create table arrivals (id int); grant select on arrivals to pooled_anon`)
  const start = performance.now()
  while ((await client('GET', '/arrivals')).status !== 200) {
    if (performance.now() - start > 30_000) throw new Error('the table is not served')
    await pause(20)
  }
  return performance.now() - start
}

export type Interruption = {
  /** Number of responses by status; 0 is an error of the connection. */
  readonly reads: ReadonlyMap<number, number>
  readonly writes: ReadonlyMap<number, number>
  readonly acknowledged: number
  /** Writes that were acknowledged, and are not in the database. */
  readonly lost: number
  /** Bodies of errors, one of each kind. */
  readonly errors: readonly string[]
  /** The longest time without a successful write, in milliseconds. */
  readonly pause: number
}

let nextId = 0

/** Reads and writes while something happens, and for some time before and after it. */
export async function interrupt(
  client: Client,
  query: Query,
  happen: () => Promise<unknown>,
  before = 1000,
  after = 3000,
): Promise<Interruption> {
  const acknowledged: number[] = []
  const errors = new Map<string, string>()
  let longest = 0
  let last = performance.now()
  const observe = (reply: Awaited<ReturnType<Client>>): typeof reply => {
    if (reply.status >= 400) {
      const key = `${reply.status} ${/"code":"(\w+)"/.exec(reply.body)?.[1] ?? ''}`
      if (!errors.has(key)) errors.set(key, `${reply.status} ${reply.body}`)
    }
    return reply
  }
  const writes = startLoad(async () => {
    const id = ++nextId
    const reply = observe(await client('POST', '/ledger', {}, JSON.stringify({ id })))
    if (reply.status === 201) {
      acknowledged.push(id)
      const now = performance.now()
      longest = Math.max(longest, now - last)
      last = now
    } else await pause(5)
    return reply
  }, 8)
  const reads = startLoad(async () => {
    const reply = observe(await client('GET', '/ledger?id=eq.1'))
    if (reply.status !== 200) await pause(5)
    return reply
  }, 8)
  await pause(before)
  await happen()
  await pause(after)
  await writes.stop()
  await reads.stop()
  const kept = new Set((await query('select id from ledger')).map(({ id }) => Number(id)))
  return {
    reads: reads.statuses,
    writes: writes.statuses,
    acknowledged: acknowledged.length,
    lost: acknowledged.filter((id) => !kept.has(id)).length,
    errors: [...errors.values()],
    pause: longest,
  }
}
