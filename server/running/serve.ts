// `rowhouse serve`: starts the embedded database if none is configured, the service and its ports, and stops them.
import { existsSync } from 'node:fs'
import { chmod, rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { RequestListener, Server } from 'node:http'
import type { Config } from '../config/config.ts'
import { chooseDatabase } from '../config/database-choice.ts'
import { loadConfig, settingSource, type LoadedConfig } from '../config/load.ts'
import { type Environment } from '../config/config-sources.ts'
import { missingAddresses } from '../config/missing-addresses.ts'
import { missingSecrets } from '../config/missing-secrets.ts'
import { missingSettingText } from '../config/missing-setting.ts'
import { receiveArchiveStatus, sendArchiveStatus } from './archive-messages.ts'
import type { ArchiveStatus } from '../postgres/backup/archive-status.ts'
import type { EmbeddedDatabase } from '../postgres/embedded/embedded.ts'
import { embeddedVariable, withEmbedded } from './embedded-environment.ts'
import { GracefulEnd } from './graceful-end.ts'
import { compactHeap, keepHeapSmall } from './heap.ts'
import { missingBinaries } from './missing-binaries.ts'
import { unsafeSettings } from './unsafe-settings.ts'
import { ensureJwtKeysFile } from './jwt-keys-file.ts'
import { createHttpServer } from './http-server.ts'
import type { UpgradeHandler } from '../http/upgrade.ts'
import type { AdminOptions } from './operations/admin.ts'
import { consoleLines } from './operations/console-lines.ts'
import { createLog, type Log } from './operations/log.ts'
import { hasAdmin } from './recording.ts'
import { startService, type ServiceOptions, type ServiceParts } from './service.ts'
import { isInTime } from '../common/timers.ts'
import { version } from '../common/version.ts'
import { checkPorts, hostToListenOn, reusePortAdvice } from './ports.ts'
import type { ServedDatabase, ServeTools } from './serve-tools.ts'
import { watchTermination } from './termination.ts'
import { answerMetrics, metricsOfWorkers } from './worker-metrics.ts'
import { WorkerQuestions } from './worker-questions.ts'
import { leaveWorkers, poolShare, reportToPrimary, startWorkers, workerIndex } from './workers.ts'

const backupDirUnused =
  'BACKUP_DIR has no effect: it is for the embedded database. Back up your own database with the tools of PostgreSQL.'

/** Milliseconds that requests in flight have to finish when the process stops. */
const grace = 10_000
/**
 * Milliseconds in which the queue of new connections must become empty. Longer when another process listens on the same
 * port, because clients then do not expect to be refused.
 */
const acceptLimits = { alone: 300, shared: 2000 }
/** Milliseconds that the service then has to close its database connections. */
const closingTime = 5000

export type ServeOptions = {
  readonly configFile?: string
  /** Folder of the project's migrations. */
  readonly migrations?: string
  /** Folder of JSON Schemas for the project's tables. */
  readonly schemas?: string
  /** Applies files of the project whenever they are saved. */
  readonly watch?: boolean
  readonly json?: boolean
  /** Adds the sample data to a database without reports and classification runs. */
  readonly sample?: boolean
}

/**
 * Serves until SIGINT, SIGTERM or SIGHUP, then stops gracefully. SIGUSR1 reloads the schema cache, SIGUSR2 the
 * settings.
 *
 * @throws ConfigError, EmbeddedDatabaseError, or the error of listening, when the server cannot start
 */
export async function serve(options: ServeOptions, tools: ServeTools): Promise<void> {
  const { configFile, json = false, sample = false } = options
  keepHeapSmall()
  const termination = watchTermination()
  const environment = withFolders(process.env, options)
  const given = loadConfig({ env: environment, file: configFile })
  // Lines for people on a terminal, JSON otherwise.
  const isForPeople = process.stdout.isTTY && !json
  const log = createLog({
    level: given.config.logLevel,
    ...(isForPeople
      ? {
          destination: consoleLines({
            write: (text) => process.stdout.write(text),
            // The welcome message includes it.
            hidden: given.config.dbUri === null ? ['listening'] : [],
          }),
        }
      : {}),
  })
  for (const message of given.warnings) log.write({ kind: 'warning', message })
  log.write({ kind: 'starting', version })
  // In reverse order of starting.
  const stops: (() => Promise<unknown>)[] = []
  try {
    // Checks the ports before it creates a database.
    if (workerIndex() === undefined) {
      await checkPorts(given)
      const advice = await reusePortAdvice(given)
      if (advice !== undefined) log.write({ kind: 'warning', message: advice })
    }
    const embedded = await startDatabase(given, log, termination.signal)
    const archive =
      embedded && (await (await import('./serve-archive.ts')).startArchive(embedded, given.config.backupDir, log))
    if (archive) stops.unshift(archive.stop)
    else if (given.config.backupDir !== null && workerIndex() === undefined)
      log.write({ kind: 'warning', message: backupDirUnused })
    const env = embedded
      ? withEmbedded(environment, given.config, embedded, await ensureJwtKeysFile(given.config.dataDir))
      : environment
    const loaded = embedded ? loadConfig({ env, file: configFile }) : given
    const { config } = loaded
    const uri = config.dbUri ?? ''
    const worker = workerIndex()
    const owner = embedded?.adminUri ?? config.migrationDatabaseUrl ?? uri
    // Workers leave to the primary process what is done once.
    const served: ServedDatabase | undefined = worker === undefined ? { config, env, owner, embedded, log } : undefined
    if (served && given.config.migrateOnStart) await tools.migrate(served)
    const start = config.serverWorkers > 1 && worker === undefined ? serveByWorkers : serveHere
    const { address, failed, drain } = await start(
      {
        env,
        configFile,
        loaded,
        uri,
        log,
        explain: tools.explain,
        preview: tools.preview,
        console: tools.console,
        archive: archive?.status,
      },
      stops,
    )
    if (served) {
      log.write({ kind: 'listening', address })
      // Does not wait for a database that does not answer.
      if (!given.config.migrateOnStart) void tools.warnOfPending(served)
      if (embedded) await tools.greet(served, { url: address, isForPeople, hasSample: sample })
      // After the development user was created, who owns some of the sample data.
      if (sample) await tools.addSampleData(served)
      if (options.watch) {
        const ending = new AbortController()
        const watched = tools.watchMigrations(served, ending.signal)
        stops.unshift(() => {
          ending.abort()
          return watched
        })
      }
    }
    const ended = embedded?.ended.then(() => Promise.reject(new Error('the embedded database has ended')))
    const signal = await Promise.race([termination.received, failed, ...(ended ? [ended] : [])])
    log.write({ kind: 'stopping', signal })
    await Promise.race([drain(), failed, ...(ended ? [ended] : [])])
  } catch (error) {
    // A signal during the start is no failure.
    if (!termination.signal.aborted) throw error
  } finally {
    for (const stop of stops) {
      await stop().catch((error: unknown) => log.write({ kind: 'failure', error, requestId: null }))
    }
    log.write({ kind: 'stopped' })
    log.flush()
    termination.dispose()
    leaveWorkers()
    // Exits even if a database connection does not close.
    setTimeout(() => process.exit(), closingTime).unref()
  }
}

/** The environment with the folders that options name. Workers inherit it. */
const withFolders = (env: Environment, { migrations, schemas }: ServeOptions): Environment => ({
  ...env,
  ...(migrations === undefined ? {} : { MIGRATIONS_DIR: migrations }),
  ...(schemas === undefined ? {} : { SCHEMAS_DIR: schemas }),
})

type Serving = {
  readonly address: string
  /** Rejects when the service fails for good. */
  readonly failed: Promise<never>
  /** Says at `/ready` that the service ends, and resolves when balancers have had the time to notice. */
  readonly drain: () => Promise<void>
}

type ServingOptions = Omit<ServiceOptions, 'beforeLoading' | 'isEnding' | 'workers'> & {
  /** How far the archive of the write-ahead log is; undefined if this process does not archive. */
  readonly archive: (() => ArchiveStatus) | undefined
}

/** Serves in this process. A worker uses its share of the connections. */
async function serveHere(
  { loaded, archive: own, ...options }: ServingOptions,
  stops: (() => Promise<unknown>)[],
): Promise<Serving> {
  const worker = workerIndex()
  const { config } = loaded
  const { log } = options
  const dbPool = worker === undefined ? config.dbPool : poolShare(config.dbPool, config.serverWorkers)
  const workers = worker === undefined ? undefined : new WorkerQuestions(worker, config.serverWorkers)
  let api: Listening | undefined = undefined
  let isEnding = false
  const isArchived = config.backupDir !== null && options.env[embeddedVariable] !== undefined
  const archive = own ?? (worker === 0 && isArchived ? receiveArchiveStatus() : undefined)
  const beforeLoading = async (parts: ServiceParts): Promise<void> => {
    const isFirst = worker === undefined || worker === 0
    if (archive) parts.metrics.watchArchive(archive)
    const isListening = (): boolean => !isEnding && api?.isServing() === true
    const { expose } = parts.metrics
    if (workers && !isFirst && hasAdmin(config)) answerMetrics(workers, expose)
    const metrics =
      workers && isFirst && hasAdmin(config) ? { expose: metricsOfWorkers(workers, expose) } : parts.metrics
    const admin = isFirst ? await startAdmin(parts, config, { metrics, isListening, archive }) : undefined
    if (admin) stops.unshift(() => admin.end(log))
    // Without listeners, SIGUSR1 would start a debugger, and SIGUSR2 would end the process.
    process.on('SIGUSR1', () => void parts.engine.reload())
    process.on('SIGUSR2', () => void parts.engine.reloadSettings())
  }
  const service = await startService({
    ...options,
    loaded: { ...loaded, config: { ...config, dbPool } },
    workers,
    isEnding: () => isEnding,
    beforeLoading,
  })
  stops.unshift(async () => {
    if (!(await isInTime(closingTime, service.stop()))) throw new Error(`not stopped within ${closingTime / 1000} s`)
  })
  if (worker === undefined || worker === 0) {
    const { config: current } = service.engine.snapshot
    const isEmbedded = options.env[embeddedVariable] !== undefined
    const settings = [...missingSecrets(current), ...(isEmbedded ? [] : missingAddresses(current))]
    const messages = [
      ...settings.map(missingSettingText),
      ...missingBinaries(current.services),
      ...unsafeSettings(current),
    ]
    for (const message of messages) options.log.write({ kind: 'warning', message })
  }
  compactHeap()
  const listening = await listen(
    service.listener,
    config.serverUnixSocket,
    config.serverUnixSocketMode,
    config,
    service.upgrade,
  )
  api = listening
  stops.unshift(() => {
    service.closeSockets()
    return listening.end(log)
  })
  const { address } = listening
  reportToPrimary({ kind: 'serving', address })
  const failed = service.engine.gaveUp.then((error) => {
    reportToPrimary({ kind: 'gave up', message: error.message })
    throw error
  })
  failed.catch(() => undefined)
  const drain = async (): Promise<void> => {
    isEnding = true
    if (config.serverDrainTime === 0) return
    log.write({ kind: 'draining', seconds: config.serverDrainTime })
    await pause(config.serverDrainTime * 1000)
  }
  return { address, failed, drain }
}

/** Serves in worker processes. */
async function serveByWorkers(
  { loaded, env, log, archive }: ServingOptions,
  stops: (() => Promise<unknown>)[],
): Promise<Serving> {
  const { serverWorkers, serverDrainTime } = loaded.config
  const workers = await startWorkers({ count: serverWorkers, env, drainTime: serverDrainTime * 1000 }, (event) =>
    log.write(
      event.kind === 'worker serving'
        ? { kind: 'worker-serving', worker: event.index }
        : { kind: 'worker-ended', worker: event.index, reason: event.reason, pause: event.pause },
    ),
  )
  stops.unshift(() => workers.stop())
  if (archive) {
    const stopSending = sendArchiveStatus(workers, archive)
    stops.unshift(() => Promise.resolve(stopSending()))
  }
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => workers.signal(signal))
  // Each worker drains when it is stopped.
  return { ...workers, drain: () => Promise.resolve() }
}

async function startDatabase(
  loaded: LoadedConfig,
  log: Log,
  signal: AbortSignal,
): Promise<EmbeddedDatabase | undefined> {
  const { config } = loaded
  const database = chooseDatabase(config, 'authenticator')
  if (database.kind === 'named') return undefined
  const { startEmbedded } = await import('../postgres/embedded/embedded.ts')
  return startEmbedded({
    dataDir: database.dataDir,
    setting: settingSource(loaded, 'dataDir'),
    log: (message) => log.write({ kind: 'embedded-database', message }),
    signal,
  })
}

async function startAdmin(
  { engine, isReady }: ServiceParts,
  config: Config,
  state: Pick<AdminOptions, 'metrics' | 'isListening' | 'archive'>,
): Promise<Listening | undefined> {
  const { adminServerPort: port, adminServerUnixSocket: socket } = config
  if (port === null && socket === null) return undefined
  const { createAdmin } = await import('./operations/admin.ts')
  const admin = createAdmin({ schemaCache: () => engine.snapshot.schemaCache, isReady, ...state })
  return listen(admin, socket, config.adminServerUnixSocketMode, {
    serverHost: config.adminServerHost,
    serverPort: port ?? 0,
    serverReuseport: false,
    serverRequestTimeout: config.serverRequestTimeout,
    requestHeaderLimit: config.requestHeaderLimit,
  })
}

type Listening = {
  readonly address: string
  /** Whether requests are accepted and served. */
  readonly isServing: () => boolean
  /** Stops accepting connections, gives requests in flight some time, and resolves when all connections are closed. */
  readonly end: (log: Log) => Promise<void>
}

type ListenSettings = Pick<
  Config,
  'serverHost' | 'serverPort' | 'serverReuseport' | 'requestHeaderLimit' | 'serverRequestTimeout'
>

async function listen(
  listener: RequestListener,
  socket: string | null,
  socketMode: number,
  { serverHost, serverPort, serverReuseport, ...limits }: ListenSettings,
  upgrade?: UpgradeHandler,
): Promise<Listening> {
  const server = createHttpServer(listener, limits, upgrade)
  const ending = new GracefulEnd(server)
  // Removes a socket that an earlier process left behind.
  if (socket !== null) await rm(socket, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    if (socket !== null) server.listen(socket, resolve)
    else server.listen({ host: hostToListenOn(serverHost), port: serverPort, reusePort: serverReuseport }, resolve)
  })
  if (socket !== null) await chmod(socket, socketMode)
  return {
    address: addressOf(server),
    isServing: () => ending.isServing && (socket === null || existsSync(socket)),
    end: async (log) => {
      const cut = await ending.end(grace, serverReuseport ? acceptLimits.shared : acceptLimits.alone)
      if (cut === 0) return
      log.write({ kind: 'warning', message: `${cut} requests did not finish within ${grace / 1000} s and were cut` })
    },
  }
}

function addressOf(server: Server): string {
  const address = server.address()
  if (typeof address === 'string') return `unix:${address}`
  if (address === null) return ''
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return `http://${host === '0.0.0.0' || host === '[::]' ? '127.0.0.1' : host}:${address.port}`
}
