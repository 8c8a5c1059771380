// What the services of the program are created from.
import { qualifiedKey } from '../catalogue/identifier.ts'
import type { Config, ServiceName } from '../config/config.ts'
import type { Environment } from '../config/config-sources.ts'
import { listensOnLoopback } from '../config/loopback.ts'
import type { ApiKeyChanges } from '../identity/api-key/api-key-changes.ts'
import type { ApiKeyLookup } from '../identity/api-key/api-key-lookup.ts'
import type { JwtVerifier } from '../identity/jwt/jwt.ts'
import type { ReplicaStatistics } from '../postgres/replicas/replica.ts'
import type { Engine } from '../rest/engine.ts'
import type { PasswordHasher } from '../services/accounts/hash-processes.ts'
import type { SessionSettings } from '../services/accounts/session.ts'
import { sessionLimits } from '../services/accounts/session-limits.ts'
import type { ChannelNotices } from '../services/channel-notices.ts'
import type { Validator } from '../validation/validator.ts'
import { isDevelopment } from './embedded-environment.ts'
import type { ServiceSettings } from './live-settings.ts'
import type { Log } from './operations/log.ts'
import type { LoadShedding } from './overload/load-shedding.ts'
import type { Metrics } from './operations/metrics.ts'
import type { RequestRecorder } from './operations/request-recorder.ts'
import type { RequestTail } from './operations/request-tail.ts'
import type { ServeTools } from './serve-tools.ts'
import type { ServingDatabase } from './serving-database.ts'
import type { WorkerQuestions } from './worker-questions.ts'

export type CompositionOptions = {
  /** Its settings have been loaded. */
  readonly engine: Engine<ServiceSettings>
  readonly database: ServingDatabase
  readonly metrics: Metrics
  readonly validator: Validator
  readonly lookupApiKey: ApiKeyLookup
  readonly keyChanges: ApiKeyChanges
  readonly peerNotices: ChannelNotices
  /** That the jobs of `cron.job` have changed. */
  readonly scheduleNotices: ChannelNotices
  /** That there are outgoing calls. */
  readonly callNotices: ChannelNotices
  readonly shedding: LoadShedding
  readonly log: Log
  /** Undefined: nothing is recorded of requests. */
  readonly recorder?: RequestRecorder | undefined
  /** The requests that the console watches; undefined without a console. */
  readonly tail: RequestTail | undefined
  readonly env: Environment
  /** Asks the other processes; undefined if this one is the only one. */
  readonly workers: WorkerQuestions | undefined
  /** Connection string of the login role. */
  readonly uri: string
  readonly isEnding: () => boolean
  readonly explain: ServeTools['explain']
  readonly preview: ServeTools['preview']
  readonly console: ServeTools['console']
  readonly configFile: string | undefined
  readonly replicas: () => readonly ReplicaStatistics[]
  /** See `ServiceOptions`. */
  readonly passwordHasher: PasswordHasher | undefined
}

/** What several services are created from. */
export type Parts = CompositionOptions & {
  /** The settings at the start. */
  readonly config: Config
  /** The settings, which can be reloaded. */
  readonly current: () => Config
  readonly verifier: () => JwtVerifier
  readonly checksSessions: () => boolean
  /** Whether the schema cache has proved that a relation can be read without calling a volatile function. */
  readonly isStable: (schema: string, name: string) => boolean
  readonly sessions: SessionSettings & { readonly database: ServingDatabase }
  /** Whether the database is embedded and only clients on the same machine can connect. */
  readonly isDevelopment: boolean
  readonly allowedOrigins: () => readonly string[]
  readonly has: (service: ServiceName) => boolean
  readonly onError: (error: unknown) => void
  readonly warn: (message: string) => void
}

export function partsOf(options: CompositionOptions): Parts {
  const { engine, database, log } = options
  const { config } = engine.snapshot
  return {
    ...options,
    config,
    current: () => engine.snapshot.config,
    verifier: () => engine.snapshot.loaded.verifier,
    checksSessions: () => engine.snapshot.checksSessions,
    isStable: (schema, name) => engine.snapshot.schemaCache?.stableRelations.has(qualifiedKey(schema, name)) === true,
    sessions: {
      database,
      query: database.query,
      sessionSecrets: config.sessionSecrets,
      secureCookies: config.secureCookies ?? !listensOnLoopback(config),
      trustedProxies: config.trustedProxies,
      sessionLimits: () => sessionLimits(engine.snapshot.config),
    },
    isDevelopment: isDevelopment(config, options.env),
    allowedOrigins: () => engine.snapshot.config.serverCorsAllowedOrigins,
    has: (service) => config.services.includes(service),
    onError: (error) => log.write({ kind: 'failure', error, requestId: null }),
    warn: (message) => log.write({ kind: 'warning', message }),
  }
}
