// The service without a port: connects, loads settings and schema, then puts the services together.
import type { RequestListener } from 'node:http'
import { verifierSettings } from './auth-service.ts'
import { compose } from './composition.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { Environment } from '../config/config-sources.ts'
import { toPoolConfig, toReplicaConfigs } from './connection-setting.ts'
import { isDevelopment } from './embedded-environment.ts'
import type { Database } from '../postgres/database.ts'
import { createPool, type Observe } from '../postgres/pool.ts'
import { replicaOf } from '../postgres/replicas/connect-replicas.ts'
import { Probe } from '../postgres/replicas/probe.ts'
import type { ReplicatedDatabase } from '../postgres/replicas/replicated-database.ts'
import { ApiKeyChanges } from '../identity/api-key/api-key-changes.ts'
import { createApiKeyLookup } from '../identity/api-key/api-key-lookup.ts'
import { createJwtVerifier } from '../identity/jwt/jwt.ts'
import { isConsoleOpen } from '../services/console/create-console.ts'
import type { PasswordHasher } from '../services/accounts/hash-processes.ts'
import type { FunctionsService } from '../services/functions/functions-service.ts'
import type { RealtimeService } from '../services/realtime/create-realtime.ts'
import { peersChannel } from '../services/realtime/peer-notice.ts'
import { ChannelNotices } from '../services/channel-notices.ts'
import { schedulesChannel } from '../services/schedules/create-schedules.ts'
import { callsChannel } from '../services/webhooks/create-webhooks.ts'
import type { UpgradeHandler } from '../http/upgrade.ts'
import { YoungGeneration } from './heap.ts'
import { isFinal, isUnavailable, liveSettings, type ServiceSettings } from './live-settings.ts'
import type { Log } from './operations/log.ts'
import { LoadShedding } from './overload/load-shedding.ts'
import { logRefusals } from './overload/refusals.ts'
import type { Metrics } from './operations/metrics.ts'
import { unreadMetrics } from './operations/unread-metrics.ts'
import { createRecorder, createTail, exportReport, hasAdmin } from './recording.ts'
import { createTracer } from './operations/tracing/tracer.ts'
import { logConnections, logJwtCache, observeRest, observeEngine } from './operations/observer.ts'
import { listensOnLoopback } from '../config/loopback.ts'
import { authenticate } from '../identity/authenticate.ts'
import type { TransactionOptions } from '../rest/database.ts'
import { Engine } from '../rest/engine.ts'
import type { Identity } from '../identity/identity.ts'
import { readUsedSchemas } from './schema-files.ts'
import type { ServeTools } from './serve-tools.ts'
import { ServingDatabase } from './serving-database.ts'
import type { WorkerQuestions } from './worker-questions.ts'
import { workerIndex } from './workers.ts'
import { compileSchemas } from '../validation/validator.ts'

export type ServiceOptions = {
  readonly env: Environment
  readonly configFile: string | undefined
  /** Settings from environment and file. */
  readonly loaded: LoadedConfig
  /** Asks the other processes; undefined if this one is the only one. */
  readonly workers?: WorkerQuestions | undefined
  /** Connection string of the login role. */
  readonly uri: string
  readonly log: Log
  readonly explain: ServeTools['explain']
  readonly preview: ServeTools['preview']
  readonly console: ServeTools['console']
  /** Whether the server is about to end. `/ready` is 503 then. */
  readonly isEnding?: () => boolean
  readonly beforeLoading?: (parts: ServiceParts) => Promise<void>
  /** See `LoadedSettings`. */
  readonly encodesRows?: boolean
  /** Hashes the passwords of accounts; by default, in processes of this service. */
  readonly passwordHasher?: PasswordHasher | undefined
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
  /** The service at `/realtime/v1`, if the server has it. */
  readonly realtime: RealtimeService | undefined
  /** The service at `/functions/v1`, if the server has it. */
  readonly functions: FunctionsService | undefined
  /** Closes upgraded connections and the console's streams, and tells their clients that the server stops. */
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
  workers,
  uri,
  log: given,
  explain,
  preview,
  console,
  isEnding = () => false,
  beforeLoading,
  encodesRows,
  passwordHasher,
}: ServiceOptions): Promise<Service> {
  const keyChanges = new ApiKeyChanges()
  const peerNotices = new ChannelNotices(peersChannel)
  const scheduleNotices = new ChannelNotices(schedulesChannel)
  const callNotices = new ChannelNotices(callsChannel)
  const { config: first } = loaded
  const tracer = await createTracer(
    first,
    exportReport(given, () => metrics),
  )
  const tail = isConsoleOpen(first, isDevelopment(first, env)) ? createTail(first, tracer, () => database) : undefined
  const log = tail?.logged(given) ?? given
  const recorder = createRecorder(first, tracer, tail, log, () => ({ metrics, database }))
  const observe = recorder?.observe
  const database: ServingDatabase = new ServingDatabase(
    createPool(toPoolConfig(uri, env), loaded.config, observe),
    {
      usage: (): TransactionOptions => {
        const { dbPreparedStatements: prepare, dbPoolSharing: sharing } = engine.snapshot.config
        return { prepare, sharing }
      },
      primary: toPoolConfig(uri, env, 'read-write'),
    },
    [
      keyChanges,
      ...(first.services.includes('realtime') ? [peerNotices] : []),
      ...(first.services.includes('schedules') ? [scheduleNotices] : []),
      ...(first.services.includes('webhooks') ? [callNotices] : []),
    ],
  )
  logConnections(database.events, log)
  const replicated = await connectReplicas(database, loaded.config, uri, env, log, observe)
  const settings = liveSettings({
    env,
    configFile,
    loaded,
    database,
    onWarning: (message) => log.write({ kind: 'warning', message }),
    createVerifier: (config, previous) => createJwtVerifier(verifierSettings(config), previous, logJwtCache(log)),
  })
  const metrics: Metrics = hasAdmin(loaded.config)
    ? (await import('./operations/metrics.ts')).createMetrics({
        database: () => database.statistics,
        poolSize: loaded.config.dbPool,
        worker: workerIndex(),
        planCache: () => engine.snapshot.plans,
        jwtCache: () => engine.snapshot.loaded.verifier.cacheStatistics,
        replicas: replicated && (() => replicated.statistics),
      })
    : unreadMetrics
  const youngGeneration = new YoungGeneration()
  const stopAdapting = youngGeneration.start()
  const shedding = new LoadShedding({
    wait: loaded.config.loadSheddingWait,
    // Reads on replicas wait for connections of their own.
    isPoolOverloaded: (access) => replicated === undefined && database.isOverloaded(access),
    onProcessorOverload: youngGeneration.onOverload,
  })
  metrics.watchRefusals(() => shedding.refusals)
  const stopShedding = shedding.start()
  const stopLogging = logRefusals(shedding, log)
  const validator = compileSchemas(await readUsedSchemas(loaded.config), { trustsServices: true })
  const lookupApiKey = createApiKeyLookup({ query: database.query, changes: keyChanges })
  const observeEvent = observeEngine(log, metrics, loaded.config.dbPool)
  let schemaChanged = (): void => undefined
  let settingsRead = (): void => undefined
  let warnsOfPreRequest = replicated !== undefined
  const engine = new Engine<ServiceSettings>({
    database: replicated ?? database,
    settings,
    identify: (request): Promise<Identity> | Identity =>
      authenticate(
        request.header('authorization'),
        request.header('apikey'),
        engine.snapshot.loaded.verifier,
        lookupApiKey,
      ),
    validator,
    secureCookies: loaded.config.secureCookies ?? !listensOnLoopback(loaded.config),
    onRequest: observeRest(log, metrics, shedding),
    onImport: (event) => log.write({ kind: 'import', ...event }),
    onEvent: (event) => {
      if (event.kind === 'settings read') log.setLevel(event.settings.config.logLevel)
      observeEvent(event)
      if (event.kind === 'settings read') settingsRead()
      if (event.kind === 'schema cache loaded') schemaChanged()
      if (event.kind === 'schema cache loaded' && warnsOfPreRequest && !engine.snapshot.mayRepeatPreRequest) {
        warnsOfPreRequest = false
        log.write({ kind: 'warning', message: volatilePreRequest })
      }
      if (event.kind === 'channel lost' && !engine.snapshot.config.dbPoolAutomaticRecovery) {
        engine.giveUp(new Error(event.error))
      }
    },
    onWarning: (message) => log.write({ kind: 'warning', message }),
    isUnavailable,
    isFinal,
    encodesRows,
  })
  const isConnected = async (): Promise<boolean> => {
    if (engine.snapshot.config.dbChannelEnabled) return engine.isListening
    return database.responds().catch(() => false)
  }
  const parts = {
    engine,
    database,
    metrics,
    isReady: async () => !engine.isPending && (await isConnected()),
    stop: async () => {
      stopShedding()
      stopAdapting()
      stopLogging()
      await engine.close()
      await replicated?.close()
      await database.close()
      await tracer?.stop()
    },
  }
  try {
    await beforeLoading?.(parts)
    await engine.start()
    const error = await Promise.race([engine.gaveUp, Promise.resolve(undefined)])
    if (error) throw error
    const options = {
      engine,
      database,
      validator,
      lookupApiKey,
      keyChanges,
      peerNotices,
      scheduleNotices,
      callNotices,
      shedding,
      log,
      metrics,
      recorder,
      tail,
      replicas: () => replicated?.statistics ?? [],
      env,
      configFile,
      workers,
      uri,
      passwordHasher,
    }
    const composition = await compose({ ...options, isEnding, explain, preview, console })
    const { listener, analysis, auth, storage, realtime, schedules, functions, webhooks, mcp } = composition
    schemaChanged = () => realtime?.forgetTables()
    settingsRead = () => functions?.reload()
    if (analysis) metrics.watchAnalysisQueue(analysis.queueLength)
    if (realtime) metrics.watchRealtime(realtime.figures)
    if (schedules) metrics.watchSchedules(schedules.figures)
    if (functions) metrics.watchFunctions(functions.figures)
    if (webhooks) metrics.watchWebhooks(webhooks.figures)
    if (mcp) metrics.watchMcp(mcp.figures)
    return {
      ...parts,
      listener,
      realtime,
      functions,
      upgrade: (request, socket, head) =>
        realtime?.upgrade(request, socket, head) === true || analysis?.upgrade(request, socket, head) === true,
      closeSockets: () => {
        tail?.end()
        analysis?.closeSockets()
        realtime?.closeSockets()
        webhooks?.end()
      },
      stop: async () => {
        analysis?.stop()
        await schedules?.stop()
        await functions?.stop()
        await webhooks?.stop()
        await realtime?.stop()
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

const volatilePreRequest =
  'The function of db-pre-request is not known to be declared stable or immutable, so all reads run on the primary instead of replicas'

/** The database with its replicas; undefined if there are none. */
async function connectReplicas(
  database: Database,
  config: LoadedConfig['config'],
  uri: string,
  env: Environment,
  log: Log,
  observe: Observe | undefined,
): Promise<ReplicatedDatabase | undefined> {
  const configs = toReplicaConfigs(config.databaseReplicaUrls, env)
  if (configs.length === 0) return undefined
  const { ReplicatedDatabase } = await import('../postgres/replicas/replicated-database.ts')
  const replicated = new ReplicatedDatabase(database, {
    checker: new Probe(toPoolConfig(uri, env, 'read-write')),
    replicas: configs.map((replica) => replicaOf(replica, config, observe)),
    maxLag: config.databaseReplicaMaxLag,
    wait: config.databaseReplicaWait,
    onChange: ({ replica, reason }) => log.write({ kind: 'replica', replica, reason }),
  })
  return replicated
}
