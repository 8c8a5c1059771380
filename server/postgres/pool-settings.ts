// Settings of the pool. A file of its own, so that the package's declarations do not need those of `pg`.

export type PoolSettings = {
  /** Maximum number of connections. */
  readonly dbPool: number
  /** Seconds to wait for a connection before the request fails. */
  readonly dbPoolAcquisitionTimeout: number
  /** Seconds after which an unused connection is closed. */
  readonly dbPoolMaxIdletime: number
  /** Seconds after which a connection is closed, however busy. */
  readonly dbPoolMaxLifetime: number
  /** Further connections for `withReservedConnection`; none when left out. */
  readonly dbPoolReserve?: number
  /** Bytes of memory for answers whose readers are slow, while requests wait for their connections. */
  readonly dbPoolSpillMemory?: number
  /** The same in temporary files. */
  readonly dbPoolSpillDisk?: number
}

/** PostgREST's defaults, and those of the pool's own settings. */
export const defaultPoolSettings: Required<PoolSettings> = {
  dbPool: 10,
  dbPoolAcquisitionTimeout: 10,
  dbPoolMaxIdletime: 30,
  dbPoolMaxLifetime: 1800,
  dbPoolReserve: 2,
  dbPoolSpillMemory: 32 * 1024 * 1024,
  dbPoolSpillDisk: 1024 ** 3,
}
