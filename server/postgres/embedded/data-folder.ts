// The folder that the embedded database and its secrets are kept in.
import { chmod, mkdir, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isFault } from './fault.ts'

/**
 * Makes a folder and those above it that are missing. Node's own recursive `mkdir` never returns where the file system
 * answers ENOENT although the parent is there, as in `/proc`.
 *
 * @returns the topmost folder that was made; undefined when all were there
 * @throws the operating system's error
 */
async function makeFolders(path: string): Promise<string | undefined> {
  try {
    await mkdir(path, 0o700)
    return path
  } catch (error) {
    if (isFault(error, 'EEXIST') && (await stat(path)).isDirectory()) return undefined
    if (!isFault(error, 'ENOENT') || (await isThere(dirname(path)))) throw error
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

/** Makes the data folder where there is none, and returns its path without symbolic links. */
export async function openDataFolder(dataDir: string): Promise<string> {
  const isRoot = process.getuid?.() === 0
  const made = await makeFolders(dataDir)
  // The user that root lends to Postgres must be able to pass; what is private in the folder is private by itself.
  if (isRoot && made !== undefined) {
    for (let folder = dataDir; folder.length >= made.length; folder = dirname(folder)) await chmod(folder, 0o711)
  }
  return realpath(dataDir)
}
