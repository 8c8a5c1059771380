// The embedded database: a real PostgreSQL that this process starts, owns and stops, with its data in one folder.
import { rename, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import pg from 'pg'
import { findBinaries, locatePackage } from './binaries.ts'
import { checkCluster, findCluster, makeCluster } from './cluster.ts'
import { openDataFolder } from './data-folder.ts'
import { EmbeddedDatabaseError, isFault } from './fault.ts'
import { FolderInUse, lockFolder } from './folder-lock.ts'
import { endOrphan, readPidFile, startPostmaster, type Postmaster } from './postmaster.ts'
import { ensureSecrets, type Secrets } from './secrets.ts'
import { databaseUser } from './system-user.ts'

export { EmbeddedDatabaseError } from './fault.ts'
export { FolderInUse } from './folder-lock.ts'
export { ensureSecrets, type Secrets } from './secrets.ts'

export type EmbeddedOptions = {
  readonly dataDir: string
  /** Name of the setting that names the folder, as it was given; `DATA_DIR`. */
  readonly setting?: string | undefined
  /** Gets a line about each thing that takes time or that one might want to know. */
  readonly log: (message: string) => void
  /** Gives up a start that is under way; what has been started is stopped first. */
  readonly signal?: AbortSignal
  /** Folder for what the user that root lends to Postgres cannot reach in its place; `/var/lib/rowhouse`. */
  readonly relocatedDataDir?: string
}

export type EmbeddedDatabase = {
  /** Connection string of the superuser, for migrations. */
  readonly adminUri: string
  /** Connection string of the role `authenticator`, for everything else. */
  readonly authenticatorUri: string
  readonly port: number
  readonly secrets: Secrets
  /** Resolves when the server has ended, asked or not. */
  readonly ended: Promise<void>
  /** Ends every connection, stops the server, and gives the folder free. May be called more than once. */
  readonly stop: () => Promise<void>
}

const database = 'postgres'
/** Errors of the operating system that say that the folder cannot be made, entered or written. */
const folderFaults = [
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

/**
 * Starts PostgreSQL on the data in `dataDir/postgres`, making it first when there is none.
 *
 * One process at a time may use a folder. A server that was left behind by a process that was killed is stopped first.
 * The caller handles the signals and calls `stop`; should the process end without, the server is still told to shut
 * down.
 *
 * @throws {FolderInUse} when another living process uses the folder
 * @throws {EmbeddedDatabaseError} when it cannot be started, with what to do about it
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  if (process.platform === 'win32') {
    throw new EmbeddedDatabaseError(
      'The embedded database is not available on Windows. Set DATABASE_URL, or use WSL (Windows Subsystem for Linux).',
    )
  }
  const { setting = 'DATA_DIR' } = options
  // Asked first: where they were left out on purpose, a word about folders would be of no help.
  await locatePackage()
  const dataDir = resolve(options.dataDir)
  try {
    return await start({ ...options, dataDir: await openDataFolder(dataDir) })
  } catch (error) {
    if (!isFault(error, ...folderFaults)) throw error
    const hint = isFault(error, 'EACCES', 'EPERM')
      ? ' Start rowhouse as the user whom it belongs to, or choose'
      : ' Choose'
    throw new EmbeddedDatabaseError(
      `${setting}: the data folder ${options.dataDir} cannot be used (${(error as Error).message}).${hint} another folder.`,
      { cause: error },
    )
  }
}

/**
 * The embedded database for a short task: the one that another process has running on this folder, or else one that
 * is started for it. `stop` ends only what was started here.
 */
export async function useEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase & { readonly started: boolean }> {
  const deadline = Date.now() + 30_000
  for (;;) {
    try {
      return { ...(await startEmbedded(options)), started: true }
    } catch (error) {
      if (!(error instanceof FolderInUse)) throw error
      const running = await findRunning(resolve(options.dataDir))
      if (running) return { ...running, started: false }
      // It is just starting, or stopping.
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
    const secrets = await ensureSecrets(dataDir)
    const existing = await findCluster(dataDir)
    const user = await databaseUser(existing, relocatedDataDir)
    const binaries = await findBinaries(user)
    if (existing !== null) await checkCluster(existing, binaries, user)
    else log('Making a new database; this is done once')
    const password = secrets.superuserPassword
    const cluster = existing ?? (await makeCluster({ dataDir, binaries, user, password, log, signal }))
    // A copy of the data folder may lead to the same database, when that is kept elsewhere.
    if (dirname(cluster) !== dataDir) locks.push(await lockFolder(dirname(cluster)))
    await endOrphan(cluster, log)
    const logFile = await prepareLog(dataDir)
    const postmaster = await startPatiently({ binaries, cluster, user, logFile, signal })
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
      ended: postmaster.ended,
      stop: () => (stopping ??= postmaster.stop().finally(unlock)),
    }
  } catch (error) {
    await unlock()
    throw error
  }
}

type Addresses = Pick<EmbeddedDatabase, 'adminUri' | 'authenticatorUri' | 'port' | 'secrets'>

function addressesOf(secrets: Secrets, port: number): Addresses {
  // The passwords are base64url: nothing in them needs escaping.
  const uri = (user: string, password: string): string =>
    `postgresql://${user}:${password}@127.0.0.1:${port}/${database}`
  return {
    adminUri: uri('postgres', secrets.superuserPassword),
    authenticatorUri: uri('authenticator', secrets.authenticatorPassword),
    port,
    secrets,
  }
}

async function findRunning(dataDir: string): Promise<EmbeddedDatabase | null> {
  const cluster = await findCluster(dataDir)
  const server = cluster === null ? null : await readPidFile(cluster)
  if (!server?.ready) return null
  const addresses = addressesOf(await ensureSecrets(dataDir), server.port)
  const client = new pg.Client({ connectionString: addresses.adminUri })
  try {
    await client.connect()
    await client.end()
  } catch {
    return null
  }
  return { ...addresses, ended: new Promise(() => undefined), stop: () => Promise.resolve() }
}

/** The server's messages, with the file of before put aside when it has grown large. */
async function prepareLog(dataDir: string): Promise<string> {
  const file = join(dataDir, 'postgres.log')
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  )
  if (size > logLimit) await rename(file, `${file}.1`)
  return file
}

/**
 * Starts the server on a free port. Two things pass by themselves: another program may take the port first, and the
 * backends of a server that was killed need a moment to see that it is gone.
 */
async function startPatiently(options: Omit<Parameters<typeof startPostmaster>[0], 'port'>): Promise<Postmaster> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startPostmaster({ ...options, port: await freePort() })
    } catch (error) {
      const passing = error instanceof Error && /could not bind|pre-existing shared memory block/.test(error.message)
      if (!passing || attempt === 20) throw error
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

/** Makes the role that the service connects as, or gives it the password that is kept with the data. */
async function setAuthenticator(adminUri: string, secrets: Secrets, dataDir: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUri })
  try {
    await client.connect()
    // A failing statement would be written to the log, password and all.
    await client.query('set log_min_error_statement = panic')
    const { rowCount } = await client.query("select from pg_roles where rolname = 'authenticator'")
    await client.query(
      `${rowCount === 0 ? 'create' : 'alter'} role authenticator with login noinherit password ` +
        pg.escapeLiteral(secrets.authenticatorPassword),
    )
  } catch (error) {
    // invalid_password
    if (!(error instanceof pg.DatabaseError && error.code === '28P01')) throw error
    throw new EmbeddedDatabaseError(
      `The password in ${join(dataDir, 'secrets.json')} is not the one of the database beside it. ` +
        'Restore that file, or remove the whole folder to begin anew without its data.',
      { cause: error },
    )
  } finally {
    await client.end()
  }
}
