// A primary with hot standbys, each a server of its own, for the duration of a test.
import { spawn } from 'node:child_process'
import { appendFile, chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import pg from 'pg'
import { readPidFile, startPostmaster, type Postmaster } from '../../server/postgres/embedded/postmaster.ts'
import { databaseUser } from '../../server/postgres/embedded/system-user.ts'
import { uriOf } from './cluster.ts'
import { freePort } from './free-port.ts'
import { createCluster, testBinaries } from './postgres-versions.ts'

export type ReplicationServer = {
  readonly port: number
  /** Connection string of a login role, by default the superuser's. */
  readonly uri: (login?: string) => string
  /** Runs SQL as the superuser. */
  readonly query: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>
  /** Kills the server with all of its processes, without any shutdown. */
  readonly kill: () => Promise<void>
  /** Starts it again on the same port. */
  readonly start: () => Promise<void>
  /** Stops all of its processes, as if its machine no longer responded. Returns a function that lets them continue. */
  readonly freeze: () => Promise<() => void>
}

export type Replication = {
  readonly primary: ReplicationServer
  readonly standbys: readonly ReplicationServer[]
}

const settings = `
fsync = off
full_page_writes = off
max_connections = 100
shared_buffers = 16MB
wal_keep_size = 256MB
max_standby_streaming_delay = 50ms
wal_retrieve_retry_interval = 100ms
autovacuum = off
`

const copy = (from: string, to: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn('cp', ['-a', from, to], { stdio: 'ignore' })
    child.once('error', reject)
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`cp ended with ${code}`))))
  })

/** Starts a primary with the given number of standbys. Standbys are copies of the primary from before its first start. */
export async function startReplication(t: Pick<Test, 'teardown'>, standbys: number): Promise<Replication> {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-replication-'))
  await chmod(folder, 0o711)
  const user = await databaseUser(null)
  const binaries = await testBinaries(user)
  const cluster = await createCluster(folder, binaries, user)
  await appendFile(join(cluster, 'postgresql.conf'), settings)
  const ports = [await freePort()]
  const clusters = [cluster]
  const conninfo = `host=127.0.0.1 port=${ports[0]} user=postgres password=postgres`
  for (let number = 1; number <= standbys; number++) {
    const place = `${cluster}-${number}`
    await copy(cluster, place)
    await writeFile(join(place, 'standby.signal'), '')
    await appendFile(join(place, 'postgresql.conf'), `primary_conninfo = '${conninfo}'\n`)
    clusters.push(place)
    ports.push(await freePort())
  }
  const closings: (() => Promise<void>)[] = []
  t.teardown(async () => {
    for (const close of closings.reverse()) await close()
    for (const place of new Set([folder, dirname(cluster)])) await rm(place, { recursive: true, force: true })
  })
  const servers: ReplicationServer[] = []
  for (const [index, place] of clusters.entries()) {
    const port = ports[index] ?? 0
    let running: Postmaster | undefined
    const start = async (): Promise<void> => {
      const logFile = join(folder, `server-${index}.log`)
      running = await startPostmaster({ binaries, cluster: place, user, port, logFile })
    }
    const pidOf = async (): Promise<number> => (await readPidFile(place))?.pid ?? 0
    const pool = new pg.Pool({ connectionString: uriOf(port, 'postgres'), max: 3 })
    pool.on('error', () => undefined)
    await start()
    closings.push(async () => {
      await pool.end()
      await running?.stop()
    })
    servers.push({
      port,
      uri: (login) => uriOf(port, 'postgres', login),
      query: async (text, values) => (await pool.query<Record<string, unknown>>(text, values)).rows,
      kill: async () => {
        // The postmaster's children notice its death and end, too.
        process.kill(await pidOf(), 'SIGKILL')
        await running?.ended
      },
      start,
      freeze: async () => {
        const { rows } = await pool.query<{ pid: number }>('select pid from pg_stat_activity')
        const pids = [await pidOf(), ...rows.map(({ pid }) => pid)]
        const signal = (name: NodeJS.Signals): void => {
          for (const pid of pids) {
            try {
              process.kill(pid, name)
            } catch {
              // It has ended.
            }
          }
        }
        signal('SIGSTOP')
        return () => signal('SIGCONT')
      },
    })
  }
  const [primary, ...others] = servers
  if (!primary) throw new Error('there is no primary')
  return { primary, standbys: others }
}
