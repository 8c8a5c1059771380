// Copies the bytes of an object to a new version, and commits a row that names them.
import { MissingBytesError, type ObjectKey, type ObjectStore, type StoredBytes } from './object-store.ts'
import { storageErrors } from './storage-error.ts'

export type CopiedBytes = {
  readonly store: ObjectStore
  /** Receives errors of removing a copy that is not used; the sweep removes it later. */
  readonly onError: (error: unknown) => void
  readonly from: Pick<ObjectKey, 'bucket' | 'name'>
  readonly to: ObjectKey
  /** The version of the source, which other requests may change; undefined if there is no such object. */
  readonly versionOf: () => Promise<string | undefined>
}

/** How often a source may change before the copy fails. */
const attempts = 5

/**
 * Copies the bytes and calls `commit`, which returns undefined if the source has changed. Then, and when the bytes of the
 * version have been removed before they were copied, the copy is made again.
 *
 * @returns what `commit` returns; nothing is kept when it fails
 * @throws StorageError 404 `NoSuchKey` when the source has been removed; the error of the store or of `commit`
 */
export async function withCopiedBytes<T extends object>(
  { store, onError, from, to, versionOf }: CopiedBytes,
  commit: (bytes: StoredBytes, version: string) => Promise<T | undefined>,
): Promise<T> {
  let missing: string | undefined
  for (let attempt = 0; attempt < attempts; attempt++) {
    const version = await versionOf()
    if (version === undefined) throw storageErrors.noSuchKey()
    // The row names bytes that the store does not have.
    if (version === missing) throw storageErrors.noBytes()
    try {
      const bytes = await store.copy({ bucket: from.bucket, name: from.name, version }, to)
      const committed = await commit(bytes, version)
      if (committed !== undefined) return committed
    } catch (error) {
      if (!(error instanceof MissingBytesError)) {
        await store.remove([to]).catch(onError)
        throw error
      }
      missing = version
    }
    await store.remove([to]).catch(onError)
  }
  throw storageErrors.resourceLocked()
}
