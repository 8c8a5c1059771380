// Puts the parts of `/auth/v1` together.
import { crossOriginGuard } from '../../http/cross-origin.ts'
import { createRouter, type Router } from '../../http/router.ts'
import { dto } from '../../http/service-response.ts'
import type { ApiKeyLookup } from '../../identity/api-key/api-key-lookup.ts'
import type { JwtVerifier } from '../../identity/jwt/jwt.ts'
import type { TokenSigner } from '../../identity/jwt/token-signer.ts'
import type { Database } from '../../postgres/database.ts'
import type { DtoValidator } from '../../validation/validator.ts'
import type { AttemptLimits } from '../accounts/attempt-limit.ts'
import type { Passwords } from '../accounts/password.ts'
import { createAccessTokens } from './access-tokens.ts'
import type { AuthContext } from './auth-context.ts'
import { authDatabase } from './auth-database.ts'
import { createCodeMacs, type CodeKeySource } from './code-macs.ts'
import { BackgroundTasks } from './background-tasks.ts'
import { createCallers } from './callers.ts'
import { credentialRole } from './credential-role.ts'
import { authCrossOrigin, authDialect, authPath, readAuthBody } from './dialect.ts'
import { externalUrlOf } from './external-url.ts'
import { FlowStates } from './flow-states.ts'
import { liveHooks } from './hooks/live-hooks.ts'
import type { Limits } from '../limits.ts'
import { createAuthLimits } from './limit-counts.ts'
import { createConfirmations } from './mail/code-confirmations.ts'
import { CodeFlows } from './mail/code-flows.ts'
import { Mailer } from './mail/mailer.ts'
import { Providers } from './oauth/providers.ts'
import { createSessions } from './sessions.ts'
import type { AuthSettings } from './settings.ts'
import { relyingPartyOf } from './webauthn/relying-party.ts'

export type AuthOptions = {
  /** Read at each request, because the settings can be reloaded. */
  readonly settings: () => AuthSettings
  readonly database: Database
  readonly verifier: () => JwtVerifier
  readonly lookupApiKey: ApiKeyLookup
  /** Shared with the cookie door. */
  readonly passwords: Passwords
  readonly attempts: AttemptLimits
  readonly limits: Limits
  readonly signer: TokenSigner
  /** What the key of the hashes of codes is derived from; read at each use. */
  readonly keys: () => CodeKeySource
  readonly trustedProxies: number
  readonly isDevelopment: boolean
  /** Where this server listens, if nothing else is known: `http://localhost:3000`. */
  readonly ownOrigin: string
  readonly validator: { readonly forDto: (id: string) => DtoValidator }
  readonly allowedOrigins: () => readonly string[]
  readonly onError: (error: unknown) => void
  readonly warn: (message: string) => void
  /** Writes a block of several lines for people to read. */
  readonly print: (block: string) => void
}

export type AuthService = {
  /** To be mounted at `/auth/v1`. */
  readonly router: Router
  readonly context: AuthContext
  /** Waits for tasks that run after their responses, and for mails, for a bounded time. */
  readonly stop: () => Promise<void>
}

/**
 * Milliseconds that tasks and mails have to finish together when the server stops. The program waits a little longer, so
 * that the connections to the database are then closed in order.
 */
const stopTime = 4000

/** @throws HookSettingError */
export function createAuth(options: AuthOptions): AuthService {
  const { settings, lookupApiKey, verifier, passwords, attempts, trustedProxies, isDevelopment, warn } = options
  const database = authDatabase(options.database)
  const tasks = new BackgroundTasks(options.onError)
  const accessTokens = createAccessTokens({
    signer: options.signer,
    validMethods: () => settings().authJwtValidMethods,
    verifier,
    lookupApiKey,
  })
  const now = (): number => Date.now()
  const mailer = new Mailer({ settings, isDevelopment, print: options.print, warn })
  const codeMacs = createCodeMacs(options.keys)
  const codeFlows: CodeFlows = new CodeFlows(() => context, database, codeMacs, mailer)
  const hooks = liveHooks({ settings: () => settings().authHooks, database, warn })
  const ownUrl = `${options.ownOrigin}/auth/v1`
  const issuer = (): string => settings().authJwtIssuer ?? settings().apiExternalUrl ?? ownUrl
  const context: AuthContext = {
    settings,
    database,
    accessTokens,
    sessions: createSessions({
      settings,
      database,
      accessTokens,
      hooks,
      issuer,
      now,
    }),
    passwords,
    attempts,
    limits: createAuthLimits({ settings, limits: options.limits, trustedProxies }),
    get hooks() {
      return hooks()
    },
    flowStates: new FlowStates(database, () => settings().authExternalFlowStateExpiryDuration),
    providers: new Providers(settings, now),
    confirmations: createConfirmations(() => context, codeFlows, mailer),
    codeFlows,
    codeMacs,
    mailer,
    callers: createCallers({ settings, database, accessTokens }),
    credentialRole: credentialRole({ verifier, lookupApiKey }),
    relyingParty: () => relyingPartyOf(settings(), options.ownOrigin),
    credentialFaults: (credential) => options.validator.forDto(dto('AuthPublicKeyCredentialDto').$ref)(credential),
    issuer,
    externalUrl: (request) => settings().apiExternalUrl ?? externalUrlOf(request, ownUrl),
    trustedProxies,
    isDevelopment,
    now,
    background: (task) => tasks.run(task),
    warn,
  }
  return {
    router: authRouter({ ...options, context }),
    context,
    stop: async () => {
      const end = performance.now() + stopTime
      await tasks.drain(stopTime)
      await mailer.stop(Math.max(0, end - performance.now()))
    },
  }
}

/** Responds to every request below `/auth/v1`. */
export function authRouter({
  context,
  validator,
  allowedOrigins,
  onError,
}: Pick<AuthOptions, 'validator' | 'allowedOrigins' | 'onError'> & { readonly context: AuthContext }): Router {
  const rules = authCrossOrigin(() => context.settings().authCorsAllowedHeaders)
  const tools = { context, validator, readBody: readAuthBody, onError }
  const guards = [crossOriginGuard(allowedOrigins, rules)]
  const routes = async () => (await import('./auth-table.ts')).authRoutes
  return createRouter({ dialect: authDialect, basePath: authPath, routes, guards, tools })
}
