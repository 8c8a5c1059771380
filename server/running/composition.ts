// Puts the services together: creates those of the settings, and routes requests to them.
import type { RequestListener } from 'node:http'
import { basePathOf } from '../adapters/base-path.ts'
import { nodeHandler } from '../adapters/node.ts'
import { version } from '../common/version.ts'
import { signsIn } from '../config/signing-in.ts'
import { envelopeBodyReader, envelopeDialect } from '../http/envelope-dialect.ts'
import { createRouters, type Router, type RouteTable } from '../http/router.ts'
import { authenticate } from '../identity/authenticate.ts'
import type { Answering, RestRequest } from '../rest/rest-request.ts'
import type { Snapshot } from '../rest/snapshot.ts'
import { cookieIdentity } from '../services/accounts/cookie-identity.ts'
import { createAnalysis, type AnalysisService } from '../services/analysis/analysis.ts'
import type { AuthService } from '../services/auth/create-auth.ts'
import { databaseFailure } from '../services/database-failure.ts'
import type { FunctionsService } from '../services/functions/functions-service.ts'
import { serviceDocumentHandler } from '../services/openapi/service-document.ts'
import type { McpService } from '../services/mcp/create-mcp.ts'
import { createRealtime, type RealtimeService } from '../services/realtime/create-realtime.ts'
import { createWebhooks, type WebhooksService } from '../services/webhooks/create-webhooks.ts'
import { createSchedules, type SchedulesService } from '../services/schedules/create-schedules.ts'
import type { StorageService } from '../services/storage/create-storage.ts'
import { createImageKeeper } from '../services/storage/image-keeper.ts'
import { createApp } from './app.ts'
import { startSignIn, withAuth } from './auth-service.ts'
import { partsOf, type CompositionOptions, type Parts } from './composition-parts.ts'
import { toPoolConfig } from './connection-setting.ts'
import { startConsole } from './console-service.ts'
import { embeddedVariable } from './embedded-environment.ts'
import { withExplanations } from './explanations.ts'
import { functionsOfProcesses } from './functions-of-processes.ts'
import { startFunctionsService } from './functions-service.ts'
import type { ServiceSettings } from './live-settings.ts'
import { startMcp } from './mcp-service.ts'
import { NotReady } from './operations/health.ts'
import { observeRest } from './operations/observer.ts'
import { refuseWhenOverloaded } from './overload/refuse-overloaded.ts'
import { missingServices } from './missing-services.ts'
import { readUsedSchemas } from './schema-files.ts'
import { describedRoutes, loadTables, serviceTables } from './service-routes.ts'
import { startStorage } from './storage-service.ts'

/** The listener of all routes, and the services that must be stopped; undefined are those that the server lacks. */
export type Composition = {
  readonly listener: RequestListener
  readonly analysis: AnalysisService | undefined
  readonly auth: AuthService | undefined
  readonly storage: StorageService | undefined
  readonly realtime: RealtimeService | undefined
  readonly schedules: SchedulesService | undefined
  readonly functions: FunctionsService | undefined
  readonly webhooks: WebhooksService | undefined
  readonly mcp: McpService | undefined
}

/** @throws StorageFolderError, StorageBucketError, HookSettingError */
export async function compose(options: CompositionOptions): Promise<Composition> {
  const parts = partsOf(options)
  const { database, validator, lookupApiKey, metrics, env } = options
  const { config, current, verifier, checksSessions, sessions, allowedOrigins, has, onError, warn } = parts
  const shared = { config, database, lookupApiKey, validator, allowedOrigins, onError, warn }
  const signIn = signsIn(config.services)
    ? startSignIn({
        ...shared,
        env,
        current: () => ({ config: current(), verifier: verifier() }),
        passwordHasher: options.passwordHasher,
        print: (block) => options.log.write({ kind: 'mail', message: block.trimEnd() }),
      })
    : undefined
  const unusable = (): Promise<string | undefined> => analysis?.unusable() ?? Promise.resolve(undefined)
  const toolsOfRoutes = {
    validator,
    readBody: envelopeBodyReader(config.bodyLimit),
    onError,
    failureOf: databaseFailure,
  }
  const routers = createRouters(await tablesOf(parts, signIn, unusable), {
    dialect: envelopeDialect,
    tools: toolsOfRoutes,
  })
  const consoleRouter = startConsole(
    parts,
    signIn?.auth,
    { realtime: () => realtime, functions: () => shownFunctions },
    toolsOfRoutes,
  )
  const storage = has('storage')
    ? await startStorage({
        ...shared,
        current,
        verifier,
        checksSessions,
        isEmbedded: env[embeddedVariable] !== undefined,
      })
    : undefined
  const analysis = has('analysis')
    ? createAnalysis({
        config,
        caller: {
          ...sessions,
          allowedOrigins,
          lookupApiKey,
          verifier,
          checksSessions,
          anonymousRole: () => current().dbAnonRole,
        },
        database,
        keeper: storage && createImageKeeper(storage.context, config.imageBucket),
        runValidator: validator.forTable('public', 'classification_runs'),
        documentation: new Map([...routers].filter(([segment]) => segment === 'docs' || segment === 'openapi.json')),
        observer: { ...metrics.analysis, warned: warn },
        observeSocket: options.recorder?.socket,
        onError,
      })
    : undefined
  const realtime = has('realtime') ? startRealtime(parts) : undefined
  const functions = has('functions')
    ? startFunctionsService({ ...parts, onLog: (entry) => options.log.write({ kind: 'function', ...entry }) })
    : undefined
  const shownFunctions = functions && consoleRouter ? functionsOfProcesses(functions, options.workers) : undefined
  const engine = explainingEngine(options, () => current().explainRoles)
  const mcp = has('mcp') ? startTools(parts, engine) : undefined
  const listener = createApp({
    rest: has('rest') ? nodeHandler(engine, { basePath: config.restBasePath, onError }) : undefined,
    restBasePath: config.restBasePath,
    services: withRouter(signIn ? withAuth(routers, signIn.auth) : routers, 'console', consoleRouter),
    analysis: analysis && { path: config.imageBasePath, router: analysis.router },
    storage: storage?.handler,
    realtime: realtime?.handler,
    functions: functions?.handler,
    mcp: mcp?.handler,
    missing: missingServices({
      services: config.services,
      restPath: has('rest') ? basePathOf(config.restBasePath) : '/rest/v1',
      allowedOrigins,
    }),
    refuse: refuseWhenOverloaded(parts),
    log: options.log,
    recorder: options.recorder,
  })
  const schedules = has('schedules') ? startSchedules(parts) : undefined
  const webhooks = has('webhooks')
    ? createWebhooks({ ...parts, settings: parts.current, notices: parts.callNotices })
    : undefined
  return { listener, analysis, auth: signIn?.auth, storage, realtime, schedules, functions, webhooks, mcp }
}

const withRouter = (
  routers: ReadonlyMap<string, Router>,
  segment: string,
  router: Router | undefined,
): ReadonlyMap<string, Router> => (router ? new Map([...routers, [segment, router]]) : routers)

/** The service at `/realtime/v1`. An overloaded server refuses new sockets, and keeps those that are open. */
const startRealtime = (parts: Parts): RealtimeService =>
  createRealtime({
    ...parts,
    settings: parts.current,
    logConnection:
      parts.config.realtimeDatabaseUrl === null
        ? toPoolConfig(parts.uri, parts.env, 'read-write')
        : toPoolConfig(parts.config.realtimeDatabaseUrl, parts.env),
    observeSocket: parts.recorder?.socket,
    isOverloaded: () => {
      const reason = parts.shedding.reasonFor('GET', false)
      if (reason !== undefined) parts.shedding.refused(reason)
      return reason !== undefined
    },
  })

/** What runs the jobs of `cron.job`: by default, those of the role that migrates. */
function startSchedules(parts: Parts): SchedulesService {
  const { config, env, uri } = parts
  const uris =
    config.schedulesDatabaseUrl.length > 0 ? config.schedulesDatabaseUrl : [config.migrationDatabaseUrl ?? uri]
  return createSchedules({
    ...parts,
    settings: parts.current,
    logins: uris.map((login) => toPoolConfig(login, env, 'read-write')),
    notices: parts.scheduleNotices,
  })
}

/** The engine, which also explains requests for the roles of the setting. */
const explainingEngine = (options: CompositionOptions, roles: () => readonly string[]): Answering =>
  withExplanations(options.engine, () => options.explain({ ...undoing(options), roles }))

/** What runs requests of callers and undoes them. */
const undoing = ({ engine, database, validator, lookupApiKey, shedding, log, metrics }: CompositionOptions) => ({
  database,
  validator,
  snapshot: () => engine.snapshot,
  identify: (request: RestRequest) =>
    authenticate(
      request.header('authorization'),
      request.header('apikey'),
      engine.snapshot.loaded.verifier,
      lookupApiKey,
    ),
  counting: { query: database.query, onWarning: (message: string) => log.write({ kind: 'warning', message }) },
  onRequest: observeRest(log, metrics, shedding),
})

/** The tools for agents at `/mcp`. */
function startTools(parts: Parts, engine: Answering): McpService {
  const { env, configFile, isDevelopment, config } = parts
  const ownerUri = isDevelopment ? config.migrationDatabaseUrl : null
  const snapshot = (): Snapshot<ServiceSettings> => parts.engine.snapshot
  return startMcp({
    ...parts,
    engine,
    snapshot,
    preview: () => parts.preview(undoing(parts)),
    consoleTools: () => parts.console({ ...parts, env, configFile, ownerUri, config: parts.current, snapshot }),
  })
}

/** The routes that are described by tables: all but those of the REST API, `/auth/v1`, `/storage/v1` and the analysis. */
async function tablesOf(
  {
    engine,
    database,
    lookupApiKey,
    shedding,
    config,
    isDevelopment,
    tail,
    sessions,
    allowedOrigins,
    isStable,
    has,
    isEnding,
  }: Parts,
  signIn: ReturnType<typeof startSignIn> | undefined,
  unusableAnalysis: AnalysisService['unusable'],
): Promise<readonly RouteTable[]> {
  const { query } = database
  const accounts = has('auth') ? signIn?.accounts : undefined
  const imageAnalysis = async (): Promise<boolean> => {
    const reason = await unusableAnalysis()
    if (reason !== undefined) throw new NotReady(reason)
    return true
  }
  const tables: readonly RouteTable[] = serviceTables({
    ...sessions,
    services: config.services,
    accounts: accounts && { ...sessions, ...accounts },
    allowedOrigins,
    isStable,
    version,
    restBasePath: config.restBasePath,
    hasMailbox: signIn?.auth.context.mailer.mailbox !== undefined,
    hasConsole: tail !== undefined,
    // With `on`, as for the console itself, others may reach the server.
    isDevelopment: isDevelopment && config.console !== 'on',
    imageBasePath: has('analysis') ? config.imageBasePath : null,
    checks: {
      database: () => database.responds(),
      schemaCache: () => engine.snapshot.schemaCache !== undefined,
      running: () => !isEnding(),
      // At the root, the analysis has no such route of its own.
      ...(has('analysis') && config.imageBasePath === '/' ? { imageAnalysis } : {}),
    },
    overload: () => shedding.overload,
    document: serviceDocumentHandler({
      snapshot: () => engine.snapshot,
      query,
      database,
      lookupApiKey,
      cookieIdentity: (request) => cookieIdentity(request, sessions),
      schemas: await readUsedSchemas(config),
      version,
      routes: async () => describedRoutes([...tables, ...(await loadTables(config))]),
    }),
  })
  return tables
}
