// Copies the bytes of an object to a new version.
import { MissingBytesError, type ObjectKey, type ObjectStore, type StoredBytes } from './object-store.ts'
import { storageErrors } from './storage-error.ts'

/** The bucket and name of an object. */
export type Place = { readonly bucket: string; readonly name: string }

/** The version of an object's bytes; empty if its row has no version. */
type Versioned = { readonly version: string }

/** How often an object may be replaced while it is copied or moved. */
export const copyAttempts = 5

/**
 * Copies the bytes of an object, again if it is replaced before they were read.
 *
 * @param find finds the object, which other requests may change; undefined if it does not exist
 * @throws StorageError 404 `NoSuchKey` when there is no object, 423 when it is replaced again and again; the store's error
 */
export async function copyBytes<Source extends Versioned>(
  store: ObjectStore,
  from: Place,
  to: ObjectKey,
  find: () => Promise<Source | undefined>,
): Promise<{ readonly bytes: StoredBytes; readonly source: Source }> {
  let missing: string | undefined
  for (let attempt = 0; attempt < copyAttempts; attempt++) {
    const source = await find()
    if (!source) throw storageErrors.noSuchKey()
    const { version } = source
    // The row names bytes that the store does not have.
    if (version === missing) throw storageErrors.noBytes()
    try {
      return { bytes: await store.copy({ ...from, version }, to), source }
    } catch (error) {
      if (!(error instanceof MissingBytesError)) throw error
      missing = version
    }
  }
  throw storageErrors.resourceLocked()
}
