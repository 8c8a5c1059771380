// Files that need not exist.
import { lstat } from 'node:fs/promises'
import { hasErrorCode } from './embedded-error.ts'

/** Handles a rejection: for a file that does not exist, `value` takes the place of the result. Throws other errors. */
export const ifMissing =
  <T>(value: T) =>
  (error: unknown): T => {
    if (hasErrorCode(error, 'ENOENT')) return value
    throw error
  }

/**
 * Whether there is a file, a folder or a link, even one that leads nowhere.
 *
 * @throws the operating system's error if that cannot be found out
 */
export const pathExists = (path: string): Promise<boolean> => lstat(path).then(() => true, ifMissing(false))
