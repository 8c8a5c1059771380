// Copies the bytes of an object to a new version, and commits a row that names them.
import { leavesConnection } from '../../postgres/database-error.ts'
import { MissingBytesError, type ObjectKey, type ObjectStore, type StoredBytes } from './object-store.ts'
import { StorageError, storageErrors } from './storage-error.ts'

/** A source is at least the version of its bytes, empty if its row has none. */
type Versioned = { readonly version: string }

export type CopiedBytes<Source extends Versioned> = {
  readonly store: ObjectStore
  /** Receives errors of removing a copy that is not used; the sweep removes it later. */
  readonly onError: (error: unknown) => void
  readonly from: Pick<ObjectKey, 'bucket' | 'name'>
  readonly to: ObjectKey
  /** The source, which other requests may change; undefined if there is no such object. */
  readonly find: () => Promise<Source | undefined>
}

/** How often a source may change before the copy fails. */
const attempts = 5

/**
 * Copies the bytes and calls `commit`, which returns undefined if the source has changed. Then, and when the bytes of the
 * version have been removed before they were copied, the copy is made again.
 *
 * @returns what `commit` returns; nothing is kept when it fails
 * @throws StorageError 404 `NoSuchKey` when there is no source; the error of the store or of `commit`
 */
export async function withCopiedBytes<Source extends Versioned, T extends object>(
  { store, onError, from, to, find }: CopiedBytes<Source>,
  commit: (bytes: StoredBytes, source: Source) => Promise<T | undefined>,
): Promise<T> {
  let missing: string | undefined
  for (let attempt = 0; attempt < attempts; attempt++) {
    const source = await find()
    if (!source) throw storageErrors.noSuchKey()
    const { version } = source
    // The row names bytes that the store does not have.
    if (version === missing) throw storageErrors.noBytes()
    try {
      const bytes = await store.copy({ bucket: from.bucket, name: from.name, version }, to)
      const committed = await commit(bytes, source)
      if (committed !== undefined) return committed
      await store.remove([to]).catch(onError)
    } catch (error) {
      if (error instanceof MissingBytesError) missing = version
      else {
        if (isRolledBack(error)) await store.remove([to]).catch(onError)
        throw error
      }
    }
  }
  throw storageErrors.resourceLocked()
}

/**
 * Whether an error certainly means that no row was committed. When a connection is lost, nobody knows; then the bytes stay
 * until the sweep finds that no row names them.
 */
const isRolledBack = (error: unknown): boolean => error instanceof StorageError || leavesConnection(error)
