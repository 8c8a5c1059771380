import { open } from 'node:fs/promises'

/**
 * Flushes a folder to disk, without which a rename(2) in it may not survive a power failure.
 *
 * @throws the error of the operating system
 */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
