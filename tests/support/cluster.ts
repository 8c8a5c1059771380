// The Postgres cluster shared by all test files: started before them (`before.ts`), stopped after them (`after.ts`).
import { spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { asUser, databaseUser } from '../../server/postgres/embedded/system-user.ts'
import { freePort } from './free-port.ts'
import { createCluster, testBinaries } from './postgres-versions.ts'

type Cluster = {
  readonly port: number
  readonly pid: number
  readonly folders: readonly string[]
  /** Of PostgreSQL, such as 18. */
  readonly majorVersion: number
}

const stateFile = fileURLToPath(new URL('../../.tap/cluster.json', import.meta.url))
const user = 'postgres'
const password = 'postgres'

export const uriOf = (port: number, database: string, login = `${user}:${password}`): string =>
  `postgresql://${login}@127.0.0.1:${port}/${encodeURIComponent(database)}`

export async function readCluster(): Promise<Cluster> {
  return JSON.parse(await readFile(stateFile, 'utf8')) as Cluster
}

async function accepts(port: number): Promise<boolean> {
  const client = new pg.Client({ connectionString: uriOf(port, 'postgres') })
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    return false
  }
}

/** Starts the cluster as a separate process that outlives the program that starts it. */
export async function startCluster(): Promise<void> {
  // Tap creates this folder only after it has run `before.ts`.
  await mkdir(dirname(stateFile), { recursive: true })
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-test-'))
  // When started by root, Postgres runs as another user, which needs access to the folder.
  await chmod(folder, 0o711)
  const runAs = await databaseUser(null)
  const binaries = await testBinaries(runAs)
  const cluster = await createCluster(folder, binaries, runAs)
  const port = await freePort()
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_connections: '300',
    shared_preload_libraries: 'pg_stat_statements',
    timezone: 'UTC',
    wal_level: 'logical',
  }
  const server = spawn(
    binaries.postgres,
    ['-D', cluster, '-p', String(port), ...Object.entries(settings).flatMap(([k, v]) => ['-c', `${k}=${v}`])],
    { ...asUser(runAs), detached: true, stdio: 'ignore' },
  )
  server.unref()
  const deadline = Date.now() + 120_000
  while (!(await accepts(port))) {
    if (Date.now() > deadline || server.exitCode !== null) throw new Error('the test database did not start')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  // If that user cannot access the temporary folder, the data is kept elsewhere.
  const folders = dirname(cluster) === folder ? [folder] : [folder, dirname(cluster)]
  const { majorVersion } = binaries
  await writeFile(stateFile, JSON.stringify({ port, pid: server.pid ?? 0, folders, majorVersion } satisfies Cluster))
}

export async function stopCluster(): Promise<void> {
  const { pid, folders } = await readCluster()
  process.kill(pid, 'SIGINT')
  const gone = (): boolean => {
    try {
      process.kill(pid, 0)
      return false
    } catch {
      return true
    }
  }
  const deadline = Date.now() + 60_000
  while (!gone() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20))
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
  await rm(stateFile, { force: true })
}
