// The system user that runs the embedded Postgres, which refuses to run as root.
import { execFile } from 'node:child_process'
import { chmod, mkdir, stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { EmbeddedDatabaseError } from './embedded-error.ts'

const run = promisify(execFile)

export type SystemUser = {
  readonly name: string
  readonly uid: number
  readonly gid: number
  /** Folder for data and programs if this user cannot access the project's folder. */
  readonly relocatedDataDir: string
}

async function lookUp(name: string, relocatedDataDir: string): Promise<SystemUser | null> {
  try {
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map(async (option) => Number((await run('id', [option, name])).stdout)),
    )
    return uid && gid !== undefined ? { name, uid, gid, relocatedDataDir } : null
  } catch {
    return null
  }
}

/**
 * The user to run Postgres as. Null for the user of this process, unless it is root. For root, the owner of the existing
 * data, or the system user `postgres`, which is created if necessary.
 */
export async function databaseUser(
  existingData: string | null,
  relocatedDataDir = '/var/lib/rowhouse',
): Promise<SystemUser | null> {
  if (process.getuid?.() !== 0) return null
  if (existingData !== null) {
    const { uid, gid } = await stat(existingData)
    if (uid !== 0) return { name: `with the number ${uid}`, uid, gid, relocatedDataDir }
  }
  const known = await lookUp('postgres', relocatedDataDir)
  if (known) return known
  const made = await run('groupadd', ['--system', '--force', 'postgres'])
    .then(() =>
      run('useradd', ['--system', '--gid', 'postgres', '--no-create-home', '--home-dir', '/nonexistent', 'postgres']),
    )
    .then(
      () => null,
      (error: unknown) => error,
    )
  // Another process may have created it at the same time.
  const user = await lookUp('postgres', relocatedDataDir)
  if (user) return user
  throw new EmbeddedDatabaseError(
    'PostgreSQL does not run as root, and creating the user `postgres` to run it failed. ' +
      'Start rowhouse as an ordinary user, create a system user `postgres`, or set DATABASE_URL.',
    { cause: made },
  )
}

/**
 * Options for `spawn` and `execFile`: the user, an environment without secrets and `PG…` variables, and a working
 * directory that every user may enter.
 */
export function asUser(user: SystemUser | null): {
  readonly uid?: number
  readonly gid?: number
  readonly cwd: string
  readonly env: Record<string, string>
} {
  const env = { PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
  return user ? { uid: user.uid, gid: user.gid, cwd: '/', env } : { cwd: '/', env }
}

/** Whether a user can enter a folder and all its parents. Asks the system, which knows all rules. */
export async function canEnter(user: SystemUser, folder: string): Promise<boolean> {
  try {
    await run('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], asUser(user))
    return true
  } catch {
    return false
  }
}

/**
 * Creates or checks the folder that replaces `closed`, which the user cannot enter.
 * @throws {EmbeddedDatabaseError} when it cannot be used, with advice about `closed`
 */
export async function ensureRelocatedDataDir(closed: string, user: SystemUser): Promise<string> {
  const { relocatedDataDir } = user
  try {
    // Sets the mode regardless of the umask.
    if ((await mkdir(relocatedDataDir, { recursive: true })) !== undefined) await chmod(relocatedDataDir, 0o755)
    const { uid, mode } = await stat(relocatedDataDir)
    // Programs run from this folder, so only root may write to it.
    if (uid === 0 && (mode & 0o022) === 0 && (await canEnter(user, relocatedDataDir))) return relocatedDataDir
    throw new Error(`${relocatedDataDir} must belong to root, be writable only by root, and be accessible to all users`)
  } catch (error) {
    throw new EmbeddedDatabaseError(
      `PostgreSQL does not run as root but as the user ${user.name}, who cannot enter ${closed}. ` +
        'Put the project and DATA_DIR into a folder that all users may enter, or start rowhouse as an ordinary user.',
      { cause: error },
    )
  }
}
