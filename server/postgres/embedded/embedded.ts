// The embedded database: a real PostgreSQL that this process starts, owns and stops, with its data in one folder.
import { rename, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import pg from 'pg'
import { findBinaries, locatePackage } from './binaries.ts'
import { checkCluster, findCluster, makeCluster } from './cluster.ts'
import { openDataFolder } from './data-folder.ts'
import { EmbeddedDatabaseError, hasErrorCode } from './embedded-error.ts'
import { FolderInUse, lockFolder } from './folder-lock.ts'
import { endOrphan, readPidFile, startPostmaster, type Postmaster } from './postmaster.ts'
import { finishReplacing } from './replaced-data.ts'
import { ensureSecrets, type Secrets } from './secrets.ts'
import { databaseUser } from './system-user.ts'

export { EmbeddedDatabaseError } from './embedded-error.ts'
export { FolderInUse } from './folder-lock.ts'
export { ensureSecrets, type Secrets } from './secrets.ts'

export type EmbeddedOptions = {
  readonly dataDir: string
  /** Name under which the folder was set, for messages. Defaults to `DATA_DIR`. */
  readonly setting?: string | undefined
  /** Called with a line about each slow or notable step. */
  readonly log: (message: string) => void
  /** Aborts a start in progress, and stops what was started. */
  readonly signal?: AbortSignal
  /** Folder for what the user that runs Postgres for root cannot access in its place. Defaults to `/var/lib/rowhouse`. */
  readonly relocatedDataDir?: string
}

export type EmbeddedDatabase = {
  /** Connection string of the superuser, for migrations. */
  readonly adminUri: string
  /** Connection string of the role `authenticator`, for everything else. */
  readonly authenticatorUri: string
  readonly port: number
  /** Folder of the database's files. */
  readonly cluster: string
  readonly secrets: Secrets
  /** Resolves when the server has ended, by `stop` or unexpectedly. */
  readonly ended: Promise<void>
  /** Closes all connections, stops the server, and unlocks the folder. May be called more than once. */
  readonly stop: () => Promise<void>
}

const database = 'postgres'
/** System errors that mean that the folder cannot be created, entered or written. */
const folderErrorCodes = [
  'EACCES',
  'EEXIST',
  'ELOOP',
  'ENAMETOOLONG',
  'ENOENT',
  'ENOSPC',
  'ENOTDIR',
  'EPERM',
  'EROFS',
] as const
const logLimit = 10 * 1024 * 1024

/** What a slot keeps that was not used for days is removed, before it fills the disk. */
const settings = { idle_replication_slot_timeout: '3d' }

/**
 * Starts PostgreSQL on the data in `dataDir/postgres`, which is created if necessary.
 *
 * Only one process at a time may use a folder. A server left behind by a killed process is stopped first. The caller
 * handles signals and calls `stop`. If the process exits without it, the server still gets a signal to shut down.
 *
 * @throws {FolderInUse} when another living process uses the folder
 * @throws {EmbeddedDatabaseError} when it cannot be started, with advice
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  if (process.platform === 'win32') {
    throw new EmbeddedDatabaseError(
      'The embedded database is not available on Windows. Set DATABASE_URL, or use WSL (Windows Subsystem for Linux).',
    )
  }
  const { setting = 'DATA_DIR' } = options
  // Checked first: if the package was left out on purpose, an error about folders would not help.
  await locatePackage()
  const dataDir = resolve(options.dataDir)
  try {
    return await start({ ...options, dataDir: await openDataFolder(dataDir) })
  } catch (error) {
    if (!hasErrorCode(error, ...folderErrorCodes)) throw error
    const hint = hasErrorCode(error, 'EACCES', 'EPERM') ? ' Start rowhouse as its owner, or choose' : ' Choose'
    throw new EmbeddedDatabaseError(
      `${setting}: the data folder ${options.dataDir} cannot be used (${(error as Error).message}).${hint} another folder.`,
      { cause: error },
    )
  }
}

/**
 * The embedded database for a short task: the one that another process runs on this folder, or one started for the task.
 * `stop` ends only what was started here.
 */
export async function useEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase & { readonly started: boolean }> {
  const deadline = Date.now() + 30_000
  for (;;) {
    try {
      return { ...(await startEmbedded(options)), started: true }
    } catch (error) {
      if (!(error instanceof FolderInUse)) throw error
      const running = await findRunning(options.dataDir)
      if (running) return { ...running, started: false }
      // The other process is starting or stopping.
      if (Date.now() > deadline) throw error
      options.signal?.throwIfAborted()
      await pause(200)
    }
  }
}

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

async function start({ dataDir, log, signal, relocatedDataDir }: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const locks = [await lockFolder(dataDir)]
  const unlock = async (): Promise<void> => {
    for (const release of locks.splice(0)) await release()
  }
  try {
    await finishReplacing(dataDir)
    const secrets = await ensureSecrets(dataDir)
    const existing = await findCluster(dataDir)
    const user = await databaseUser(existing, relocatedDataDir)
    const binaries = await findBinaries(user)
    if (existing !== null) await checkCluster(existing, binaries, user)
    else log('Creating a new database; this happens only once')
    const password = secrets.superuserPassword
    const cluster = existing ?? (await makeCluster({ dataDir, binaries, user, password, log, signal }))
    // A copy of the data folder may link to the same relocated database.
    if (dirname(cluster) !== dataDir) locks.push(await lockFolder(dirname(cluster)))
    await endOrphan(cluster, log)
    const logFile = await prepareLog(dataDir)
    const postmaster = await startWithRetries({ binaries, cluster, user, logFile, settings, signal })
    const addresses = addressesOf(secrets, postmaster.port)
    try {
      await setAuthenticator(addresses.adminUri, secrets, dataDir)
    } catch (error) {
      await postmaster.stop()
      throw error
    }
    let stopping: Promise<void> | undefined
    return {
      ...addresses,
      cluster,
      ended: postmaster.ended,
      stop: () => (stopping ??= postmaster.stop().finally(unlock)),
    }
  } catch (error) {
    await unlock()
    throw error
  }
}

type Addresses = Pick<EmbeddedDatabase, 'adminUri' | 'authenticatorUri' | 'port' | 'secrets'>

export function addressesOf<S extends Pick<Secrets, 'superuserPassword' | 'authenticatorPassword'>>(
  secrets: S,
  port: number,
): Omit<Addresses, 'secrets'> & { readonly secrets: S } {
  // The passwords are base64url, so they need no escaping.
  const uri = (user: string, password: string): string =>
    `postgresql://${user}:${password}@127.0.0.1:${port}/${database}`
  return {
    adminUri: uri('postgres', secrets.superuserPassword),
    authenticatorUri: uri('authenticator', secrets.authenticatorPassword),
    port,
    secrets,
  }
}

/** The embedded database that another process runs on this folder, or null. Its `stop` has no effect. */
export async function findRunning(folder: string): Promise<EmbeddedDatabase | null> {
  const dataDir = resolve(folder)
  const cluster = await findCluster(dataDir)
  if (cluster === null) return null
  const server = await readPidFile(cluster)
  if (!server?.ready) return null
  const addresses = addressesOf(await ensureSecrets(dataDir), server.port)
  const client = new pg.Client({ connectionString: addresses.adminUri })
  try {
    await client.connect()
    await client.end()
  } catch {
    return null
  }
  return { ...addresses, cluster, ended: new Promise(() => undefined), stop: () => Promise.resolve() }
}

/** The file for the server's messages. Rotates a large one. */
export async function prepareLog(dataDir: string): Promise<string> {
  const file = join(dataDir, 'postgres.log')
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  )
  if (size > logLimit) await rename(file, `${file}.1`)
  return file
}

/**
 * Starts the server on a free port. Retries when another program took the port first, or while backends of a killed server
 * are still ending.
 */
export async function startWithRetries(
  options: Omit<Parameters<typeof startPostmaster>[0], 'port'>,
): Promise<Postmaster> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startPostmaster({ ...options, port: await freePort() })
    } catch (error) {
      const isTransient =
        error instanceof Error && /could not bind|pre-existing shared memory block/.test(error.message)
      if (!isTransient || attempt === 20) throw error
      await pause(250)
    }
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

/** Creates the role that the service connects as, or resets its password to the one stored with the data. */
async function setAuthenticator(adminUri: string, secrets: Secrets, dataDir: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUri })
  try {
    await client.connect()
    // Prevents a failing statement from being logged with the password.
    await client.query('set log_min_error_statement = panic')
    // Without the extension, the setting has no effect. With it, the statement would be kept for `pg_read_all_stats`.
    await client.query('set pg_stat_statements.track_utility = off')
    const { rowCount } = await client.query("select from pg_roles where rolname = 'authenticator'")
    await client.query(
      `${rowCount === 0 ? 'create' : 'alter'} role authenticator with login noinherit password ` +
        pg.escapeLiteral(secrets.authenticatorPassword),
    )
  } catch (error) {
    // invalid_password
    if (!(error instanceof pg.DatabaseError && error.code === '28P01')) throw error
    throw new EmbeddedDatabaseError(
      `The password in ${join(dataDir, 'secrets.json')} does not match the database in the same folder. ` +
        'Restore that file, or remove the whole folder to start without its data.',
      { cause: error },
    )
  } finally {
    await client.end()
  }
}
