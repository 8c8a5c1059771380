// `rowhouse serve`: the database where there is none, the service on it, its ports, and the end of it all.
import { chmod, rm } from 'node:fs/promises'
import type { RequestListener, Server } from 'node:http'
import { ensureDevelopmentKeys, type DevelopmentKeys } from './command-line/development-keys.ts'
import { developmentAccounts } from './command-line/development-accounts.ts'
import { watchTermination } from './command-line/termination.ts'
import { welcome } from './command-line/welcome.ts'
import type { Config } from './config/config.ts'
import { chooseDatabase } from './config/database-choice.ts'
import { missingSecrets } from './config/missing-secrets.ts'
import { loadConfig, type Environment, type LoadedConfig } from './config/load.ts'
import { toPoolConfig } from './config/pool-config.ts'
import { startEmbedded, type EmbeddedDatabase } from './database/embedded.ts'
import { migrate } from './database/migrate.ts'
import { withClient } from './database/client.ts'
import { keepHeapSmall } from './heap.ts'
import { createHttpServer } from './http-server.ts'
import { createAdmin } from './operations/admin.ts'
import { createLog, type Log } from './operations/log.ts'
import { startService, type ServiceOptions, type ServiceParts } from './service.ts'
import { version } from './version.ts'
import { leaveWorkers, poolShare, startWorkers, workerIndex } from './workers.ts'

export type ServeOptions = { readonly configFile?: string; readonly json?: boolean }

/** Seconds that requests in flight have to finish once the process is told to stop. */
const grace = 10

/**
 * Serves until a signal comes (SIGINT, SIGTERM, SIGHUP), then stops in order. SIGUSR1 reloads the schema cache, SIGUSR2
 * the settings.
 *
 * @throws ConfigError, EmbeddedDatabaseError, or the error of listening, when it cannot start
 */
export async function serve({ configFile, json = false }: ServeOptions): Promise<void> {
  keepHeapSmall()
  const termination = watchTermination()
  const given = loadConfig({ env: process.env, file: configFile })
  const log = createLog({ level: given.config.logLevel })
  for (const message of given.warnings) log.write({ kind: 'warning', message })
  log.write({ kind: 'starting', version })
  // In the reverse order of starting.
  const stops: (() => Promise<unknown>)[] = []
  try {
    const embedded = await startDatabase(given, log, termination.signal)
    if (embedded) stops.unshift(() => embedded.stop())
    const env = embedded ? withEmbedded(process.env, given.config, embedded) : process.env
    const loaded = embedded ? loadConfig({ env, file: configFile }) : given
    const { config } = loaded
    const uri = config.dbUri ?? ''
    const worker = workerIndex()
    if (given.config.migrateOnStart && worker === undefined) {
      const owner = embedded?.adminUri ?? config.migrationDatabaseUrl ?? uri
      const { applied } = await withClient(toPoolConfig(owner, env), (client) => migrate(client))
      if (applied.length > 0) log.write({ kind: 'migrated', applied })
    }
    const start = config.serverWorkers > 1 && worker === undefined ? serveByWorkers : serveHere
    const { address, failed } = await start({ env, configFile, loaded, uri, log }, stops)
    if (worker === undefined) log.write({ kind: 'listening', address })
    if (embedded) await greet(embedded, config, address, json)
    const ended = embedded?.ended.then(() => Promise.reject(new Error('the embedded database has ended')))
    const signal = await Promise.race([termination.received, failed, ...(ended ? [ended] : [])])
    log.write({ kind: 'stopping', signal })
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
  }
}

type Serving = {
  readonly address: string
  /** Rejects when the service cannot go on. */
  readonly failed: Promise<never>
}

/** Serves in this process; a worker with its share of the connections. */
async function serveHere(
  { loaded, ...options }: Omit<ServiceOptions, 'beforeLoading'>,
  stops: (() => Promise<unknown>)[],
): Promise<Serving> {
  const worker = workerIndex()
  const { config } = loaded
  const dbPool = worker === undefined ? config.dbPool : poolShare(config.dbPool, config.serverWorkers)
  let server: Server | undefined = undefined
  const beforeLoading = async (parts: ServiceParts): Promise<void> => {
    const isFirst = worker === undefined || worker === 0
    const admin = isFirst ? await startAdmin(parts, config, () => server?.listening === true) : undefined
    if (admin) stops.unshift(() => close(admin))
    // Unheard, the one would start a debugger, and the other end the process.
    process.on('SIGUSR1', () => void parts.runtime.reloadSchema())
    process.on('SIGUSR2', () => void parts.runtime.reloadConfig())
  }
  const service = await startService({
    ...options,
    loaded: { ...loaded, config: { ...config, dbPool } },
    beforeLoading,
  })
  stops.unshift(() => service.stop())
  if (worker === undefined || worker === 0) {
    const { config: current } = service.runtime.snapshot
    for (const message of missingSecrets(current)) options.log.write({ kind: 'warning', message })
  }
  const listening = await listen(service.listener, config.serverUnixSocket, config.serverUnixSocketMode, config)
  server = listening
  stops.unshift(() => close(listening))
  const failed = service.runtime.gaveUp.then((error) => Promise.reject(error))
  failed.catch(() => undefined)
  return { address: addressOf(listening), failed }
}

/** Serves by processes of their own. */
async function serveByWorkers(
  { loaded, env, log }: Omit<ServiceOptions, 'beforeLoading'>,
  stops: (() => Promise<unknown>)[],
): Promise<Serving> {
  const workers = await startWorkers(loaded.config.serverWorkers, env, (message) =>
    log.write({ kind: 'warning', message }),
  )
  stops.unshift(() => workers.stop())
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => workers.signal(signal))
  return workers
}

async function startDatabase(
  { config }: LoadedConfig,
  log: Log,
  signal: AbortSignal,
): Promise<EmbeddedDatabase | undefined> {
  const database = chooseDatabase(config, 'authenticator')
  if (database.kind === 'named') return undefined
  return startEmbedded({
    dataDir: database.dataDir,
    log: (message) => log.write({ kind: 'embedded-database', message }),
    signal,
  })
}

/** The environment with what the embedded database brings: its address, and secrets where none are configured. */
function withEmbedded(env: Environment, config: Config, { authenticatorUri, secrets }: EmbeddedDatabase): Environment {
  return {
    ...env,
    DATABASE_URL: authenticatorUri,
    ...(config.jwtSecret === null ? { PGRST_JWT_SECRET: secrets.jwtSecret } : {}),
    ...(config.sessionSecrets.length === 0 ? { SESSION_SECRETS: secrets.sessionSecret } : {}),
    // It is for development, where there is no TLS.
    ...(config.secureCookies === null ? { SECURE_COOKIES: 'false' } : {}),
  }
}

async function greet(embedded: EmbeddedDatabase, config: Config, url: string, json: boolean): Promise<void> {
  const keys: DevelopmentKeys = await withClient(toPoolConfig(embedded.adminUri, {}), (client) =>
    ensureDevelopmentKeys(config.dataDir, developmentAccounts(client)),
  )
  const text = json
    ? JSON.stringify({ url, restBasePath: config.restBasePath, ...keys })
    : welcome(url, config.restBasePath, keys)
  process.stdout.write(`${text}\n`)
}

async function startAdmin(
  { runtime, metrics, isReady }: ServiceParts,
  config: Config,
  isListening: () => boolean,
): Promise<Server | undefined> {
  const { adminServerPort: port, adminServerUnixSocket: socket } = config
  if (port === null && socket === null) return undefined
  const admin = createAdmin({ runtime, metrics, isReady, isListening })
  return listen(admin, socket, config.adminServerUnixSocketMode, {
    serverHost: config.adminServerHost,
    serverPort: port ?? 0,
    serverReuseport: false,
    serverRequestTimeout: config.serverRequestTimeout,
    requestHeaderLimit: config.requestHeaderLimit,
  })
}

/** Names of PostgREST's for "any address", as Node has them. */
function hostOf(name: string): string | undefined {
  if (name === '*' || name === '*6' || name === '!6') return '::'
  if (name === '*4' || name === '!4') return '0.0.0.0'
  return name
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
): Promise<Server> {
  const server = createHttpServer(listener, limits)
  // A socket that an earlier process left behind would be in the way.
  if (socket !== null) await rm(socket, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    if (socket !== null) server.listen(socket, resolve)
    else server.listen({ host: hostOf(serverHost), port: serverPort, reusePort: serverReuseport }, resolve)
  })
  if (socket !== null) await chmod(socket, socketMode)
  return server
}

function addressOf(server: Server): string {
  const address = server.address()
  if (typeof address === 'string') return `unix:${address}`
  if (address === null) return ''
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return `http://${host === '0.0.0.0' || host === '[::]' ? '127.0.0.1' : host}:${address.port}`
}

/** Takes no new request, and gives those in flight some time. */
async function close(server: Server): Promise<void> {
  const late = setTimeout(() => server.closeAllConnections(), grace * 1000)
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
  })
  clearTimeout(late)
}
