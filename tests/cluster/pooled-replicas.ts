// Read replicas behind Debian's PgBouncer, in several processes: own writes, settings of other users, forged, foreign and
// replayed positions, floods of reads that wait, lost servers and poolers, failover. A part of `npm run test:cluster`.
import { rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { derivedSecrets } from '../../server/identity/jwt/key-set.ts'
import { PositionTokens } from '../../server/rest/extensions/read-your-writes/position-token.ts'
import { jwtSecret } from '../support/application.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'
import type { Checks } from './checks.ts'
import { startDebianCluster, type Server } from './debian-cluster.ts'
import { createFolder, installPackages } from './debian-packages.ts'
import { clientOf, startLoad, type Client, type Load } from './load.ts'
import { startPgBouncer } from './pgbouncer.ts'
import { createPooledDatabase, database, findLeaks, startPooledProgram, type PooledProgram } from './pooled-program.ts'
import type { Pooler } from './pooler.ts'
import { startTcpBalancer } from './tcp-balancer.ts'

type Mode = 'transaction' | 'session'

export type PooledReplicasOptions = Pick<Checks, 'check'> & {
  /** Number of writes with a read after each, for each kind of setting. */
  readonly pairs: number
  /** Requests that look for settings of other users. */
  readonly requests: number
}

const lag = 300
const clients = 24
const otherSecret = 'another secret, also of more than 32 characters'

/** One process, and what it says about its replicas. */
type Process = PooledProgram & {
  readonly metric: (name: 'usable' | 'reads_total' | 'reruns_total', port: number) => Promise<number>
}

type Settings = {
  readonly uri: string
  readonly replicas: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

const settingsOf = (mode: Mode): Readonly<Record<string, string>> =>
  mode === 'session'
    ? {}
    : { PGRST_DB_PREPARED_STATEMENTS: 'false', PGRST_DB_CHANNEL_ENABLED: 'false', DB_RELOAD_INTERVAL: '10' }

async function startProcess({ uri, replicas, env }: Settings): Promise<Process> {
  const admin = await freePort()
  const program = await startPooledProgram(() => uri, {
    DATABASE_REPLICA_URLS: replicas.join(' '),
    PGRST_ADMIN_SERVER_PORT: String(admin),
    ...env,
  })
  const metric: Process['metric'] = async (name, port) => {
    const text = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text()
    const line = new RegExp(`^rowhouse_replica_${name}{replica="127.0.0.1:${port}"} (\\S+)$`, 'm')
    return Number(line.exec(text)?.[1])
  }
  return { ...program, metric }
}

const isUsed = (process: Process, { port }: Pick<Pooler, 'port'>): Promise<boolean> =>
  until(async () => (await process.metric('usable', port)) === 1)

const sent = (position: string, asCookie: boolean): Record<string, string> =>
  asCookie ? { Cookie: `rowhouse-position=${position}` } : { 'Rowhouse-Position': position }

/** Writes to one process, and reads from the other, with the position as header or as cookie. @returns stale reads */
async function readOwnWrites([one, other]: readonly [Process, Process], count: number): Promise<readonly string[]> {
  const stale: string[] = []
  let left = count
  const work = async (id: number): Promise<void> => {
    for (let value = 1; left > 0; value++) {
      left--
      const [writer, reader] = value % 2 === 0 ? [one, other] : [other, one]
      const written = await writer.client('PATCH', `/counters?id=eq.${id}`, {}, JSON.stringify({ value }))
      if (written.status !== 204) throw new Error(`a write got ${written.status} ${written.body}`)
      const position = written.position ?? ''
      const read = await reader.client('GET', `/counters?id=eq.${id}&select=value`, sent(position, value % 3 === 0))
      if (read.body !== `[{"value":${value}}]`) stale.push(`${value}: ${read.status} ${read.body} with ${position}`)
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, index) => work(index + 1)))
  return stale
}

/** Positions that say something wrong about this cluster. */
async function wrongPositions({ client }: Process, foreign: Process): Promise<readonly string[]> {
  const positionOf = async (by: Client): Promise<string> =>
    (await by('PATCH', '/counters?id=eq.1000', {}, '{"value":0}')).position ?? ''
  const tokensOf = (secret: string): PositionTokens =>
    new PositionTokens(
      derivedSecrets({ jwtSecret: secret, authJwtKeys: null, authJwtSecret: null }, 'page cursors').map(
        (it) => it.secret,
      ),
    )
  const own = tokensOf(jwtSecret)
  const now = Math.floor(Date.now() / 1000)
  const real = await positionOf(client)
  const parts = real.split('.')
  return [
    // Of a process with another secret.
    await positionOf(foreign.client),
    // Changed: another position, another time, another signature.
    [parts[0], parts[1], 'ffffffffffff', ...parts.slice(3)].join('.'),
    [...parts.slice(0, 3), String(now + 1_000_000), parts[4]].join('.'),
    `${real.slice(0, -3)}AAA`,
    // Expired.
    own.seal({ timeline: 1, lsn: 2n ** 60n }, now - 1),
    // Valid, but of another cluster with the same secret, whose log is longer, or has more timelines or fewer.
    own.seal({ timeline: 1, lsn: 2n ** 60n }, now + 600),
    own.seal({ timeline: 4_000_000_000, lsn: 1n }, now + 600),
    own.seal({ timeline: 0, lsn: 2n ** 60n }, now + 600),
    own.seal({ timeline: 0, lsn: 0n }, now + 600),
    // None at all.
    `1.${'f'.repeat(8)}.${'f'.repeat(16)}.${'9'.repeat(12)}.${'A'.repeat(22)}`,
    '1.1.1.1.1',
    'x'.repeat(4000),
    Array.from({ length: 100 }, () => real).join(','),
  ]
}

const percentile = (values: readonly number[], part: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(Math.floor(values.length * part), values.length - 1)] ?? NaN

/** Milliseconds of reads, one after another, for some time. Infinity for those that fail. */
async function timeReads(client: Client, duration: number): Promise<readonly number[]> {
  const times: number[] = []
  for (const begun = performance.now(); performance.now() - begun < duration;) {
    const start = performance.now()
    const { status } = await client('GET', '/counters?id=eq.7')
    times.push(status === 200 ? performance.now() - start : Infinity)
  }
  return times
}

const counted = ({ statuses }: Load): string => JSON.stringify([...statuses])
const failuresOf = ({ statuses }: Load): number =>
  [...statuses].reduce((sum, [status, number]) => sum + (status === 200 ? 0 : number), 0)

/** The rows of the ledger on a server. */
async function ledgerOf({ port }: Server): Promise<ReadonlySet<number>> {
  const client = new pg.Client({ connectionString: `postgresql://postgres@127.0.0.1:${port}/${database}` })
  await client.connect()
  const { rows } = await client.query<{ id: number }>('select id from ledger')
  await client.end()
  return new Set(rows.map(({ id }) => id))
}

/** Reads while something happens. */
async function readMeanwhile(client: Client, happen: () => Promise<unknown>): Promise<Load> {
  const load = startLoad(() => client('GET', '/counters?id=eq.7'), 12)
  await pause(300)
  await happen()
  await pause(500)
  await load.stop()
  return load
}

async function checkMode(mode: Mode, { check, pairs, requests }: PooledReplicasOptions): Promise<void> {
  const closings: (() => Promise<unknown>)[] = []
  const keep = <T extends { readonly stop: () => Promise<unknown> }>(started: T): T => {
    closings.unshift(() => started.stop())
    return started
  }
  const name = `pgbouncer, pool_mode = ${mode}`
  try {
    const folder = await createFolder()
    closings.unshift(() => rm(folder, { recursive: true, force: true }))
    const { primary, standbys } = keep(await startDebianCluster([0, lag]))
    const [fast, slow] = standbys as [Server, Server]
    const query = await createPooledDatabase(primary.query, primary.port)
    await query(`
      grant pg_read_all_stats to login;
      create table counters (id int primary key, value int not null);
      insert into counters select id, 0 from generate_series(1, 1000) id;
      grant all on counters to pooled_anon`)
    const poolerOf = async (port: number): Promise<Pooler> =>
      keep(await startPgBouncer(folder, port, { mode, size: 60 }))
    const poolers = [await poolerOf(primary.port), await poolerOf(fast.port), await poolerOf(slow.port)] as const
    const [, atFast, atSlow] = poolers
    const hosts = poolers.map(({ port }) => `127.0.0.1:${port}`).join(',')
    const uri = `postgresql://login@${hosts}/${database}?target_session_attrs=read-write&connect_timeout=2`
    const replicas = [atFast, atSlow].map(({ uriOf }) => uriOf(database, 'login'))
    const env = settingsOf(mode)
    const start = async (settings: Partial<Settings> = {}): Promise<Process> =>
      keep(await startProcess({ uri, replicas, env, ...settings }))
    const [one, other] = [await start(), await start()]
    const both = [one, other] as const
    for (const process of both) {
      for (const pooler of [atFast, atSlow]) check(await isUsed(process, pooler), `${name}: a replica is used`)
    }

    // Foreign and forged positions arrive in both processes all the time.
    const foreign = await start({ env: { ...env, PGRST_JWT_SECRET: otherSecret } })
    const wrong = await wrongPositions(one, foreign)
    let next = 0
    const attacks = both.map(({ client }) =>
      startLoad(async () => {
        const text = wrong[next++ % wrong.length] ?? ''
        const reply = await client('GET', '/counters?id=eq.1000&select=value', sent(text, next % 2 === 0))
        return reply.status === 200 && reply.body !== '[{"value":0}]' ? { ...reply, status: 1 } : reply
      }, 4),
    )
    const begun = performance.now()
    const stale = await readOwnWrites(both, pairs)
    const rate = Math.round(pairs / ((performance.now() - begun) / 1000))
    for (const attack of attacks) await attack.stop()
    check(
      stale.length === 0,
      `${name}: ${stale.length} stale reads of own writes in ${pairs} pairs, each in two processes (${rate} pairs/s)`,
    )
    for (const text of stale.slice(0, 3)) console.log(`#   ${text}`)
    check(
      attacks.every((attack) => failuresOf(attack) === 0),
      `${name}: reads with wrong positions: statuses ${attacks.map(counted).join(' ')}`,
    )
    for (const pooler of [atFast, atSlow]) {
      const reads = (await one.metric('reads_total', pooler.port)) + (await other.metric('reads_total', pooler.port))
      const reruns = (await one.metric('reruns_total', pooler.port)) + (await other.metric('reruns_total', pooler.port))
      console.log(`#   ${pooler === atFast ? 'fast' : 'lagging'} replica: ${reads} reads, of which ${reruns} ran again`)
    }

    for (const { client } of both) {
      const leaks = await findLeaks(client, requests)
      check(leaks.length === 0, `${name}: ${leaks.length} of ${requests} responses have settings of another user`)
      for (const leak of leaks.slice(0, 3)) console.log(`#   ${leak}`)
    }

    // Replicas that stand still: every read with the position of a new write waits, then goes to the primary. Other reads
    // are compared with those during a flood of reads that do not wait.
    const flood = async (position: string, value: number): Promise<readonly [readonly Load[], readonly number[]]> => {
      const loads = both.map(({ url }) => {
        const client = clientOf(url, 200)
        return startLoad(async () => {
          const reply = await client('GET', '/counters?id=eq.999&select=value', sent(position, false))
          return reply.status === 200 && reply.body !== `[{"value":${value}}]` ? { ...reply, status: 1 } : reply
        }, 200)
      })
      await pause(500)
      const times = await timeReads(one.client, 3000)
      for (const load of loads) await load.stop()
      return [loads, times]
    }
    const [, ordinary] = await flood('none', 0)
    for (const { query: ask } of standbys) await ask('select pg_wal_replay_pause()')
    const { position = '' } = await one.client('PATCH', '/counters?id=eq.999', {}, '{"value":5}')
    const [waiting, times] = await flood(position, 5)
    for (const { query: ask } of standbys) await ask('select pg_wal_replay_resume()')
    check(
      waiting.every(({ statuses }) => [...statuses.keys()].every((status) => status === 200 || status === 503)),
      `${name}: a flood of reads that wait: statuses ${waiting.map(counted).join(' ')}`,
    )
    const [usual, found] = [ordinary, times].map((all) => Math.round(percentile(all, 0.5)))
    const failed = times.filter((time) => time === Infinity).length
    check(
      failed === 0,
      `${name}: other reads during it: p50 ${found} ms (${usual} ms while others do not wait), ${failed} of ${times.length} failed`,
    )
    for (const pooler of [atFast, atSlow])
      check(await isUsed(one, pooler), `${name}: a replica is used after the flood`)

    const lost = await readMeanwhile(one.client, async () => {
      await slow.kill()
      await until(async () => (await one.metric('usable', atSlow.port)) === 0)
      await slow.start()
    })
    const back = performance.now()
    check(failuresOf(lost) === 0, `${name}: a replica is lost behind its pooler: statuses ${counted(lost)}`)
    check(await isUsed(one, atSlow), `${name}: it is used ${Math.round(performance.now() - back)} ms after its start`)
    const restarted = await readMeanwhile(one.client, () => atFast.restart())
    check(failuresOf(restarted) === 0, `${name}: the pooler of a replica restarts: statuses ${counted(restarted)}`)
    check(await isUsed(one, atFast), `${name}: its replica is used again`)

    await checkSharedPooler(`${name}, both replicas behind it`, pairs)
    await checkFailover()

    /** One pooler in front of both replicas: a read may run on another one than the check before it. */
    async function checkSharedPooler(label: string, count: number): Promise<void> {
      const balancer = keep(await startTcpBalancer(folder, [fast.port, slow.port]))
      const shared = await poolerOf(balancer.port)
      const settings = { replicas: [shared.uriOf(database, 'login')] }
      const [first, second] = [await start(settings), await start(settings)]
      for (const process of [first, second]) check(await isUsed(process, shared), `${label}: they are used`)
      const found = await readOwnWrites([first, second], count)
      check(found.length === 0, `${label}: ${found.length} stale reads of own writes in ${count} pairs`)
      for (const line of found.slice(0, 3)) console.log(`#   ${line}`)
      const reads = await first.metric('reads_total', shared.port)
      const again = await first.metric('reruns_total', shared.port)
      // Sessions stay on their replica: that which looks at the lag may have the other one than those that read.
      check(
        mode === 'session' ? again <= reads : again < reads,
        `${label}: ${reads} reads, of which ${again} ran again on the primary`,
      )
      await first.stop()
      await second.stop()
    }

    /** The primary is lost, and a standby is promoted. */
    async function checkFailover(): Promise<void> {
      const before = await one.client('PATCH', '/counters?id=eq.998', {}, '{"value":9}')
      const acknowledged: number[] = []
      let id = 0
      let last = performance.now()
      let longest = 0
      let slowest = 0
      const writes = startLoad(async () => {
        const mine = ++id
        const sentAt = performance.now()
        const reply = await both[mine % 2 === 0 ? 0 : 1].client('POST', '/ledger', {}, JSON.stringify({ id: mine }))
        slowest = Math.max(slowest, performance.now() - sentAt)
        if (reply.status === 201) {
          acknowledged.push(mine)
          longest = Math.max(longest, performance.now() - last)
          last = performance.now()
        } else await pause(5)
        return reply
      }, 8)
      const reads = startLoad(() => one.client('GET', '/counters?id=eq.7'), 8)
      await pause(1000)
      await primary.kill()
      const received = async ({ query: ask }: Server): Promise<bigint> =>
        BigInt(String((await ask(`select (pg_last_wal_receive_lsn() - '0/0')::text as bytes`))[0]?.bytes))
      const [chosen, follower] = (await received(fast)) >= (await received(slow)) ? [fast, slow] : [slow, fast]
      const [atChosen, atFollower] = chosen === fast ? [atFast, atSlow] : [atSlow, atFast]
      await chosen.promote()
      await follower.follow(chosen)
      const promoted = performance.now()
      const resumed = await until(() => last > promoted + 1000)
      const follows = await until(async () => (await one.metric('usable', atFollower.port)) === 1)
      const followed = Math.round(performance.now() - promoted)
      await writes.stop()
      await reads.stop()
      check(resumed, `${name}, failover: writes go on, ${Math.round(longest)} ms without one`)
      check(follows, `${name}, failover: the other replica is used ${followed} ms after the promotion`)
      // Until a replica follows the new primary, reads need the primary, which may be the lost one.
      check(
        [...reads.statuses.keys()].every((status) => status === 200 || status === 503),
        `${name}, failover: reads: statuses ${counted(reads)}`,
      )
      check(
        [...writes.statuses.keys()].every((status) => status === 201 || status === 503) && slowest < 15_000,
        `${name}, failover: writes: statuses ${counted(writes)}, slowest ${Math.round(slowest)} ms`,
      )
      const rows = await ledgerOf(chosen)
      const missing = acknowledged.filter((number) => !rows.has(number))
      check(
        missing.length === 0,
        `${name}, failover: ${missing.length} of ${acknowledged.length} acknowledged writes were lost`,
      )
      check((await one.metric('usable', atChosen.port)) === 0, `${name}, failover: the new primary is no replica`)
      // A position of the timeline before.
      const old = await other.client('GET', '/counters?id=eq.998&select=value', {
        'Rowhouse-Position': before.position ?? '',
      })
      check(old.body === '[{"value":9}]', `${name}, failover: an earlier position: ${old.status} ${old.body}`)
      const after = await readOwnWrites(both, Math.min(pairs, 2000))
      check(after.length === 0, `${name}, failover: ${after.length} stale reads after it`)
    }
  } finally {
    for (const close of closings) await close()
  }
}

/** Checks PgBouncer in both modes. Skips everything, with a message, when it cannot be installed. */
export async function checkPooledReplicas(options: PooledReplicasOptions): Promise<void> {
  const missing = installPackages()
  if (missing.length > 0) {
    console.log(`# skipped replicas behind PgBouncer: needs Debian's ${missing.join(', ')}, which root can install`)
    return
  }
  for (const mode of ['transaction', 'session'] as const) await checkMode(mode, options)
}
