// `/realtime/v1`: broadcasts and row changes to many sockets, checks of policies, memory of idle sockets, and what all that does to reads.
import { setTimeout as pause } from 'node:timers/promises'
import { databaseName, signToken, userId, userToken, type Dataset } from './dataset.ts'
import type { LoadGenerator } from './load.ts'
import type { Options } from './options.ts'
import { runSql, withClient, type Postgres } from './postgres.ts'
import { usageOf } from './process-usage.ts'
import { realtimeClients, type RealtimeClients } from './realtime-clients.ts'
import { median } from './results.ts'
import type { Server } from './servers.ts'
import { chosenWorkloads } from './workloads.ts'

type Context = {
  readonly server: Server
  readonly postgres: Postgres
  readonly dataset: Dataset
  readonly generator: LoadGenerator
  readonly options: Options
  readonly print: (line: string) => void
}

/** Settings that no measurement reaches. */
export const unlimitedRealtime = {
  SERVICES: 'rest,auth,profiles,reports,analysis,storage,realtime',
  MAX_CONNECTIONS: '16384',
  TENANT_MAX_JOINS_PER_SECOND: '100000',
  TENANT_MAX_EVENTS_PER_SECOND: '100000',
}

const goals = {
  broadcast: { p95: 60 },
  changes: { p95: 200 },
  policy: { p95: 600 },
  checks: 12_000,
  idle: 120,
  insert: 1.05,
  reads: 2,
}

const anonymous = signToken({ role: 'anon', exp: Math.floor(Date.now() / 1000) + 86_400 })

const tables = `
  drop table if exists public.realtime_plain, public.realtime_open, public.realtime_policy, public.realtime_owned;
  create table public.realtime_plain (id bigint generated always as identity primary key, at double precision, note text);
  create table public.realtime_open (id bigint generated always as identity primary key, at double precision, note text);
  create table public.realtime_policy (id bigint generated always as identity primary key, at double precision, is_public boolean not null default true);
  create table public.realtime_owned (id bigint generated always as identity primary key, at double precision, owner_id uuid not null);
  grant select on public.realtime_open, public.realtime_policy, public.realtime_owned to anon, authenticated;
  alter table public.realtime_policy enable row level security;
  alter table public.realtime_owned enable row level security;
  create policy shown on public.realtime_policy for select using (is_public);
  create policy own on public.realtime_owned for select to authenticated using (owner_id = auth.uid());
  alter publication supabase_realtime add table public.realtime_open, public.realtime_policy, public.realtime_owned;`

const percentile = (values: readonly number[], fraction: number): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(values.length * fraction) - 1] ?? NaN

/** What commits without waiting for its log reaches those who read the log some 200 ms later. */
const waitForLog = 'set synchronous_commit = on'

const now = (): number => performance.timeOrigin + performance.now()

/** Runs a measurement with clients of its own. */
async function withClients<T>(use: (clients: RealtimeClients) => Promise<T>): Promise<T> {
  const clients = realtimeClients()
  try {
    return await use(clients)
  } finally {
    await clients.run({ kind: 'close' }).catch(() => undefined)
    clients.end()
  }
}

const changesOf = (table: string): object => ({
  postgres_changes: [{ event: 'INSERT', schema: 'public', table }],
})

/** Runs all measurements, and prints each with its goal. */
export async function measureRealtime(context: Context): Promise<unknown> {
  const { server, postgres, print } = context
  const url = `ws://${server.url.host}`
  const admin = postgres.adminUri(databaseName)
  await runSql(admin, tables)
  const { plain, published } = await insertCost(admin)
  print(
    `a one-row insert while nobody listens: ${plain.toFixed(3)} ms in a plain table, ` +
      `${published.toFixed(3)} ms in a published one: ${(published / plain).toFixed(2)} times (goal: ${goals.insert})`,
  )
  const idle = await idleMemory(context, url)
  const broadcast = await broadcasts(context, url)
  const changes = await rowChanges(context, url, {
    table: 'realtime_open',
    sockets: 500,
    perSecond: 64,
    goal: goals.changes.p95,
  })
  const policy = await rowChanges(context, url, {
    table: 'realtime_policy',
    sockets: 5000,
    perSecond: 5,
    goal: goals.policy.p95,
  })
  const checks = await perUserChecks(context, url)
  return { idle, broadcast, changes, policy, checks, insert: published / plain }
}

/** How much longer an insert takes in a published table: medians of rounds in turn. */
const insertCost = (admin: string): Promise<{ readonly plain: number; readonly published: number }> =>
  withClient(admin, async (client) => {
    const measure = async (table: string): Promise<number> => {
      const begin = performance.now()
      for (let index = 0; index < 2000; index++) {
        await client.query({
          name: table,
          text: `insert into ${table} (at, note) values ($1, $2)`,
          values: [1, 'a note'],
        })
      }
      return (performance.now() - begin) / 2000
    }
    const rounds = { plain: [] as number[], published: [] as number[] }
    await measure('realtime_plain')
    for (let round = 0; round < 7; round++) {
      rounds.plain.push(await measure('realtime_plain'))
      rounds.published.push(await measure('realtime_open'))
    }
    return { plain: median(rounds.plain) ?? NaN, published: median(rounds.published) ?? NaN }
  })

async function idleMemory({ server, print }: Context, url: string): Promise<number> {
  const before = (await usageOf(server.pid))?.residentBytes ?? NaN
  return withClients(async (clients) => {
    await clients.run({ kind: 'open', url, tokens: [anonymous], count: 5000, topic: undefined, config: {} })
    await pause(3000)
    const more = (((await usageOf(server.pid))?.residentBytes ?? NaN) - before) / 1024 ** 2
    print(`5,000 idle sockets: ${more.toFixed(0)} MiB more memory (goal: ${goals.idle})`)
    return more
  })
}

async function broadcasts({ server, dataset, generator, options, print }: Context, url: string): Promise<object> {
  const { connections, rounds } = options
  const [workload] = chosenWorkloads(['one-row'])
  const requests = workload?.requests(dataset) ?? []
  const read = async (): Promise<number> =>
    (await generator.play({ url: server.url, requests, connections, seconds: 4 })).p99
  const topic = 'load'
  return withClients(async (clients) => {
    const config = { broadcast: { self: true } }
    await clients.run({ kind: 'open', url, tokens: [anonymous], count: 500, topic, config })
    await read()
    const p95s: number[] = []
    const alone: number[] = []
    const together: number[] = []
    for (let round = 0; round < rounds; round++) {
      await clients.run({ kind: 'send', topic, perSecond: 60, seconds: 5 })
      await pause(1000)
      const delays = await clients.run({ kind: 'take' })
      p95s.push(percentile(delays, 0.95))
      print(
        `broadcast: ${delays.length} of ${500 * 300} deliveries, p50 ${percentile(delays, 0.5).toFixed(1)} ms, p95 ${percentile(delays, 0.95).toFixed(1)} ms (goal: ${goals.broadcast.p95})`,
      )
      alone.push(await read())
      const sending = clients.run({ kind: 'send', topic, perSecond: 60, seconds: 5 })
      together.push(await read())
      await sending
      await clients.run({ kind: 'take' })
    }
    const ratio = (median(together) ?? NaN) / (median(alone) ?? NaN)
    print(`p99 of reads during broadcasts: ${ratio.toFixed(2)} times (goal: ${goals.reads})`)
    return { p95: median(p95s), readsSlowdown: ratio }
  })
}

type ChangesLoad = {
  readonly table: string
  readonly sockets: number
  readonly perSecond: number
  readonly goal: number
}

async function rowChanges(
  { postgres, options, print }: Context,
  url: string,
  { table, sockets, perSecond, goal }: ChangesLoad,
): Promise<number> {
  return withClients(async (clients) => {
    const config = changesOf(table)
    await clients.run({ kind: 'open', url, tokens: [anonymous], count: sockets, topic: `rows-${table}`, config })
    const p95s: number[] = []
    for (let round = 0; round < options.rounds; round++) {
      await insertSteadily(postgres.adminUri(databaseName), table, perSecond, 5)
      await pause(1500)
      const delays = await clients.run({ kind: 'take' })
      p95s.push(percentile(delays, 0.95))
      print(
        `${table}: ${sockets} subscribers × ${perSecond} changes/s: ${delays.length} of ${sockets * perSecond * 5} deliveries, ` +
          `p50 ${percentile(delays, 0.5).toFixed(1)} ms, p95 ${percentile(delays, 0.95).toFixed(1)} ms (goal: ${goal})`,
      )
    }
    return median(p95s) ?? NaN
  })
}

const insertSteadily = (admin: string, table: string, perSecond: number, seconds: number): Promise<void> =>
  withClient(admin, async (client) => {
    await client.query(waitForLog)
    const begin = performance.now()
    for (let index = 0; index < perSecond * seconds; index++) {
      await pause(Math.max(0, begin + (index * 1000) / perSecond - performance.now()))
      await client.query({ name: 'insert', text: `insert into ${table} (at) values ($1)`, values: [now()] })
    }
  })

/** 1,000 users with a policy each; every change is one user's. */
async function perUserChecks({ postgres, options, print }: Context, url: string): Promise<number> {
  const users = 1000
  const tokens = Array.from({ length: users }, (_, index) => userToken(index + 1))
  return withClients(async (clients) => {
    const config = changesOf('realtime_owned')
    await clients.run({ kind: 'open', url, tokens, count: users, topic: 'own', config })
    const rates: number[] = []
    for (let round = 0; round < options.rounds; round++) {
      const changes = 60
      const begin = performance.now()
      await withClient(postgres.adminUri(databaseName), async (client) => {
        await client.query(waitForLog)
        for (let index = 0; index < changes; index++) {
          const values = [now(), userId((index % users) + 1)]
          await client.query('insert into realtime_owned (at, owner_id) values ($1, $2)', values)
        }
      })
      let arrived = 0
      while (arrived < changes && performance.now() - begin < 60_000) {
        await pause(20)
        arrived += (await clients.run({ kind: 'take' })).length
      }
      rates.push((changes * users) / ((performance.now() - begin) / 1000))
      print(
        `per-user policies: ${arrived} of ${changes} changes, ${rates.at(-1)?.toFixed(0)} checks/s (goal: ${goals.checks})`,
      )
    }
    return median(rates) ?? NaN
  })
}
