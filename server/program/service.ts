// A service on a database: the runtime and the routes on it, without a port of its own.
import type { RequestListener } from 'node:http'
import express from 'express'
import { accountsRouter } from '../services/accounts/accounts-router.ts'
import { cookieIdentity } from '../services/accounts/cookie-identity.ts'
import { requireBearerScheme } from '../http/authorization-scheme.ts'
import { errorResponder } from '../http/envelope.ts'
import { createApp, type Handler } from './app.ts'
import type { Environment, LoadedConfig } from '../config/load.ts'
import { listensOnLoopback } from '../config/loopback.ts'
import { toPoolConfig } from './connection-setting.ts'
import { Database } from '../postgres/database.ts'
import { createPool } from '../postgres/pool.ts'
import { ApiKeyChanges } from '../identity/api-key/api-key-changes.ts'
import { createApiKeyLookup } from '../identity/api-key/api-key-lookup.ts'
import { createJwtVerifier } from '../identity/jwt/jwt.ts'
import type { UpgradeHandler } from '../http/upgrade.ts'
import { liveSettings } from './live-settings.ts'
import { docsRouter } from '../services/openapi/docs.ts'
import { serviceDocumentHandler } from '../services/openapi/service-document.ts'
import { withCors } from '../http/cors.ts'
import { home } from './operations/home.ts'
import { health, ready } from './operations/health.ts'
import type { Log } from './operations/log.ts'
import { createMetrics, type Metrics } from './operations/metrics.ts'
import { logConnections, logJwtCache, observeRest, observeRuntime } from './operations/observer.ts'
import { ReloadChannel } from './reload-channel.ts'
import { nodeHandler } from '../adapters/node.ts'
import { authenticate } from '../identity/authenticate.ts'
import { RestHandler } from '../rest/handler.ts'
import { databaseFailure } from '../services/database-failure.ts'
import { reportRouter } from '../services/report/report-router.ts'
import { Runtime } from './runtime.ts'
import { createAnalysis, type AnalysisService } from '../services/analysis/analysis.ts'
import { entrypoint } from '../services/analysis/description.ts'
import { readSchemas } from '../validation/schema-directory.ts'
import { createValidator, ownSchemas } from '../validation/validator.ts'
import { version } from '../common/version.ts'

export type ServiceOptions = {
  readonly env: Environment
  readonly configFile: string | undefined
  /** Settings from environment and file. */
  readonly loaded: LoadedConfig
  /** Connection string of the role that serves. */
  readonly uri: string
  readonly log: Log
  readonly beforeLoading?: (parts: ServiceParts) => Promise<void>
}

/** What there is of a service before it can answer. */
export type ServiceParts = {
  readonly runtime: Runtime
  readonly metrics: Metrics
  /** Whether the schema cache is there, and so is the database. */
  readonly isReady: () => Promise<boolean>
  readonly stop: () => Promise<void>
}

export type Service = ServiceParts & {
  readonly listener: RequestListener
  readonly upgrade: UpgradeHandler
  /** Tells clients whose connections have no requests that the server ends. */
  readonly closeSockets: () => void
}

/**
 * Connects, loads settings and schema once (retrying in the background when that fails), and composes the routes.
 *
 * @param options.beforeLoading is called when the service can tell how it is, but cannot answer yet
 * @throws the database's error, when it is of no use to try again
 */
export async function startService({
  env,
  configFile,
  loaded,
  uri,
  log,
  beforeLoading,
}: ServiceOptions): Promise<Service> {
  const database = new Database(createPool(toPoolConfig(uri, env), loaded.config), {
    usage: () => {
      const { dbPreparedStatements: prepare, dbPoolSharing: sharing } = runtime.snapshot.config
      return { prepare, sharing }
    },
    primary: toPoolConfig(uri, env, 'read-write'),
  })
  logConnections(database.events, log)
  const settings = liveSettings({
    env,
    configFile,
    loaded,
    database,
    onWarning: (message) => log.write({ kind: 'warning', message }),
    createVerifier: (config, previous) => createJwtVerifier(config, previous, logJwtCache(log)),
  })
  const metrics = createMetrics({
    database: () => database.statistics,
    poolSize: loaded.config.dbPool,
    jwtCache: () => runtime.snapshot.verifier.cacheStatistics,
    timesRequests: loaded.config.adminServerPort !== null || loaded.config.adminServerUnixSocket !== null,
  })
  const observe = observeRuntime(log, metrics, loaded.config.dbPool)
  const runtime: Runtime = new Runtime(database, settings.initial, settings.read, (event) => {
    if (event.kind === 'config reloaded') {
      log.setLevel(event.config.logLevel)
      void channel.follow(event.config)
    }
    observe(event)
  })
  const keyChanges = new ApiKeyChanges()
  const channel = new ReloadChannel(database, runtime, log, keyChanges)
  const isConnected = async (): Promise<boolean> => {
    if (runtime.snapshot.config.dbChannelEnabled) return channel.isOn
    return database.query('select 1', []).then(
      (rows) => rows.length === 1,
      () => false,
    )
  }
  const parts = {
    runtime,
    metrics,
    isReady: async () => !runtime.isPending && (await isConnected()),
    stop: async () => {
      await channel.stop()
      await runtime.stop()
    },
  }
  try {
    await beforeLoading?.(parts)
    // First, so that no change of the schema goes unheard.
    await channel.follow(loaded.config)
    await runtime.reloadSchema()
    const error = await Promise.race([runtime.gaveUp, Promise.resolve(undefined)])
    if (error) throw error
    const { listener, analysis } = await compose(runtime, log, metrics, keyChanges)
    metrics.watchAnalysisQueue(analysis.queueLength)
    return {
      ...parts,
      listener,
      upgrade: analysis.upgrade,
      closeSockets: analysis.closeSockets,
      stop: async () => {
        analysis.stop()
        await parts.stop()
      },
    }
  } catch (error) {
    await parts.stop()
    throw error
  }
}

async function compose(
  runtime: Runtime,
  log: Log,
  metrics: Metrics,
  keyChanges: ApiKeyChanges,
): Promise<{ readonly listener: RequestListener; readonly analysis: AnalysisService }> {
  const { database, snapshot } = runtime
  const { config } = snapshot
  const validator = await createValidator()
  const { query } = database
  const lookupApiKey = createApiKeyLookup({ query, changes: keyChanges })
  const shared = {
    database,
    query,
    sessionSecrets: config.sessionSecrets,
    secureCookies: config.secureCookies ?? !listensOnLoopback(config),
    validator,
    bodyLimit: config.bodyLimit,
    allowedOrigins: () => runtime.snapshot.config.serverCorsAllowedOrigins,
    onError: (error: unknown) => log.write({ kind: 'failure', error, requestId: null }),
  }
  const refusingSchemes = (handler: express.Router | Handler): express.Router =>
    express.Router().use(requireBearerScheme, handler, errorResponder(shared.onError, databaseFailure))
  const openapi = refusingSchemes(
    withCors(
      serviceDocumentHandler({
        snapshot: () => runtime.snapshot,
        query,
        database,
        lookupApiKey,
        cookieIdentity: (request) => cookieIdentity(request, shared),
        schemas: await readSchemas(ownSchemas),
        version,
      }),
      shared.allowedOrigins,
    ),
  )
  // An application of its own: serving files takes more of Express than its router.
  const docs = express()
    .disable('x-powered-by')
    .use(docsRouter({ documentUrl: '/openapi.json' }))
  const analysis = createAnalysis({
    config,
    caller: {
      ...shared,
      lookupApiKey,
      verifier: () => runtime.snapshot.verifier,
      anonymousRole: () => runtime.snapshot.config.dbAnonRole,
      checksSessions: () => runtime.snapshot.cache?.checksSessions === true,
    },
    database,
    runValidator: validator.forTable('public', 'classification_runs'),
    documentation: { docs, document: openapi },
    observer: { ...metrics.analysis, warned: (message) => log.write({ kind: 'warning', message }) },
    onError: shared.onError,
  })
  const analysisAtRoot = config.imageBasePath === '/'
  const services: (readonly [string, Handler | express.Router])[] = [
    // At the root, the image analysis has this path, too, and says more.
    ...(analysisAtRoot ? [] : [['health', withCors(health(), shared.allowedOrigins)] as const]),
    [
      'ready',
      withCors(
        ready({
          database: async () => (await query('select 1', [])).length === 1,
          schemaCache: () => runtime.snapshot.cache !== undefined,
        }),
        shared.allowedOrigins,
      ),
    ],
    [
      'auth',
      refusingSchemes(
        accountsRouter({
          ...shared,
          accountLimit: config.authAccountLimit,
          accountTotalLimit: config.authAccountTotalLimit,
          addressLimit: config.authAddressLimit,
          trustedProxies: config.trustedProxies,
          tokens: () => runtime.snapshot.config,
        }),
      ),
    ],
    ['report', refusingSchemes(reportRouter(shared))],
    ['docs', docs],
    ['openapi.json', openapi],
    // The name of the original service.
    ['docs-json', openapi],
  ]
  const rest = new RestHandler({
    state: runtime,
    identify: (request) =>
      authenticate(request.header('authorization'), request.header('apikey'), runtime.snapshot.verifier, lookupApiKey),
    validator,
    observe: observeRest(log, metrics),
  })
  const listener = createApp({
    rest: nodeHandler(rest, { basePath: config.restBasePath, onError: shared.onError }),
    restBasePath: config.restBasePath,
    home: withCors(
      home({ version, restBasePath: config.restBasePath, entrypoint: entrypoint(config.imageBasePath) }),
      shared.allowedOrigins,
    ),
    services: new Map(services),
    analysis: { path: config.imageBasePath, router: analysis.router },
    log,
  })
  return { listener, analysis }
}
