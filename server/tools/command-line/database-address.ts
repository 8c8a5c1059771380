// How a command reaches its database.
import type { Environment } from '../../config/config-sources.ts'

/** Where a database is, and how to connect to it. */
export type DatabaseAddress = {
  readonly uri: string
  /** Variables for options that are missing in the connection string (`PGHOST`, …). */
  readonly env: Environment
  readonly isEmbedded: boolean
}
