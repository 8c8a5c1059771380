// What the console needs of the command line, which is passed in: services import nothing of the tools.
import type { DatabaseTools } from './database-tools.ts'
import type { Overview } from './protocol.ts'

export type ConsoleTools = DatabaseTools & {
  /** The keys of the development mode, from the data folder; null if it has none. */
  readonly developmentKeys: (dataDir: string) => Promise<Overview['keys']>
  /** Number of files with policy tests in the project. */
  readonly countPolicyTests: () => Promise<number>
}
