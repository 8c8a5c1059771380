// Errors in the configuration.

export type ConfigFault = {
  /** Where the value is set: `PGRST_DB_POOL`, `db-pool in rowhouse.conf`, `pgrst.db_pool in the database`. */
  readonly source: string
  /** Never contains a secret. */
  readonly message: string
}

/** Lists every invalid value, one per line. */
export class ConfigError extends Error {
  readonly faults: readonly ConfigFault[]

  constructor(faults: readonly ConfigFault[]) {
    super(['Error in config', ...faults.map(({ source, message }) => `  ${source}: ${message}`)].join('\n'))
    this.name = 'ConfigError'
    this.faults = faults
  }
}
