// A service on a database: the runtime and the routes on it, without a port of its own.
import type { RequestListener } from 'node:http'
import express from 'express'
import { accountsRouter } from './accounts/accounts-router.ts'
import { createApp, type Handler } from './app.ts'
import type { RoleSettings } from './config/config.ts'
import { readDatabaseSettings, readRoleSettings } from './config/database-settings.ts'
import { loadConfig, withDatabaseSettings, type Environment, type LoadedConfig } from './config/load.ts'
import { toPoolConfig } from './config/pool-config.ts'
import { Listener } from './database/listener.ts'
import { createPool } from './database/pool.ts'
import { queryOn, transactionOn } from './database/transaction.ts'
import { createApiKeyLookup } from './identity/api-key-lookup.ts'
import { createJwtVerifier, type JwtVerifier } from './identity/jwt.ts'
import { docsRouter } from './openapi/docs.ts'
import { serviceDocumentHandler } from './openapi/service-document.ts'
import { health, ready } from './operations/health.ts'
import type { Log } from './operations/log.ts'
import { createMetrics, type Metrics } from './operations/metrics.ts'
import { observeRest, observeRuntime } from './operations/observer.ts'
import { createRestHandler } from './rest/handler.ts'
import { reportRouter } from './report/report-router.ts'
import { readOnly, Runtime, type Snapshot } from './runtime.ts'
import { readSchemas } from './validation/schema-directory.ts'
import { createValidator, ownSchemas } from './validation/validator.ts'
import { version } from './version.ts'

export type ServiceOptions = {
  readonly env: Environment
  readonly configFile: string | undefined
  /** Settings from environment and file. */
  readonly loaded: LoadedConfig
  /** Connection string of the role that serves. */
  readonly uri: string
  readonly log: Log
}

export type Service = {
  readonly listener: RequestListener
  readonly runtime: Runtime
  readonly metrics: Metrics
  readonly stop: () => Promise<void>
}

const noRoleSettings: RoleSettings = { settings: new Map(), isolationLevels: new Map() }

/** Connects, loads settings and schema once (retrying in the background when that fails), and composes the routes. */
export async function startService({ env, configFile, loaded, uri, log }: ServiceOptions): Promise<Service> {
  const pool = createPool(toPoolConfig(uri, env), loaded.config)
  let verifier: JwtVerifier = createJwtVerifier(loaded.config)
  const readConfig = async (): Promise<Omit<Snapshot, 'cache'>> => {
    let current = loadConfig({ env, file: configFile, previous: loaded })
    let roleSettings = noRoleSettings
    if (current.config.dbConfig) {
      const [rows, roles] = await readOnly(pool, async (query) => [
        await readDatabaseSettings(query, current.config.dbPreConfig),
        await readRoleSettings(query),
      ])
      current = withDatabaseSettings(current, rows)
      roleSettings = roles
    }
    verifier = createJwtVerifier(current.config, verifier)
    log.setLevel(current.config.logLevel)
    return { config: current.config, roleSettings, verifier }
  }
  const metrics = createMetrics({
    pool,
    poolSize: loaded.config.dbPool,
    jwtCache: () => verifier.cacheStatistics,
    timesRequests: loaded.config.adminServerPort !== null || loaded.config.adminServerUnixSocket !== null,
  })
  const initial = { config: loaded.config, roleSettings: noRoleSettings, verifier }
  const runtime = new Runtime(pool, initial, readConfig, observeRuntime(log, metrics))
  await runtime.reloadConfig()
  await runtime.reloadSchema()
  const channel = await startChannel(uri, env, runtime, log)
  return {
    listener: await compose(runtime, log, metrics),
    runtime,
    metrics,
    stop: async () => {
      await channel?.stop()
      await runtime.stop()
    },
  }
}

async function compose(runtime: Runtime, log: Log, metrics: Metrics): Promise<RequestListener> {
  const { pool, snapshot } = runtime
  const { config } = snapshot
  const validator = await createValidator()
  const query = queryOn(pool)
  const lookupApiKey = createApiKeyLookup({ query })
  const shared = {
    query,
    sessionSecrets: config.sessionSecrets,
    secureCookies: config.secureCookies,
    validator,
    bodyLimit: config.bodyLimit,
    allowedOrigins: () => runtime.snapshot.config.serverCorsAllowedOrigins,
    onError: (error: unknown) => log.write({ kind: 'failure', error, requestId: null }),
  }
  const services: [string, Handler | ReturnType<typeof reportRouter>][] = [
    ['health', health()],
    [
      'ready',
      ready({
        database: async () => (await query('select 1', [])).length === 1,
        schemaCache: () => runtime.snapshot.cache !== undefined,
      }),
    ],
    [
      'auth',
      accountsRouter({
        ...shared,
        accountLimit: config.authAccountLimit,
        addressLimit: config.authAddressLimit,
        trustedProxies: config.trustedProxies,
        tokens: () => runtime.snapshot.config,
      }),
    ],
    ['report', reportRouter({ ...shared, transaction: transactionOn(pool) })],
    // An application of its own: serving files takes more of Express than its router.
    [
      'docs',
      express()
        .disable('x-powered-by')
        .use(docsRouter({ documentUrl: '/openapi.json' })),
    ],
    [
      'openapi.json',
      serviceDocumentHandler({ runtime, lookupApiKey, schemas: await readSchemas(ownSchemas), version }),
    ],
  ]
  return createApp({
    rest: createRestHandler({ runtime, validator, lookupApiKey, observe: observeRest(log, metrics) }),
    restBasePath: config.restBasePath,
    services: new Map(services),
    log,
  })
}

/** Listens for NOTIFY, where `db-channel-enabled` has it so. */
async function startChannel(uri: string, env: Environment, runtime: Runtime, log: Log): Promise<Listener | undefined> {
  const { dbChannelEnabled, dbChannel } = runtime.snapshot.config
  if (!dbChannelEnabled) return undefined
  let missed = false
  const channel = new Listener(toPoolConfig(uri, env, 'read-write'), dbChannel, (event) => {
    switch (event.kind) {
      case 'lost':
        missed = true
        log.write({
          kind: 'channel-lost',
          channel: event.channel,
          error: event.error,
          retryInSeconds: event.retrySeconds,
        })
        return
      case 'listening':
        log.write({ kind: 'channel-listening', channel: event.channel })
        // What was notified in between is not known.
        if (missed) void runtime.reloadSchema()
        missed = false
        return
      case 'notified':
        for (const reload of ['schema', 'config'] as const) {
          if (event.payload !== '' && event.payload !== `reload ${reload}`) continue
          log.write({ kind: 'channel-message', channel: event.channel, reload })
          void (reload === 'schema' ? runtime.reloadSchema() : runtime.reloadConfig())
        }
        return
      default:
        event satisfies never
    }
  })
  await channel.start()
  return channel
}
