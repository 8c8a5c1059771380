// The port to the bytes of objects, which a folder or an S3 server keeps.
import type { Readable } from 'node:stream'

/** Where the bytes of one version of an object are: each version is written once and never changed. */
export type ObjectKey = {
  readonly bucket: string
  readonly name: string
  /** The column `version`. The server creates a new UUID for each upload; rows of other origin may have any text. */
  readonly version: string
}

export type StoredBytes = {
  readonly size: number
  /** MD5 in hex, in double quotes. */
  readonly eTag: string
  readonly lastModified: Date
}

export type PutOptions = {
  readonly contentType: string
  readonly cacheControl: string
  /** A larger source is rejected with `TooManyBytesError`. */
  readonly maxBytes: number
  readonly signal?: AbortSignal
}

/** The first and last byte of a part, both included. */
export type ByteRange = { readonly start: number; readonly end: number }

/** Bytes as the sweep sees them. */
export type ListedBytes = {
  /** What the store calls them, as `idOf` returns it. */
  readonly id: string
  readonly version: string
  readonly lastModified: Date
}

export type ObjectStore = {
  /**
   * Writes a version; resolves when it is durable. If the source fails or the signal aborts, nothing is kept.
   *
   * @throws TooManyBytesError, NoSpaceError; the error of the source, or the reason of the signal
   */
  put(key: ObjectKey, source: Readable, options: PutOptions): Promise<StoredBytes>
  /**
   * Opens a version, or a part of it. The range must be within the version.
   *
   * @throws MissingBytesError
   */
  get(key: ObjectKey, range?: ByteRange, signal?: AbortSignal): Promise<Readable>
  /**
   * Reads a small version at once, faster than by `get`. Undefined if the store has no faster way.
   *
   * @param size bytes of the version
   * @throws MissingBytesError, also when it has fewer bytes
   */
  readonly getWhole?: (key: ObjectKey, size: number) => Promise<Buffer>
  /**
   * Joins versions to a new one, faster than by reading and writing them. Undefined if the store has no faster way.
   *
   * @throws MissingBytesError, TooManyBytesError; the reason of the signal
   */
  readonly compose?: (parts: readonly ObjectKey[], to: ObjectKey, options: PutOptions) => Promise<StoredBytes>
  /** @throws MissingBytesError */
  copy(from: ObjectKey, to: ObjectKey): Promise<StoredBytes>
  /** Removes versions; those that are missing are no error. */
  remove(keys: readonly ObjectKey[]): Promise<void>
  /** All versions in the store, for the sweep. */
  list(): AsyncIterable<ListedBytes>
  /** What `list` calls the bytes of a key. */
  idOf(key: ObjectKey): string
  /** Removes what `list` has found; bytes that are missing are no error. */
  removeListed(ids: readonly string[]): Promise<void>
  /** Removes what interrupted uploads have left behind, if it was last written before this time. */
  removeRemnants(before: Date): Promise<void>
  /**
   * Marks the store as that of a database, unless it has a mark already. A sweep for another database would remove
   * everything.
   *
   * @param database identifies it
   * @returns whether the store has the mark of this database
   */
  claim(database: string): Promise<boolean>
  close(): Promise<void>
}

/** The store has no bytes of this version. */
export class MissingBytesError extends Error {
  constructor(options?: ErrorOptions) {
    super('the store has no bytes of this version', options)
    this.name = 'MissingBytesError'
  }
}

/** An upload has more bytes than allowed. */
export class TooManyBytesError extends Error {
  constructor() {
    super('the upload has more bytes than allowed')
    this.name = 'TooManyBytesError'
  }
}

/** The store is full. */
export class NoSpaceError extends Error {
  constructor(options?: ErrorOptions) {
    super('the store has no space left', options)
    this.name = 'NoSpaceError'
  }
}

/** The store failed: its disk or its server. The message is for the log. */
export class StoreError extends Error {
  constructor(options?: ErrorOptions) {
    const { cause } = options ?? {}
    super(`the store of objects failed: ${cause instanceof Error ? cause.message : 'unknown'}`, options)
    this.name = 'StoreError'
  }
}
