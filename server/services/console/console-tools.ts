// What the console needs of the command line, which is passed in: services import nothing of the tools.
import type { DatabaseTools } from './database-tools.ts'
import type { Database } from '../../postgres/database.ts'
import type { ConsoleConfig } from './console-config.ts'
import type { OperationTools } from './operation-tools.ts'
import type { Overview } from './protocol.ts'

export type ConsoleTools = DatabaseTools & {
  readonly operations: OperationTools
  /** The keys of the development mode, from the data folder; null if it has none. */
  readonly developmentKeys: (dataDir: string) => Promise<Overview['keys']>
  /** Number of files with policy tests in the project. */
  readonly countPolicyTests: () => Promise<number>
  /**
   * TypeScript types of the schemas.
   *
   * @throws PostgreSQL's error 3F000 when a schema does not exist
   */
  readonly types: (
    database: Pick<Database, 'read'>,
    config: ConsoleConfig,
    schemas: readonly string[],
  ) => Promise<string>
}
