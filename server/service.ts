// A service on a database: the runtime and the routes on it, without a port of its own.
import type { RequestListener } from 'node:http'
import { accountsRouter } from './accounts/accounts-router.ts'
import { createApp } from './app.ts'
import type { RoleSettings } from './config/config.ts'
import { readDatabaseSettings, readRoleSettings } from './config/database-settings.ts'
import { loadConfig, withDatabaseSettings, type Environment, type LoadedConfig } from './config/load.ts'
import { toPoolConfig } from './config/pool-config.ts'
import { Listener } from './database/listener.ts'
import { createPool } from './database/pool.ts'
import { queryOn, transactionOn } from './database/transaction.ts'
import { createApiKeyLookup } from './identity/api-key-lookup.ts'
import { createJwtVerifier, type JwtVerifier } from './identity/jwt.ts'
import { createRestHandler } from './rest/handler.ts'
import { reportRouter } from './report/report-router.ts'
import { readOnly, Runtime, type Snapshot } from './runtime.ts'
import { createValidator } from './validation/validator.ts'

export type ServiceOptions = {
  readonly env: Environment
  readonly configFile: string | undefined
  /** Settings from environment and file. */
  readonly loaded: LoadedConfig
  /** Connection string of the role that serves. */
  readonly uri: string
}

export type Service = {
  readonly listener: RequestListener
  readonly runtime: Runtime
  readonly stop: () => Promise<void>
}

const noRoleSettings: RoleSettings = { settings: new Map(), isolationLevels: new Map() }

/** Connects, loads settings and schema once (retrying in the background when that fails), and composes the routes. */
export async function startService({ env, configFile, loaded, uri }: ServiceOptions): Promise<Service> {
  const pool = createPool(toPoolConfig(uri, env), loaded.config)
  let verifier: JwtVerifier | undefined
  const readConfig = async (): Promise<Omit<Snapshot, 'cache'>> => {
    let current = loadConfig({ env, file: configFile, previous: loaded })
    let roleSettings = noRoleSettings
    if (current.config.dbConfig) {
      const [rows, roles] = await readOnly(pool, '', async (query) => [
        await readDatabaseSettings(query, current.config.dbPreConfig),
        await readRoleSettings(query),
      ])
      current = withDatabaseSettings(current, rows)
      roleSettings = roles
    }
    verifier = createJwtVerifier(current.config, verifier)
    return { config: current.config, roleSettings, verifier }
  }
  const initial = { config: loaded.config, roleSettings: noRoleSettings, verifier: createJwtVerifier(loaded.config) }
  verifier = initial.verifier
  const runtime = new Runtime(pool, initial, readConfig, () => undefined)
  await runtime.reloadConfig()
  await runtime.reloadSchema()
  const { config } = runtime.snapshot
  const validator = await createValidator()
  const query = queryOn(pool)
  const sessions = { query, sessionSecrets: config.sessionSecrets, secureCookies: config.secureCookies }
  const shared = { ...sessions, validator, bodyLimit: config.bodyLimit, onError: () => undefined }
  const rest = createRestHandler({
    runtime,
    validator,
    lookupApiKey: createApiKeyLookup({ query }),
    observe: () => undefined,
  })
  const listener = createApp({
    rest,
    restBasePath: config.restBasePath,
    services: new Map([
      ['auth', accountsRouter(shared)],
      ['report', reportRouter({ ...shared, transaction: transactionOn(pool) })],
    ]),
  })
  let channel: Listener | undefined
  if (config.dbChannelEnabled) {
    let missed = false
    channel = new Listener(toPoolConfig(uri, env, 'read-write'), config.dbChannel, (event) => {
      switch (event.kind) {
        case 'lost':
          missed = true
          return
        case 'listening':
          // What was notified in between is not known.
          if (missed) void runtime.reloadSchema()
          missed = false
          return
        case 'notified':
          if (event.payload === '' || event.payload === 'reload schema') void runtime.reloadSchema()
          if (event.payload === '' || event.payload === 'reload config') void runtime.reloadConfig()
          return
        default:
          event satisfies never
      }
    })
    await channel.start()
  }
  return {
    listener,
    runtime,
    stop: async () => {
      await channel?.stop()
      await runtime.stop()
    },
  }
}
