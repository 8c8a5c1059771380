// Read replicas with Debian's PostgreSQL: a primary and two standbys, one of which lags. A part of `npm run test:cluster`.
import { setTimeout as pause } from 'node:timers/promises'
import { startApplication, type Application } from '../support/application.ts'
import type { Checks } from './checks.ts'
import { clientOf, rateOf, startLoad, type Client } from './load.ts'
import { startDebianCluster, type Server } from './debian-cluster.ts'

const clients = 24
const lag = 300

export type ReplicasOptions = Pick<Checks, 'check'> & {
  /** Number of writes with a read after each. */
  readonly pairs: number
  /** Duration of each measurement. */
  readonly seconds: number
}

type Started = { readonly application: Application; readonly client: Client; readonly metrics: () => Promise<string> }

const until = async (isSo: () => boolean | Promise<boolean>, limit = 60_000): Promise<number> => {
  const start = performance.now()
  while (!(await isSo())) {
    if (performance.now() - start > limit) throw new Error(`not within ${limit} ms: ${isSo.toString()}`)
    await pause(5)
  }
  return performance.now() - start
}

/** Measures reads with replicas, and checks own writes, a lost replica and a failover. */
export async function checkReplicas({ check, pairs, seconds }: ReplicasOptions): Promise<void> {
  const closings: (() => unknown)[] = []
  const cluster = await startDebianCluster([0, lag])
  const { primary, standbys } = cluster
  const [fast, slow] = standbys as [Server, Server]
  await primary.query(`
  create role login login noinherit;
  create role anon nologin;
  grant anon to login;
  -- Lets a replica show at once which timeline it follows after a failover.
  grant pg_read_all_stats to login;
  create table counters (id int primary key, value int not null);
  insert into counters select id, 0 from generate_series(1, 1000) id;
  create table ledger (id int primary key);
  create function wait_a_little() returns int stable language plpgsql as $$ begin perform pg_sleep(0.02); return 1; end $$;
  grant all on counters, ledger to anon`)
  const replicaUrl = ({ port }: Server): string => `postgresql://login@127.0.0.1:${port}/postgres`
  const hosts = [primary, ...standbys].map(({ port }) => `127.0.0.1:${port}`).join(',')
  const primaryUrl = `postgresql://login@${hosts}/postgres?target_session_attrs=read-write`

  async function start(replicas: readonly Server[]): Promise<Started> {
    const closing = { teardown: (close: () => unknown) => closings.unshift(close) }
    const application = await startApplication(closing, primaryUrl, {
      REST_BASE_PATH: '/',
      PGRST_DB_ANON_ROLE: 'anon',
      PGRST_LOG_LEVEL: 'crit',
      SERVICES: 'rest',
      // Metrics exist only for an admin server to read.
      PGRST_ADMIN_SERVER_PORT: '1',
      DATABASE_REPLICA_URLS: replicas.map(replicaUrl).join(' '),
    })
    const metrics = (): Promise<string> => application.service.metrics.text()
    await until(
      async () => [...(await metrics()).matchAll(/^rowhouse_replica_usable{.*} 1$/gm)].length === replicas.length,
    )
    return { application, client: clientOf(application.url, 64), metrics }
  }

  const metricOf = (text: string, name: string, { port }: Server): number =>
    Number(new RegExp(`^rowhouse_replica_${name}{replica="127.0.0.1:${port}"} (\\S+)$`, 'm').exec(text)?.[1])

  /** A write, and a read after it, by several clients. Returns the number of stale reads. */
  async function readOwnWrites(client: Client, count: number): Promise<number> {
    let left = count
    let stale = 0
    const work = async (id: number): Promise<void> => {
      for (let value = 1; left > 0; value++) {
        left--
        const written = await client('PATCH', `/counters?id=eq.${id}`, {}, JSON.stringify({ value }))
        if (written.status !== 204) throw new Error(`a write got ${written.status} ${written.body}`)
        const read = await client('GET', `/counters?id=eq.${id}&select=value`, {
          'Rowhouse-Position': written.position ?? '',
        })
        if (read.body !== `[{"value":${value}}]`) stale++
      }
    }
    await Promise.all(Array.from({ length: clients }, (_, index) => work(index + 1)))
    return stale
  }

  /** Reads per second with some replicas: a row by key, and a read that takes 20 ms on its connection. */
  async function measure(replicas: readonly Server[]): Promise<void> {
    const { client } = await start(replicas)
    const row = await rateOf(() => client('GET', '/counters?id=eq.7'), 32, seconds)
    const waiting = await rateOf(() => client('GET', '/rpc/wait_a_little'), 64, seconds)
    const figures = `${Math.round(row)} rows/s, ${Math.round(waiting)} reads/s of 20 ms each`
    console.log(`# ${replicas.length} replicas: ${figures} (db-pool 10 per server, all servers on this machine)`)
  }

  try {
    for (const replicas of [[], [fast], [fast, slow]]) await measure(replicas)

    const { client, metrics } = await start(standbys)
    const begun = performance.now()
    const stale = await readOwnWrites(client, pairs)
    const rate = pairs / ((performance.now() - begun) / 1000)
    check(stale === 0, `${stale} stale reads of own writes in ${pairs} pairs (${Math.round(rate)} pairs/s)`)
    const after = await metrics()
    console.log(
      `# of them on the fast replica ${metricOf(after, 'reads_total', fast)}, on the lagging one ${metricOf(after, 'reads_total', slow)}`,
    )

    const reading = startLoad(() => client('GET', '/counters?id=eq.7'), 16)
    await pause(500)
    await slow.kill()
    const noticed = await until(async () => metricOf(await metrics(), 'usable', slow) === 0)
    await pause(500)
    await slow.start()
    await until(async () => metricOf(await metrics(), 'usable', slow) === 1)
    await reading.stop()
    check(
      [...reading.statuses.keys()].join() === '200',
      `a lost replica: statuses ${JSON.stringify([...reading.statuses])}, noticed after ${Math.round(noticed)} ms`,
    )

    // Failover under load.
    const acknowledged: number[] = []
    let next = 0
    let lastWrite = 0
    let killed = Infinity
    let firstWrite = 0
    let isOver = false
    const writers = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const id = ++next
        const reply = await client('POST', '/ledger', {}, JSON.stringify({ id })).catch(() => undefined)
        if (reply?.status === 201) {
          acknowledged.push(id)
          lastWrite = performance.now()
          if (firstWrite === 0 && lastWrite > killed) firstWrite = lastWrite
        } else await pause(5)
      }
    })
    const readers = startLoad(() => client('GET', '/counters?id=eq.7'), 8)
    await pause(1000)
    await primary.kill()
    killed = performance.now()
    // What a failover manager does: the standby with the most becomes the primary, the other one follows it.
    const received = async ({ query }: Server): Promise<bigint> => {
      const [row] = await query(`select (pg_last_wal_receive_lsn() - '0/0')::text as bytes`)
      return BigInt(String(row?.bytes))
    }
    const [chosen, other] = (await received(fast)) >= (await received(slow)) ? [fast, slow] : [slow, fast]
    await chosen.promote()
    await other.follow(chosen)
    const promoted = performance.now()
    await until(() => lastWrite > promoted + 1500)
    await until(async () => metricOf(await metrics(), 'usable', other) === 1, 120_000)
    const followed = performance.now() - killed
    isOver = true
    await Promise.all(writers)
    await readers.stop()
    const rows = await chosen.query('select id from ledger')
    const kept = new Set(rows.map(({ id }) => id))
    const lost = acknowledged.filter((id) => !kept.has(id))
    check(lost.length === 0, `${lost.length} of ${acknowledged.length} acknowledged writes were lost in a failover`)
    const failed = [...readers.statuses].filter(([status]) => status !== 200)
    check(failed.length === 0, `reads during the failover: statuses ${JSON.stringify([...readers.statuses])}`)
    const times = [promoted - killed, firstWrite - killed, followed].map((time) => Math.round(time))
    console.log(
      `# promoted after ${times[0]} ms, first write after ${times[1]} ms, other replica used within ${times[2]} ms`,
    )
    check(metricOf(await metrics(), 'usable', chosen) === 0, 'the new primary is no replica')
    const staleAfter = await readOwnWrites(clientOf((await start([other])).application.url, 64), Math.min(pairs, 2000))
    check(staleAfter === 0, `${staleAfter} stale reads after the failover`)
  } finally {
    for (const close of closings) await close()
    await cluster.stop()
  }
}
