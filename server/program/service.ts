// A service on a database: the runtime and the routes on it, without a port of its own.
import type { RequestListener } from 'node:http'
import { cookieIdentity } from '../services/accounts/cookie-identity.ts'
import { createApp } from './app.ts'
import type { Environment, LoadedConfig } from '../config/load.ts'
import { listensOnLoopback } from '../config/loopback.ts'
import { toPoolConfig } from './connection-setting.ts'
import { withReservedConnection } from '../postgres/lending.ts'
import { createPool } from '../postgres/pool.ts'
import { queryOn, transactionOn } from '../postgres/transaction.ts'
import { ApiKeyChanges } from '../identity/api-key/api-key-changes.ts'
import { createApiKeyLookup } from '../identity/api-key/api-key-lookup.ts'
import { createJwtVerifier } from '../identity/jwt/jwt.ts'
import type { UpgradeHandler } from '../http/upgrade.ts'
import { liveSettings } from './live-settings.ts'
import { serviceDocumentHandler } from '../services/openapi/service-document.ts'
import type { Log } from './operations/log.ts'
import { createMetrics, type Metrics } from './operations/metrics.ts'
import { logConnections, logJwtCache, observeRest, observeRuntime } from './operations/observer.ts'
import { ReloadChannel } from './reload-channel.ts'
import { nodeHandler } from '../adapters/node.ts'
import { authenticate } from '../identity/authenticate.ts'
import { RestHandler } from '../rest/handler.ts'
import { bodyReader } from '../http/json-body.ts'
import { createRouters, type RouteTable } from '../http/route-router.ts'
import { databaseFailure } from '../services/database-failure.ts'
import { Runtime } from './runtime.ts'
import { describedRoutes, serviceTables } from './service-routes.ts'
import { createAnalysis, type AnalysisService } from '../services/analysis/analysis.ts'
import { analysisRoutes } from '../services/analysis/analysis-routes.ts'
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
  const pool = createPool(toPoolConfig(uri, env), loaded.config)
  logConnections(pool, log)
  const settings = liveSettings({
    env,
    configFile,
    loaded,
    pool,
    onWarning: (message) => log.write({ kind: 'warning', message }),
    createVerifier: (config, previous) => createJwtVerifier(config, previous, logJwtCache(log)),
  })
  const metrics = createMetrics({
    pool,
    poolSize: loaded.config.dbPool,
    jwtCache: () => runtime.snapshot.verifier.cacheStatistics,
    timesRequests: loaded.config.adminServerPort !== null || loaded.config.adminServerUnixSocket !== null,
  })
  const observe = observeRuntime(log, metrics, loaded.config.dbPool)
  const runtime: Runtime = new Runtime(pool, settings.initial, settings.read, (event) => {
    if (event.kind === 'config reloaded') {
      log.setLevel(event.config.logLevel)
      void channel.follow(event.config)
    }
    observe(event)
  })
  const keyChanges = new ApiKeyChanges()
  const channel = new ReloadChannel(toPoolConfig(uri, env, 'read-write'), runtime, log, keyChanges)
  const isConnected = async (): Promise<boolean> => {
    if (runtime.snapshot.config.dbChannelEnabled) return channel.isOn
    return withReservedConnection(
      pool,
      async (client) => (await client.query('select 1')).rowCount === 1,
      () => true,
    ).catch(() => false)
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
  const { pool, snapshot } = runtime
  const { config } = snapshot
  const validator = await createValidator()
  const query = queryOn(pool)
  const lookupApiKey = createApiKeyLookup({ query, changes: keyChanges })
  const sessions = {
    query,
    sessionSecrets: config.sessionSecrets,
    secureCookies: config.secureCookies ?? !listensOnLoopback(config),
  }
  const transaction = transactionOn(pool)
  const allowedOrigins = (): readonly string[] => runtime.snapshot.config.serverCorsAllowedOrigins
  const onError = (error: unknown): void => log.write({ kind: 'failure', error, requestId: null })
  const tables: readonly RouteTable[] = serviceTables({
    ...sessions,
    transaction,
    allowedOrigins,
    accountLimit: config.authAccountLimit,
    accountTotalLimit: config.authAccountTotalLimit,
    addressLimit: config.authAddressLimit,
    trustedProxies: config.trustedProxies,
    tokens: () => runtime.snapshot.config,
    version,
    restBasePath: config.restBasePath,
    imageBasePath: config.imageBasePath,
    checks: {
      database: async () => (await query('select 1', [])).length === 1,
      schemaCache: () => runtime.snapshot.cache !== undefined,
    },
    document: serviceDocumentHandler({
      snapshot: () => runtime.snapshot,
      query,
      transaction,
      lookupApiKey,
      cookieIdentity: (request) => cookieIdentity(request, sessions),
      schemas: await readSchemas(ownSchemas),
      version,
      routes: () => [...describedRoutes(tables), ...analysisRoutes(config.imageBasePath)],
    }),
  })
  const services = createRouters(tables, {
    validator,
    readBody: bodyReader(config.bodyLimit),
    onError,
    failureOf: databaseFailure,
  })
  const analysis = createAnalysis({
    config,
    caller: {
      ...sessions,
      allowedOrigins,
      lookupApiKey,
      verifier: () => runtime.snapshot.verifier,
      anonymousRole: () => runtime.snapshot.config.dbAnonRole,
      checksSessions: () => runtime.snapshot.cache?.checksSessions === true,
    },
    transaction,
    runValidator: validator.forTable('public', 'classification_runs'),
    documentation: new Map([...services].filter(([segment]) => segment === 'docs' || segment === 'openapi.json')),
    observer: { ...metrics.analysis, warned: (message) => log.write({ kind: 'warning', message }) },
    onError,
  })
  const rest = new RestHandler({
    state: runtime,
    identify: (request) =>
      authenticate(request.header('authorization'), request.header('apikey'), runtime.snapshot.verifier, lookupApiKey),
    validator,
    observe: observeRest(log, metrics),
  })
  const listener = createApp({
    rest: nodeHandler(rest, { basePath: config.restBasePath, onError }),
    restBasePath: config.restBasePath,
    services,
    analysis: { path: config.imageBasePath, router: analysis.router },
    log,
  })
  return { listener, analysis }
}
