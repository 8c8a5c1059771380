// Locks a folder for one process. The lock names its owner, so that it becomes invalid when the owner dies for any reason.
import { readdir, readlink, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { EmbeddedDatabaseError, hasErrorCode } from './embedded-error.ts'
import { birthOf } from './running-process.ts'

/** Another running process uses the folder. */
export class FolderInUse extends EmbeddedDatabaseError {
  readonly pid: number

  constructor(folder: string, pid: number) {
    super(
      `The data folder ${folder} is in use by another rowhouse (process ${pid}). ` +
        'Stop that one first, or choose another folder with DATA_DIR.',
    )
    this.name = 'FolderInUse'
    this.pid = pid
  }
}

const lockName = /^lock\.(\d{1,15})$/
const generation = (file: string): number => Number(lockName.exec(file)?.[1] ?? 0)

/** The process that a lock names; null when the lock was released or the owner is dead. */
async function livingOwner(lock: string): Promise<number | null> {
  const [pid, birth] = (await readlink(lock)).split(' ')
  if (pid === undefined || birth === undefined || !/^\d+$/.test(pid)) return null
  return (await birthOf(Number(pid))) === birth.replaceAll('_', ' ') ? Number(pid) : null
}

/**
 * Locks the folder for this process until the returned function is called or the process dies.
 *
 * A lock is a symbolic link whose target names the owner: symlink(2) creates it atomically with its content, and fails if
 * it exists. Each owner uses the next higher number, so only one of two processes that find the same dead owner can take
 * over. A released lock remains, so that numbers never repeat.
 *
 * @throws {FolderInUse} when its owner is alive
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const birth = await birthOf(process.pid)
  if (birth === null) throw new EmbeddedDatabaseError('The required program `ps` was not found.')
  for (;;) {
    const last = Math.max(0, ...(await readdir(folder)).map(generation))
    try {
      const pid = last === 0 ? null : await livingOwner(join(folder, `lock.${last}`))
      if (pid !== null) throw new FolderInUse(folder, pid)
      const lock = join(folder, `lock.${last + 1}`)
      await symlink(`${process.pid} ${birth.replaceAll(' ', '_')}`, lock)
      await removeOlder(folder, last)
      return () => release(lock)
    } catch (error) {
      // Another process was faster (EEXIST), or removed the lock in the meantime (ENOENT): try again.
      if (!hasErrorCode(error, 'EEXIST', 'ENOENT')) throw error
    }
  }
}

async function removeOlder(folder: string, last: number): Promise<void> {
  for (const file of await readdir(folder)) {
    if (generation(file) > 0 && generation(file) <= last) await rm(join(folder, file), { force: true })
  }
}

async function release(lock: string): Promise<void> {
  const released = `${lock}.released`
  await symlink('released', released)
  await rename(released, lock)
}
