// What the tools share.
import type { Database } from '../../postgres/database.ts'
import type { Answering } from '../../rest/rest-request.ts'
import type { LoadedSettings, Snapshot } from '../../rest/snapshot.ts'
import type { ConsoleTools } from '../console/console-tools.ts'
import type { Limits } from '../limits.ts'
import type { McpSettings } from './settings.ts'

/** The settings that the service reads. */
export type McpConfig = McpSettings & {
  readonly restBasePath: string
  readonly dbSchemas: readonly string[]
  /** Roles that may have their requests explained. */
  readonly explainRoles: readonly string[]
  readonly apiExternalUrl: string | null
  /** Maximum bytes of a body. */
  readonly bodyLimit: number
}

export type McpSnapshot = Snapshot<
  Omit<LoadedSettings, 'config'> & { readonly config: LoadedSettings['config'] & McpConfig }
>

export type McpParts = {
  readonly database: Pick<Database, 'transaction' | 'read' | 'query'>
  /** The current settings and schema cache. */
  readonly snapshot: () => McpSnapshot
  /** The engine, which also explains requests for the roles of the setting. */
  readonly engine: Answering
  /** Answers requests as the engine, and undoes them. */
  readonly preview: () => Promise<Answering>
  /** What the command line can do, loaded when it is needed. */
  readonly consoleTools: () => Promise<ConsoleTools>
  readonly limits: Limits
  /** Whether the tools may write files of the project and run its tests: on its embedded database, and not with NODE_ENV=production. */
  readonly isDevelopment: boolean
}
