// Names of buckets, and of objects with a special meaning. Those of all objects: `object-names.ts`.
import { storageErrors } from './storage-error.ts'

const bucketName = /^[A-Za-z0-9_!.*'() &$=@;:+,?-]{1,100}$/

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
