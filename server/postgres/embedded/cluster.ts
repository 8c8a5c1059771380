// The folder with the database's files: found, checked, or made.
import { createHash, randomBytes } from 'node:crypto'
import { spawn } from 'node:child_process'
import { chown, mkdir, open, readFile, readdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Binaries } from './binaries.ts'
import { EmbeddedDatabaseError, isFault } from './fault.ts'
import { asUser, canEnter, ensureRelocatedDataDir, type SystemUser } from './system-user.ts'

/** Name of the database's folder inside the data folder. */
const clusterName = 'postgres'

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
    if (isFault(error, 'ENOENT')) {
      if ((await readdir(dataDir)).includes(clusterName)) {
        throw new EmbeddedDatabaseError(
          `${place} points to a database that is not there any more. Remove that link to begin anew.`,
        )
      }
      return null
    }
    if (isFault(error, 'EACCES')) {
      throw new EmbeddedDatabaseError(
        `${place} belongs to another user. Start rowhouse as that user, or choose another folder with DATA_DIR.`,
        { cause: error },
      )
    }
    throw error
  }
  return files.length === 0 ? null : realpath(place)
}

/** @throws {EmbeddedDatabaseError} when these files are no database that the binaries can serve */
export async function checkCluster(cluster: string, binaries: Binaries, user: SystemUser | null): Promise<void> {
  const version = await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch((error: unknown) => {
    if (isFault(error, 'ENOENT')) return null
    throw error
  })
  if (version === null) {
    throw new EmbeddedDatabaseError(
      `${cluster} holds files, but no PostgreSQL database. Remove it, or choose another folder with DATA_DIR.`,
    )
  }
  if (Number(version.trim()) !== binaries.majorVersion) {
    throw new EmbeddedDatabaseError(
      `${cluster} was made by PostgreSQL ${version.trim()}, and this is PostgreSQL ${binaries.majorVersion}, which cannot read it. ` +
        'Move the data with pg_dump from the old version, or choose another folder with DATA_DIR.',
    )
  }
  if (user && !(await canEnter(user, cluster))) {
    throw new EmbeddedDatabaseError(
      `PostgreSQL runs as the user ${user.name}, who cannot enter ${cluster}. ` +
        'Put the data into a folder that everybody may enter, and name it with DATA_DIR.',
    )
  }
}

/**
 * Makes a new database, whole or not at all: it gets its name as the last step. Returns its real path.
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
  const isRelocated = user !== null && !(await canEnter(user, dataDir))
  const base = isRelocated ? await ensureRelocatedDataDir(dataDir, user) : dataDir
  const draft = await emptyDraft(base, dataDir)
  try {
    const made = await initialise(draft, binaries, user, password, signal)
    // An empty folder that someone made in its place is in nobody's way.
    await rm(place, { recursive: true, force: true })
    if (isRelocated) {
      const home = join(base, `data-${randomBytes(8).toString('hex')}`)
      await rename(draft, home)
      await symlink(join(home, clusterName), place)
      log(`The database is kept in ${home}, since the user ${user.name} cannot enter ${dataDir}`)
    } else {
      await rename(made, place)
    }
    await syncFolder(base)
    await syncFolder(dataDir)
    return await realpath(place)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** Name of a folder to make a database in, with those gone that an interrupted start for this data folder left. */
async function emptyDraft(base: string, dataDir: string): Promise<string> {
  const prefix = `making-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}-`
  for (const name of await readdir(base)) {
    if (!name.startsWith(prefix)) continue
    // An initdb whose parent was killed may still be writing there.
    await rm(join(base, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
  return join(base, `${prefix}${randomBytes(4).toString('hex')}`)
}

/** Runs initdb inside a new folder; returns the folder of the database in it. */
async function initialise(
  draft: string,
  binaries: Binaries,
  user: SystemUser | null,
  password: string,
  signal?: AbortSignal,
): Promise<string> {
  const cluster = join(draft, clusterName)
  const passwordFile = join(draft, 'password')
  await mkdir(draft, { mode: 0o700 })
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' })
  if (user) {
    await chown(passwordFile, user.uid, user.gid)
    await chown(draft, user.uid, user.gid)
  }
  await runInitdb(
    binaries,
    [
      `--pgdata=${cluster}`,
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // Postgres's own locale: the same order of texts on every machine, whatever its C library knows.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
    ],
    user,
    signal,
  )
  await rm(passwordFile)
  return cluster
}

/** Like the server, in a session of its own, so that it is ended by us and not by the terminal. */
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
      else reject(new EmbeddedDatabaseError(`The embedded database could not be made. ${messages.trim()}`))
    })
  })
}

/** A name given by rename(2) outlives a power cut only when its folder is written down. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
