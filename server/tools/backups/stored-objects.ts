// The bytes of stored objects in a backup folder. A file of the store never changes, and each version of an object has its
// own, so all backups share one copy of each.
import { randomBytes } from 'node:crypto'
import { copyFile, mkdir, open, readdir, readFile, rename, rm, utimes, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../../common/sync-folder.ts'
import { hasErrorCode } from '../../postgres/embedded/embedded-error.ts'
import { ifMissing } from '../../postgres/embedded/missing-file.ts'

/** Name of the folder with the bytes, in a backup folder as in the store. */
const objects = 'objects'
/** Name of the file in a backup that lists its objects. */
const listName = 'objects.txt'

const namesIn = (folder: string): Promise<readonly string[]> => readdir(folder).catch(ifMissing([]))

/**
 * Copies the objects that the target lacks, whole or not at all. Removes none.
 *
 * @param from folder that contains `objects`
 * @returns the names of all objects of the source, and how many were copied
 */
export async function copyObjects(
  from: string,
  to: string,
): Promise<{ readonly names: readonly string[]; readonly copied: number }> {
  const all: string[] = []
  let copied = 0
  for (const part of await namesIn(join(from, objects))) {
    const [source, target] = [join(from, objects, part), join(to, objects, part)]
    const present = new Set(await namesIn(target))
    const names = (await namesIn(source)).filter((name) => !name.endsWith('.draft'))
    all.push(...names)
    const missing = names.filter((name) => !present.has(name))
    if (missing.length === 0) continue
    await mkdir(target, { recursive: true, mode: 0o700 })
    for (const name of missing) if (await copyObject(join(source, name), join(target, name))) copied++
    await syncFolder(target)
  }
  return { names: all, copied }
}

/** Returns false if the object was removed meanwhile. */
async function copyObject(from: string, to: string): Promise<boolean> {
  const draft = `${to}.${randomBytes(4).toString('hex')}.draft`
  try {
    await copyFile(from, draft)
    const { atime, mtime } = await stat(from)
    // The age of a file protects it from the sweep while its row is being written.
    await utimes(draft, atime, mtime)
    const file = await open(draft, 'r+')
    try {
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, to)
    return true
  } catch (error) {
    await rm(draft, { force: true })
    if (hasErrorCode(error, 'ENOENT')) return false
    throw error
  }
}

/** Writes the list of a backup's objects. */
export async function writeObjectList(backup: string, names: readonly string[]): Promise<void> {
  const file = await open(join(backup, listName), 'wx', 0o600)
  try {
    await file.writeFile(names.map((name) => `${name}\n`).join(''))
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * Removes objects that are in none of the backups and not in the store any more.
 *
 * @param folder backup folder
 * @param backups folders of the backups
 * @param store folder of the store
 */
export async function removeOldObjects(folder: string, backups: readonly string[], store: string): Promise<number> {
  const needed = new Set<string>()
  for (const backup of backups) {
    const list = await readFile(join(backup, listName), 'utf8').catch(ifMissing(''))
    for (const name of list.split('\n')) needed.add(name)
  }
  let removed = 0
  for (const part of await namesIn(join(folder, objects))) {
    const live = new Set(await namesIn(join(store, objects, part)))
    for (const name of await namesIn(join(folder, objects, part))) {
      if (needed.has(name) || live.has(name)) continue
      await rm(join(folder, objects, part, name), { force: true })
      removed++
    }
  }
  return removed
}
