// Names of buckets and objects.
import { storageErrors } from './storage-error.ts'

const objectName = /^[A-Za-z0-9_/!.*'() &$=@;:+,?-]+$/
const bucketName = /^[A-Za-z0-9_!.*'() &$=@;:+,?-]{1,100}$/

/** Bytes, as in S3. All characters that a name may have are of one byte. */
const longestName = 1024

/** A folder that other programs would take for the same or the parent one. */
const dotSegment = /(?:^|\/)\.{1,2}(?:\/|$)/

/**
 * Checks the name of an object.
 *
 * @throws StorageError 400 `InvalidKey`
 */
export function requireObjectName(name: string): void {
  if (name.length > longestName || !objectName.test(name)) throw storageErrors.invalidKey(name.slice(0, longestName))
}

/**
 * Checks the name of an object that is created. Those of a database that was set up elsewhere may have segments `.` and `..`, and
 * can be read and removed.
 *
 * @throws StorageError 400 `InvalidKey`
 */
export function requireNewName(name: string): void {
  requireObjectName(name)
  if (dotSegment.test(name)) throw storageErrors.invalidKey(name)
}

/**
 * Checks the name of a bucket in a path. A new one may not begin or end with a blank, either.
 *
 * @throws StorageError 400 `InvalidBucketName`
 */
export function requireBucketName(name: string): void {
  if (!bucketName.test(name)) throw storageErrors.invalidBucketName()
}

/** Whether a name is that of a file by which clients keep an empty folder. Its content must be empty. */
export const isFolderPlaceholder = (name: string): boolean => name.endsWith('.emptyFolderPlaceholder')
