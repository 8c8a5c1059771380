// The port to the storage service, which keeps analysed images.
import type { Identity } from '../../identity/identity.ts'
import type { RunQuery } from '../../postgres/run-query.ts'

/** An image whose bytes are stored, but which is no object yet. */
export type KeptImage = {
  readonly bucket: string
  readonly name: string
  readonly version: string
  /** Subject of the caller's token. */
  readonly owner: string
  /** The column `metadata` of the object, in JSON. */
  readonly metadata: string
  readonly uri: string
}

export type ImageKeeper = {
  /**
   * Stores the bytes of an image, for an object in the caller's folder.
   *
   * @param origin of the storage service, unless a setting says it: `https://example.org`
   * @throws StorageError when the caller may not upload it
   */
  readonly put: (caller: Identity, image: Uint8Array, origin: string) => Promise<KeptImage>
  /** Creates the object, in a transaction of the caller. */
  readonly insert: (query: RunQuery, image: KeptImage) => Promise<void>
  /** Removes the bytes of images that have become no objects. */
  readonly discard: (images: readonly KeptImage[]) => void
}
