// Files that only their owner can read, and that are on disk when they are complete.
import { copyFile, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder } from '../../common/sync-folder.ts'
import { replacePrivate } from '../embedded/private-file.ts'

/**
 * Writes a small file, or replaces it. It has its name only when it is complete.
 *
 * @throws the operating system's error
 */
export async function writeDurably(path: string, content: string): Promise<void> {
  await replacePrivate(path, content)
  await syncFolder(dirname(path))
}

/**
 * Copies a file, whose name is on disk only after its folder was flushed.
 *
 * @throws the operating system's error
 */
export async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to)
  const file = await open(to, 'r+')
  try {
    await file.chmod(0o600)
    await file.sync()
  } finally {
    await file.close()
  }
}
