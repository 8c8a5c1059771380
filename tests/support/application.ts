// The whole service as `rowhouse serve` runs it, on a database of the test.
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { loadConfig } from '../../server/config/load.ts'
import { type Environment } from '../../server/config/config-sources.ts'
import { createLog } from '../../server/running/operations/log.ts'
import { startService, type Service, type ServiceOptions } from '../../server/running/service.ts'
import { HashProcesses } from '../../server/services/accounts/hash-processes.ts'
import { serveTools } from '../../server/tools/serve-tools.ts'
import { caller, type Call } from './call.ts'
import { listen } from './listening.ts'
import { rememberHashes } from './remembered-hashes.ts'

export const jwtSecret = 'a secret for tests, of more than 32 characters'

const processes = new HashProcesses()
const passwordHasher = rememberHashes({
  hash: (password) => processes.hash(password),
  verify: (passwordHash, password) => processes.verify(passwordHash, password),
})

export type Application = {
  readonly url: string
  readonly call: Call
  readonly service: Service
  /** The log lines so far. */
  readonly logged: () => readonly Record<string, unknown>[]
  /** Changes variables of the environment, and reloads the settings. Undefined removes a variable. */
  readonly reload: (changes: Environment) => Promise<void>
}

/**
 * Starts the service for the duration of a test, and waits until the schema cache is loaded, or could not be loaded for three seconds.
 *
 * @param uri connection string of the serving role
 * @param env settings, such as `PGRST_DB_SCHEMAS`
 * @param options with `passwordHasher: undefined`, the service hashes passwords as `rowhouse serve` does
 */
export async function startApplication(
  t: Pick<Test, 'teardown'>,
  uri: string,
  env: Environment = {},
  options: Pick<ServiceOptions, 'encodesRows' | 'passwordHasher'> = {},
): Promise<Application> {
  const environment: Record<string, string | undefined> = {
    PGRST_JWT_SECRET: jwtSecret,
    DATABASE_URL: uri,
    // Clients in the same process make its event loop late, which would be taken for an overload.
    LOAD_SHEDDING_WAIT: '0',
    ...env,
  }
  const loaded = loadConfig({ env: environment })
  const written: string[] = []
  const log = createLog({ level: loaded.config.logLevel, destination: { write: (line) => void written.push(line) } })
  const service = await startService({
    env: environment,
    configFile: undefined,
    loaded,
    uri,
    log,
    explain: serveTools.explain,
    preview: serveTools.preview,
    console: serveTools.console,
    passwordHasher,
    ...options,
  })
  t.teardown(() => service.stop())
  // On a loaded machine the first attempt to load the schema cache may take long. If it fails, the next one follows after a
  // second.
  const hasFailed = (): boolean => written.some((line) => /"(?:schema-cache-failed|database-lost|gave-up)"/.test(line))
  for (let time = 0; service.engine.isPending && time < (hasFailed() ? 300 : 3000); time++) await pause(10)
  const url = await listen(t, service.listener, service.upgrade)
  return {
    url,
    call: caller(url),
    service,
    reload: async (changes) => {
      Object.assign(environment, changes)
      await service.engine.reloadSettings()
    },
    logged: () => written.map((line) => JSON.parse(line) as Record<string, unknown>),
  }
}
