// The service: the database, the engine and the routes, without a port.
import type { RequestListener } from 'node:http'
import { cookieIdentity } from '../services/accounts/cookie-identity.ts'
import { createApp } from './app.ts'
import { sharedSignIn, startAuth, verifierSettings, withAuth } from './auth-service.ts'
import type { Environment, LoadedConfig } from '../config/load.ts'
import { listensOnLoopback } from '../config/loopback.ts'
import { toPoolConfig } from './connection-setting.ts'
import { Database } from '../postgres/database.ts'
import { createPool } from '../postgres/pool.ts'
import { ApiKeyChanges } from '../identity/api-key/api-key-changes.ts'
import { createApiKeyLookup, type ApiKeyLookup } from '../identity/api-key/api-key-lookup.ts'
import { createJwtVerifier } from '../identity/jwt/jwt.ts'
import type { UpgradeHandler } from '../http/upgrade.ts'
import { isFinal, isUnavailable, liveSettings, type ServiceSettings } from './live-settings.ts'
import { serviceDocumentHandler } from '../services/openapi/service-document.ts'
import type { Log } from './operations/log.ts'
import { createMetrics, type Metrics } from './operations/metrics.ts'
import { logConnections, logJwtCache, observeRest, observeEngine } from './operations/observer.ts'
import { nodeHandler } from '../adapters/node.ts'
import { authenticate } from '../identity/authenticate.ts'
import type { TransactionOptions } from '../rest/database.ts'
import { Engine } from '../rest/engine.ts'
import type { Identity } from '../identity/identity.ts'
import { bodyReader } from '../http/json-body.ts'
import { createRouters, type RouteTable } from '../http/route-router.ts'
import { databaseFailure } from '../services/database-failure.ts'
import { isSchemaOf } from './service-choice.ts'
import { describedRoutes, serviceTables } from './service-routes.ts'
import { ServingDatabase } from './serving-database.ts'
import type { AuthService } from '../services/auth/create-auth.ts'
import { createAnalysis, type AnalysisService } from '../services/analysis/analysis.ts'
import { createTokenDoor } from '../services/auth/token-door.ts'
import { authRoutes } from '../services/auth/auth-table.ts'
import { createImageKeeper } from '../services/storage/image-keeper.ts'
import type { StorageService } from '../services/storage/create-storage.ts'
import { storageRoutes } from '../services/storage/storage-table.ts'
import { startStorage } from './storage-service.ts'
import { embeddedVariable } from './embedded-environment.ts'
import { analysisRoutes } from '../services/analysis/analysis-routes.ts'
import { readSchemas } from '../validation/schema-directory.ts'
import { createValidator, ownSchemas, type Validator } from '../validation/validator.ts'
import { version } from '../common/version.ts'

export type ServiceOptions = {
  readonly env: Environment
  readonly configFile: string | undefined
  /** Settings from environment and file. */
  readonly loaded: LoadedConfig
  /** Connection string of the login role. */
  readonly uri: string
  readonly log: Log
  readonly beforeLoading?: (parts: ServiceParts) => Promise<void>
}

/** The parts of a service that exist before it can serve requests. */
export type ServiceParts = {
  readonly engine: Engine<ServiceSettings>
  readonly database: Database
  readonly metrics: Metrics
  /** Whether the schema cache is loaded and the database is connected. */
  readonly isReady: () => Promise<boolean>
  readonly stop: () => Promise<void>
}

export type Service = ServiceParts & {
  readonly listener: RequestListener
  readonly upgrade: UpgradeHandler
  /** Closes upgraded connections, and tells their clients that the server stops. */
  readonly closeSockets: () => void
}

/**
 * Connects, loads settings and schema (retries in the background when that fails), and composes the routes.
 *
 * @param options.beforeLoading is called when health and metrics are available, but requests cannot be served yet
 * @throws the error of the database, when retrying is useless
 */
export async function startService({
  env,
  configFile,
  loaded,
  uri,
  log,
  beforeLoading,
}: ServiceOptions): Promise<Service> {
  const keyChanges = new ApiKeyChanges()
  const database: ServingDatabase = new ServingDatabase(
    createPool(toPoolConfig(uri, env), loaded.config),
    {
      usage: (): TransactionOptions => {
        const { dbPreparedStatements: prepare, dbPoolSharing: sharing } = engine.snapshot.config
        return { prepare, sharing }
      },
      primary: toPoolConfig(uri, env, 'read-write'),
    },
    keyChanges,
  )
  logConnections(database.events, log)
  const settings = liveSettings({
    env,
    configFile,
    loaded,
    database,
    onWarning: (message) => log.write({ kind: 'warning', message }),
    createVerifier: (config, previous) => createJwtVerifier(verifierSettings(config), previous, logJwtCache(log)),
  })
  const metrics = createMetrics({
    database: () => database.statistics,
    poolSize: loaded.config.dbPool,
    jwtCache: () => engine.snapshot.loaded.verifier.cacheStatistics,
    timesRequests: loaded.config.adminServerPort !== null || loaded.config.adminServerUnixSocket !== null,
  })
  const { services } = loaded.config
  const validator = await createValidator(ownSchemas, isSchemaOf(services))
  const lookupApiKey = createApiKeyLookup({ query: database.query, changes: keyChanges })
  const observe = observeEngine(log, metrics, loaded.config.dbPool)
  const engine = new Engine<ServiceSettings>({
    database,
    settings,
    identify: (request): Promise<Identity> | Identity =>
      authenticate(
        request.header('authorization'),
        request.header('apikey'),
        engine.snapshot.loaded.verifier,
        lookupApiKey,
      ),
    validator,
    onRequest: observeRest(log, metrics),
    onEvent: (event) => {
      if (event.kind === 'settings read') log.setLevel(event.settings.config.logLevel)
      observe(event)
      if (event.kind === 'channel lost' && !engine.snapshot.config.dbPoolAutomaticRecovery) {
        engine.giveUp(new Error(event.error))
      }
    },
    isUnavailable,
    isFinal,
  })
  const isConnected = async (): Promise<boolean> => {
    if (engine.snapshot.config.dbChannelEnabled) return engine.isListening
    return responds(database).catch(() => false)
  }
  const parts = {
    engine,
    database,
    metrics,
    isReady: async () => !engine.isPending && (await isConnected()),
    stop: async () => {
      await engine.close()
      await database.close()
    },
  }
  try {
    await beforeLoading?.(parts)
    await engine.start()
    const error = await Promise.race([engine.gaveUp, Promise.resolve(undefined)])
    if (error) throw error
    const { listener, analysis, auth, storage } = await compose({
      ...{ engine, database, validator, lookupApiKey },
      ...{ log, metrics, env },
    })
    if (analysis) metrics.watchAnalysisQueue(analysis.queueLength)
    return {
      ...parts,
      listener,
      upgrade: analysis?.upgrade ?? (() => false),
      closeSockets: () => analysis?.closeSockets(),
      stop: async () => {
        analysis?.stop()
        await auth?.stop()
        await storage?.stop()
        await parts.stop()
      },
    }
  } catch (error) {
    await parts.stop()
    throw error
  }
}

/** Whether the database responds. Rejects with the error of the connection. */
const responds = async (database: Database): Promise<boolean> => (await database.query('select 1', [])).length === 1

type Composed = Pick<ServiceParts, 'engine' | 'database' | 'metrics'> & {
  readonly validator: Validator
  readonly lookupApiKey: ApiKeyLookup
  readonly log: Log
  readonly env: Environment
}

async function compose({ engine, database, validator, lookupApiKey, log, metrics, env }: Composed): Promise<{
  readonly listener: RequestListener
  readonly analysis: AnalysisService | undefined
  readonly auth: AuthService | undefined
  readonly storage: StorageService | undefined
}> {
  const { config } = engine.snapshot
  const { query } = database
  const [hasAuth, hasAnalysis, hasStorage] = (['auth', 'analysis', 'storage'] as const).map((name) =>
    config.services.includes(name),
  )
  const sessions = {
    database,
    query,
    sessionSecrets: config.sessionSecrets,
    secureCookies: config.secureCookies ?? !listensOnLoopback(config),
    trustedProxies: config.trustedProxies,
  }
  const allowedOrigins = (): readonly string[] => engine.snapshot.config.serverCorsAllowedOrigins
  const onError = (error: unknown): void => log.write({ kind: 'failure', error, requestId: null })
  const shared = sharedSignIn(() => engine.snapshot.config, database)
  const auth = hasAuth
    ? startAuth({
        ...shared,
        config,
        env,
        current: () => ({ config: engine.snapshot.config, verifier: engine.snapshot.loaded.verifier }),
        database,
        lookupApiKey,
        validator,
        allowedOrigins,
        onError,
        warn: (message) => log.write({ kind: 'warning', message }),
        print: (block) => log.write({ kind: 'mail', message: block.trimEnd() }),
      })
    : undefined
  const tables: readonly RouteTable[] = serviceTables({
    ...sessions,
    services: config.services,
    accounts: auth && {
      ...sessions,
      passwords: shared.passwords,
      limits: shared.attempts,
      signer: shared.signer,
      tokenDoor: createTokenDoor(auth.context),
      isSignUpDisabled: () => auth.context.settings().authDisableSignup,
      tokens: () => engine.snapshot.config,
      allowedOrigins,
    },
    allowedOrigins,
    version,
    restBasePath: config.restBasePath,
    imageBasePath: hasAnalysis ? config.imageBasePath : null,
    checks: {
      database: () => responds(database),
      schemaCache: () => engine.snapshot.schemaCache !== undefined,
    },
    document: serviceDocumentHandler({
      snapshot: () => engine.snapshot,
      query,
      database,
      lookupApiKey,
      cookieIdentity: (request) => cookieIdentity(request, sessions),
      schemas: (await readSchemas(ownSchemas)).filter(isSchemaOf(config.services)),
      version,
      routes: () => [
        ...describedRoutes([...tables, ...(hasAuth ? [{ routes: authRoutes }] : [])]),
        ...(hasAnalysis ? analysisRoutes(config.imageBasePath) : []),
        ...(hasStorage ? storageRoutes.flatMap(({ description }) => description ?? []) : []),
      ],
    }),
  })
  const services = createRouters(tables, {
    validator,
    readBody: bodyReader(config.bodyLimit),
    onError,
    failureOf: databaseFailure,
  })
  const storage = hasStorage
    ? await startStorage({
        ...{ config, database, lookupApiKey, validator, allowedOrigins, onError },
        isEmbedded: env[embeddedVariable] !== undefined,
        current: () => engine.snapshot.config,
        verifier: () => engine.snapshot.loaded.verifier,
        checksSessions: () => engine.snapshot.schemaCache?.checksSessions === true,
        warn: (message) => log.write({ kind: 'warning', message }),
      })
    : undefined
  const analysis = hasAnalysis
    ? createAnalysis({
        config,
        caller: {
          ...sessions,
          allowedOrigins,
          lookupApiKey,
          verifier: () => engine.snapshot.loaded.verifier,
          anonymousRole: () => engine.snapshot.config.dbAnonRole,
          checksSessions: () => engine.snapshot.schemaCache?.checksSessions === true,
        },
        database,
        keeper: storage && createImageKeeper(storage.context, config.imageBucket),
        runValidator: validator.forTable('public', 'classification_runs'),
        documentation: new Map([...services].filter(([segment]) => segment === 'docs' || segment === 'openapi.json')),
        observer: { ...metrics.analysis, warned: (message) => log.write({ kind: 'warning', message }) },
        onError,
      })
    : undefined
  const listener = createApp({
    rest: config.services.includes('rest')
      ? nodeHandler(engine, { basePath: config.restBasePath, onError })
      : undefined,
    restBasePath: config.restBasePath,
    services: auth ? withAuth(services, auth) : services,
    analysis: analysis && { path: config.imageBasePath, router: analysis.router },
    storage: storage?.handler,
    log,
  })
  return { listener, analysis, auth, storage }
}
