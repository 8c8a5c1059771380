// The folder of the embedded database and its secrets.
import { chmod, mkdir, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { hasErrorCode } from './embedded-error.ts'

/**
 * Creates a folder and its missing parents. Node's recursive `mkdir` never returns if the file system reports ENOENT
 * although the parent exists, as in `/proc`.
 *
 * @returns the topmost folder that was created; undefined when all existed
 * @throws the operating system's error
 */
async function makeFolders(path: string): Promise<string | undefined> {
  try {
    await mkdir(path, 0o700)
    return path
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST') && (await stat(path)).isDirectory()) return undefined
    if (!hasErrorCode(error, 'ENOENT') || (await isThere(dirname(path)))) throw error
  }
  const top = await makeFolders(dirname(path))
  await mkdir(path, 0o700)
  return top ?? path
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Creates the data folder if necessary. Returns its path without symbolic links. */
export async function openDataFolder(dataDir: string): Promise<string> {
  const isRoot = process.getuid?.() === 0
  const made = await makeFolders(dataDir)
  // Lets the user that runs Postgres for root pass. Private files in the folder have their own permissions.
  if (isRoot && made !== undefined) {
    for (let folder = dataDir; folder.length >= made.length; folder = dirname(folder)) await chmod(folder, 0o711)
  }
  return realpath(dataDir)
}
