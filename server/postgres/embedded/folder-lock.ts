// One process per folder. The lock names its owner, so that it is worthless once the owner is dead, however it died.
import { readdir, readlink, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { EmbeddedDatabaseError, isFault } from './fault.ts'
import { birthOf } from './running-process.ts'

/** The folder belongs to a living process. */
export class FolderInUse extends EmbeddedDatabaseError {
  readonly pid: number

  constructor(folder: string, pid: number) {
    super(
      `The data folder ${folder} is in use by another rowhouse (process ${pid}). ` +
        'Stop that one first, or give this one a folder of its own with DATA_DIR.',
    )
    this.name = 'FolderInUse'
    this.pid = pid
  }
}

const lockName = /^lock\.(\d{1,15})$/
const generation = (file: string): number => Number(lockName.exec(file)?.[1] ?? 0)

/** The process that a lock names; null when it has been released, or the owner is dead. */
async function livingOwner(lock: string): Promise<number | null> {
  const [pid, birth] = (await readlink(lock)).split(' ')
  if (pid === undefined || birth === undefined || !/^\d+$/.test(pid)) return null
  return (await birthOf(Number(pid))) === birth.replaceAll('_', ' ') ? Number(pid) : null
}

/**
 * Takes the folder for this process, until the returned function is called or the process dies.
 *
 * A lock is a symbolic link whose target is no path but the owner: making one is atomic together with its content, and
 * fails when it is there (symlink(2)). Each owner makes a link with the next higher number, so of two processes that
 * find the same dead owner only one can be its successor. A released lock stays, for the same reason: the numbers only
 * ever rise.
 *
 * @throws {FolderInUse} when its owner is alive
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const birth = await birthOf(process.pid)
  if (birth === null) throw new EmbeddedDatabaseError('The program `ps` is needed, and was not found.')
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
      // Someone was quicker (EEXIST), or has removed the lock between the two looks at it (ENOENT): look again.
      if (!isFault(error, 'EEXIST', 'ENOENT')) throw error
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
