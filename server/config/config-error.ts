// Errors in the configuration.

export type ConfigProblem = {
  /** Where the value is set: `PGRST_DB_POOL`, `db-pool in rowhouse.conf`, `pgrst.db_pool in the database`. */
  readonly source: string
  /** Never contains a secret. */
  readonly message: string
}

/** Lists every invalid value, one per line. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[]) {
    super(['Error in config', ...problems.map(({ source, message }) => `  ${source}: ${message}`)].join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}
