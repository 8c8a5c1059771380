// Settings of the pool, in a separate file, so that the package's type declarations do not need those of `pg`.

export type PoolSettings = {
  /** Maximum number of connections. */
  readonly dbPool: number
  /** Seconds to wait for a connection before the request fails. */
  readonly dbPoolAcquisitionTimeout: number
  /** Seconds after which an unused connection is closed. */
  readonly dbPoolMaxIdletime: number
  /** Seconds after which a connection is closed, as soon as it is idle. */
  readonly dbPoolMaxLifetime: number
  /** Additional connections for `withReservedConnection`; by default none. */
  readonly dbPoolReserve?: number
  /** Bytes of memory for responses to slow readers, while requests wait for their connections. */
  readonly dbPoolSpillMemory?: number
  /** The same in temporary files. */
  readonly dbPoolSpillDisk?: number
  /** Milliseconds that requests may be expected to wait for a connection before further ones are refused; 0: no limit. */
  readonly loadSheddingWait?: number
}

/** Defaults: PostgREST's, and ours for the settings that PostgREST does not have. */
export const defaultPoolSettings: Required<PoolSettings> = {
  dbPool: 10,
  dbPoolAcquisitionTimeout: 10,
  dbPoolMaxIdletime: 30,
  dbPoolMaxLifetime: 1800,
  dbPoolReserve: 2,
  dbPoolSpillMemory: 32 * 1024 * 1024,
  dbPoolSpillDisk: 1024 ** 3,
  loadSheddingWait: 250,
}
