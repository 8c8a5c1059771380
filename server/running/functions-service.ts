// The service at `/functions/v1`.
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/config-sources.ts'
import { findFunctions } from '../config/project.ts'
import { createFunctions, type FunctionsOptions } from '../services/functions/create-functions.ts'
import type { FunctionsService } from '../services/functions/functions-service.ts'
import { embeddedVariable } from './embedded-environment.ts'
import { functionKeys } from './function-keys.ts'
import { workerIndex } from './workers.ts'

export type ProgramFunctionsOptions = Pick<
  FunctionsOptions,
  'verifier' | 'lookupApiKey' | 'database' | 'checksSessions' | 'allowedOrigins' | 'onLog' | 'onError' | 'warn'
> & {
  /** The settings at the start. */
  readonly config: Config
  readonly current: () => Config
  readonly env: Environment
  readonly isDevelopment: boolean
}

export function startFunctionsService({
  config,
  current,
  env,
  isDevelopment,
  ...options
}: ProgramFunctionsOptions): FunctionsService {
  const workingFolder = process.cwd()
  const isEmbedded = env[embeddedVariable] !== undefined
  const keys = functionKeys({ current, verifier: options.verifier, isEmbedded })
  return createFunctions({
    ...options,
    settings: current,
    trustedProxies: config.trustedProxies,
    processes: workerIndex() === undefined ? 1 : config.serverWorkers,
    findFolder: () => findFunctions(current().functionsDir, workingFolder),
    workingFolder,
    env,
    followsChanges: isDevelopment,
    variables: async () => ({
      ...(await keys()),
      url: publicUrl(current()),
      databaseUrl: databaseUrl(current(), isEmbedded),
    }),
  })
}

/** The URL of this server for functions. */
function publicUrl({ functionsPublicUrl, apiExternalUrl, serverHost, serverPort }: Config): string {
  const url = functionsPublicUrl ?? apiExternalUrl?.replace(/\/auth\/v1\/?$/, '')
  return (url ?? `http://${ownHost(serverHost)}:${serverPort}`).replace(/\/+$/, '')
}

/** A host by which this machine reaches the server. `!4`, `*6` and others stand for all addresses. */
const ownHost = (host: string): string => {
  if (/^[!*]/.test(host) || host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

/** With the embedded database, functions own the schemas, as on Supabase. Others get the login of the settings only. */
const databaseUrl = ({ functionsDatabaseUrl, migrationDatabaseUrl }: Config, isEmbedded: boolean): string | undefined =>
  functionsDatabaseUrl ?? (isEmbedded ? (migrationDatabaseUrl ?? undefined) : undefined)
