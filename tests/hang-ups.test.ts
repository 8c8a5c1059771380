// Clients that hang up leave nothing running, and nothing that reaches the next request.
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startApplication } from './support/application.ts'
import { LibpqClient } from '../server/postgres/connection/pool-config.ts'
import { makeApiKey } from '../server/identity/api-key/api-key.ts'
import { createMigratedDatabase, withClient } from './support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const role = `hanging_${database.name}`
await database.query(`
  create role ${role} nologin;
  grant ${role} to authenticator;
  create schema api;
  create table api.notes (id int primary key, text text not null);
  insert into api.notes select i, 'note ' || i from generate_series(1, 100) i;
  create table api.blobs (id int primary key, text text not null);
  insert into api.blobs select i, repeat('x', 1000000) from generate_series(1, 30) i;
  create function api.nap(seconds float8) returns text language sql volatile as $$ select pg_sleep(seconds)::text $$;
  grant usage on schema api to ${role};
  grant select, insert, update on all tables in schema api to ${role}`)
t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))
const { url, call, service, logged } = await startApplication(t, database.authenticatorUri, {
  PGRST_DB_ANON_ROLE: role,
  PGRST_DB_SCHEMAS: 'api',
  PGRST_DB_POOL: '10',
  PGRST_LOG_LEVEL: 'info',
  SESSION_SECRETS: 'x'.repeat(40),
})
const { port } = new URL(url)
const { pool } = service.runtime

/** Sends requests on one connection, before any of them is answered. */
function send(...requests: readonly string[]): Socket {
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => undefined)
  for (const request of requests) socket.write(request)
  return socket
}

const nap = 'GET /rest/v1/rpc/nap?seconds=25 HTTP/1.1\r\nHost: localhost\r\n\r\n'
const napByPost = [
  'POST /rest/v1/rpc/nap HTTP/1.1',
  'Host: localhost',
  'Content-Type: application/json',
  'Content-Length: 14',
  '',
  '{"seconds":25}',
].join('\r\n')

async function until(condition: () => boolean | Promise<boolean>, milliseconds: number): Promise<number> {
  const start = performance.now()
  while (!(await condition()) && performance.now() - start < milliseconds) await pause(10)
  return performance.now() - start
}
const isUsedUp = (): boolean => !pool.canLend('write') && pool.waitingCount >= 2
const isIdle = (): boolean => pool.idleCount === pool.totalCount && pool.waitingCount === 0
const naps = async (): Promise<number> => {
  const { rows } = await database.query(
    "select count(*)::int as n from pg_stat_activity where datname = current_database() and state = 'active' and query like '%nap%' and pid <> pg_backend_pid()",
  )
  return Number(rows[0]?.n)
}

for (const [how, begin] of [
  ['one by one', () => Array.from({ length: 12 }, () => send(nap))],
  ['one by one, by POST', () => Array.from({ length: 12 }, () => send(napByPost))],
  ['all on one connection', () => [send(...Array.from({ length: 12 }, () => nap))]],
] as const) {
  t.test(`twelve abandoned calls of 25 s on a pool of ten: ${how}`, async (t) => {
    const sockets = begin()
    await until(isUsedUp, 20_000)
    t.ok(isUsedUp(), 'the pool is used up')
    t.match(await call('GET', '/ready'), { status: 200 }, 'ready nevertheless')
    const signIn = { body: { email: 'nobody@example.org', password: 'wrong password' } }
    t.equal((await call('POST', '/auth/signin', signIn)).status, 401, 'accounts can be asked')
    const apikey = makeApiKey('secret')
    t.equal((await call('GET', '/rest/v1/notes?id=eq.1', { headers: { apikey } })).status, 401, 'and API keys')
    for (const socket of sockets) socket.destroy()
    await until(isIdle, 15_000)
    t.ok(isIdle(), 'all connections are back')
    t.equal(await naps(), 0, 'nothing runs any more')
    t.match(await call('GET', '/rest/v1/notes?id=eq.1'), { status: 200, body: [{ id: 1 }] })
    const abandoned = logged().filter(({ status }) => status === 499)
    t.equal(abandoned.length % 12, 0, 'each has its line in the log')
    t.ok(abandoned.length > 0)
  })
}

t.test('a client that closes its side in order is gone, too', async (t) => {
  const socket = send(nap)
  await until(async () => (await naps()) === 1, 10_000)
  socket.end()
  await until(isIdle, 10_000)
  t.ok(isIdle())
  t.equal(await naps(), 0)
})

t.test('a large response that waits behind another one gives its connection back', async (t) => {
  const large = 'GET /rest/v1/blobs?select=text HTTP/1.1\r\nHost: localhost\r\n\r\n'
  for (let time = 0; time < 3; time++) {
    const socket = send(nap, large)
    const stuck =
      "select from pg_stat_activity where datname = current_database() and wait_event = 'ClientWrite' and pid <> pg_backend_pid()"
    await until(async () => (await database.query(stuck)).rowCount === 1, 10_000)
    t.equal((await database.query(stuck)).rowCount, 1, 'it waits for its reader')
    socket.destroy()
    await until(isIdle, 5000)
    t.ok(isIdle(), 'and ends with it')
  }
})

t.test('an abandoned write is undone', async (t) => {
  const holder = 'update api.notes set text = text where id = 7'
  const { adminUri } = database
  await withClient(adminUri, async (client) => {
    await client.query('begin')
    await client.query(holder)
    const body = JSON.stringify({ text: 'changed' })
    const socket = send(
      `PATCH /rest/v1/notes?id=eq.7 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    const waits = "select from pg_locks where not granted and locktype = 'transactionid'"
    await until(async () => (await database.query(waits)).rowCount === 1, 10_000)
    socket.destroy()
    await until(isIdle, 10_000)
    t.ok(isIdle(), 'while the row is locked')
    await client.query('commit')
  })
  t.match(await call('GET', '/rest/v1/notes?id=eq.7&select=text'), { body: [{ text: 'note 7' }] })
})

t.test('nothing is cancelled when responses end as they should', async (t) => {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- bound again by `intercept`
  const cancelled = t.captureFn(LibpqClient.prototype.requestCancel)
  t.intercept(LibpqClient.prototype, 'requestCancel', { value: cancelled })
  for (let time = 0; time < 6; time++) {
    const answer = await fetch(`${url}/rest/v1/blobs?select=text`, { headers: { Connection: 'close' } })
    t.equal((await answer.text()).length > 30_000_000, true)
  }
  await until(isIdle, 5000)
  t.ok(isIdle())
  t.equal(cancelled.calls.length, 0)
})
