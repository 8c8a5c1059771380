// What the console shows of the command line: the same functions.
import { join } from 'node:path'
import { keysFile, readDevelopmentKeys } from '../../running/development-keys-file.ts'
import type { ServiceName } from '../../config/config.ts'
import type { ConsoleToolsOptions } from '../../running/serve-tools.ts'
import type { ConsoleTools } from '../../services/console/console-tools.ts'
import { CheckProcess } from './check-process.ts'
import { createDatabaseTools } from './database-tools.ts'
import { createOperationTools } from './operation-tools.ts'

export function createConsoleTools(options: ConsoleToolsOptions): ConsoleTools {
  const { env, configFile, uri, isDevelopment } = options
  const checks = new CheckProcess(options)
  const tools = createDatabaseTools(options, checks)
  return {
    ...tools,
    operations: createOperationTools({
      env,
      configFile,
      uri,
      isDevelopment,
      slowPolicies: () => checks.slowPolicies(),
      get config() {
        return options.config()
      },
    }),
    developmentKeys: async (dataDir) => {
      const keys = await readDevelopmentKeys(join(dataDir, keysFile))
      return keys && { publishable: keys.publishableKey, secret: keys.secretKey, user: keys.user.key }
    },
    countPolicyTests: async () => (await tools.policyTests()).files.length,
    types: async (database, config, schemas) => {
      const { readWithin } = await import('../types/catalogue.ts')
      const { databaseTypes } = await import('../types/database-types.ts')
      const { readUsedSchemas } = await import('../../running/schema-files.ts')
      // The settings of a server name no other services.
      const files = await readUsedSchemas({ ...config, services: config.services as readonly ServiceName[] })
      const scope = { schemas, extraSearchPath: config.dbExtraSearchPath }
      return databaseTypes(await database.read((query) => readWithin(query, scope)), files)
    },
  }
}
