// The service at `/mcp`.
import { lazy } from '../common/lazy.ts'
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/config-sources.ts'
import { signsIn } from '../config/signing-in.ts'
import { databaseLimits } from '../services/limits.ts'
import { createMcp, type McpOptions, type McpService } from '../services/mcp/create-mcp.ts'
import { readUsedSchemas } from './schema-files.ts'

export type ProgramMcpOptions = Omit<McpOptions, 'limits' | 'readSchemas' | 'resource' | 'database'> & {
  readonly database: McpOptions['database'] & { readonly query: Parameters<typeof databaseLimits>[0] }
  /** The settings at the start. */
  readonly config: Config
  readonly current: () => Config
  readonly env: Environment
  readonly warn: (message: string) => void
}

export function startMcp({ config, current, env, warn, ...options }: ProgramMcpOptions): McpService {
  return createMcp({
    ...options,
    preview: lazy(options.preview),
    consoleTools: lazy(options.consoleTools),
    isDevelopment: options.isDevelopment && env.NODE_ENV !== 'production',
    limits: databaseLimits(options.database.query, warn),
    readSchemas: () => readUsedSchemas(config),
    resource: () => ({
      apiExternalUrl: current().apiExternalUrl,
      grantsAccess: signsIn(config.services) && current().authOAuthServerEnabled,
      ownOrigin: `http://localhost:${config.serverPort}`,
    }),
  })
}
