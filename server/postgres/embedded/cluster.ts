// Finds, checks and creates the folder with the database's files.
import { createHash, randomBytes } from 'node:crypto'
import { spawn } from 'node:child_process'
import { chown, mkdir, readFile, readdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from '../../common/sync-folder.ts'
import type { Binaries } from './binaries.ts'
import { EmbeddedDatabaseError, hasErrorCode } from './embedded-error.ts'
import { ifMissing } from './missing-file.ts'
import { endOrphan } from './postmaster.ts'
import { asUser, canEnter, ensureRelocatedDataDir, type SystemUser } from './system-user.ts'

/** Name of the database's folder inside the data folder. */
export const clusterName = 'postgres'

/**
 * The real path of the existing database, null when there is none yet.
 * @throws {EmbeddedDatabaseError} when something else is in its place
 */
export async function findCluster(dataDir: string): Promise<string | null> {
  const place = join(dataDir, clusterName)
  let files: string[]
  try {
    files = await readdir(place)
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) {
      if ((await readdir(dataDir)).includes(clusterName)) {
        throw new EmbeddedDatabaseError(
          `${place} points to a database that no longer exists. Remove that link to start with a new database.`,
        )
      }
      return null
    }
    if (hasErrorCode(error, 'EACCES')) {
      throw new EmbeddedDatabaseError(
        `${place} belongs to another user. Start rowhouse as that user, or choose another folder with DATA_DIR.`,
        { cause: error },
      )
    }
    throw error
  }
  return files.length === 0 ? null : realpath(place)
}

/** The major version of PostgreSQL that created these files; null if there is no database. */
export async function clusterVersion(cluster: string): Promise<number | null> {
  const version = await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch(ifMissing(null))
  return version === null ? null : Number(version.trim())
}

/** @throws {EmbeddedDatabaseError} when these files are not a database that the binaries can serve */
export async function checkCluster(cluster: string, binaries: Binaries, user: SystemUser | null): Promise<void> {
  const version = await clusterVersion(cluster)
  if (version === null) {
    throw new EmbeddedDatabaseError(
      `${cluster} contains files, but no PostgreSQL database. Remove it, or choose another folder with DATA_DIR.`,
    )
  }
  if (version !== binaries.majorVersion) {
    throw new EmbeddedDatabaseError(
      `${cluster} was created by PostgreSQL ${version}, which PostgreSQL ${binaries.majorVersion} cannot read. ` +
        `${version < binaries.majorVersion ? 'Upgrade it with `rowhouse upgrade-database`' : 'Use the version of rowhouse that created it'}, ` +
        'or choose another folder with DATA_DIR.',
    )
  }
  if (user && !(await canEnter(user, cluster))) {
    throw new EmbeddedDatabaseError(
      `PostgreSQL runs as the user ${user.name}, who cannot enter ${cluster}. ` +
        'Move the data to a folder that all users may enter, and set DATA_DIR to it.',
    )
  }
}

/**
 * Creates a new database atomically: renaming it into place is the last step. Returns its real path.
 */
export async function makeCluster(options: {
  readonly dataDir: string
  readonly binaries: Binaries
  readonly user: SystemUser | null
  readonly password: string
  readonly log: (message: string) => void
  readonly signal?: AbortSignal | undefined
}): Promise<string> {
  const { dataDir, binaries, user, password, log, signal } = options
  const place = join(dataDir, clusterName)
  return withDraft(dataDir, user, async (draft) => {
    await initialise(draft, binaries, user, password, signal)
    // Removes an empty folder in its place.
    await rm(place, { recursive: true, force: true })
    await settleDraft(draft, place, log)
    return realpath(place)
  })
}

/** A new folder for a database that is not yet complete, which the user that runs Postgres can enter. */
export type Draft = {
  /** The folder. */
  readonly path: string
  /** The folder of the database in it, which `use` creates. */
  readonly cluster: string
  readonly dataDir: string
  /** Folder for the complete database, if the user cannot enter the data folder. */
  readonly relocation: { readonly base: string; readonly user: SystemUser } | undefined
}

/** Runs `use` with a draft, and removes what is left of it. Also removes what interrupted processes left behind. */
export async function withDraft<T>(
  dataDir: string,
  user: SystemUser | null,
  use: (draft: Draft) => Promise<T>,
): Promise<T> {
  const isRelocated = user !== null && !(await canEnter(user, dataDir))
  const base = isRelocated ? await ensureRelocatedDataDir(dataDir, user) : dataDir
  const path = await emptyDraft(base, dataDir)
  try {
    await mkdir(path, { mode: 0o700 })
    if (user) await chown(path, user.uid, user.gid)
    const relocation = isRelocated ? { base, user } : undefined
    return await use({ path, cluster: join(path, clusterName), dataDir, relocation })
  } finally {
    await rm(path, { recursive: true, force: true })
  }
}

/** Moves the complete database of a draft to `place`, which must not exist. */
export async function settleDraft(
  { path, cluster, dataDir, relocation }: Draft,
  place: string,
  log: (message: string) => void,
): Promise<void> {
  if (relocation) {
    const { base, user } = relocation
    const home = join(base, `data-${randomBytes(8).toString('hex')}`)
    await rename(path, home)
    await syncFolder(base)
    await symlink(join(home, clusterName), place)
    log(`The database is in ${home}, because the user ${user.name} cannot enter ${dataDir}`)
  } else {
    await rename(cluster, place)
  }
  await syncFolder(dirname(place))
}

/** A path for creating a database. Removes what interrupted starts of this data folder left behind. */
async function emptyDraft(base: string, dataDir: string): Promise<string> {
  const prefix = `making-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}-`
  for (const name of await readdir(base)) {
    if (!name.startsWith(prefix)) continue
    // A server, or an initdb, whose parent was killed may still be writing there.
    await endOrphan(join(base, name, clusterName), () => undefined)
    await rm(join(base, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
  return join(base, `${prefix}${randomBytes(4).toString('hex')}`)
}

/** Runs initdb in a draft. */
export async function initialise(
  { path, cluster }: Pick<Draft, 'path' | 'cluster'>,
  binaries: Binaries,
  user: SystemUser | null,
  password: string,
  signal?: AbortSignal,
): Promise<void> {
  const passwordFile = join(path, 'password')
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' })
  if (user) await chown(passwordFile, user.uid, user.gid)
  await runInitdb(
    binaries,
    [
      `--pgdata=${cluster}`,
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // Postgres's builtin locale sorts text the same way on every machine, regardless of its C library.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
    ],
    user,
    signal,
  )
  await rm(passwordFile)
}

/** Runs initdb in its own session, like the server, so that Ctrl-C in the terminal does not reach it. */
function runInitdb(
  { initdb }: Binaries,
  args: readonly string[],
  user: SystemUser | null,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const child = spawn(initdb, args, { ...asUser(user), detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
    const end = (): void => void child.kill('SIGINT')
    process.once('exit', end)
    signal?.addEventListener('abort', end, { once: true })
    let messages = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (messages += text))
    child.once('error', reject)
    child.once('close', (code) => {
      process.removeListener('exit', end)
      signal?.removeEventListener('abort', end)
      if (signal?.aborted) reject(signal.reason as Error)
      else if (code === 0) resolve()
      else reject(new EmbeddedDatabaseError(`Creating the embedded database failed. ${messages.trim()}`))
    })
  })
}
