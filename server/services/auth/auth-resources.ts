// What the handlers of `/auth/v1` need, and the codes that they send. Each member is an interface of a file of its own.
import type { AccessTokens } from './access-tokens.ts'
import type { AuthAdmin, AuthSubject, AuthUser } from './auth-caller.ts'
import type { AuthDatabase } from './auth-database.ts'
import type { AuthHooks } from './auth-hooks.ts'
import type { AuthLimits } from './auth-limits.ts'
import type { CodeMacs } from './code-macs.ts'
import type { Confirmations } from './confirmations.ts'
import type { CredentialRole } from './credential-role.ts'
import type { FlowStates } from './flow-states.ts'
import type { Providers } from './oauth/providers.ts'
import type { Mailer } from './mail/mailer.ts'
import type { Sessions } from './sessions.ts'
import type { AuthSettings } from './settings.ts'
import type { Passwords } from '../accounts/password.ts'
import type { RelyingParty } from './webauthn/relying-party.ts'
import type { DtoValidator } from '../../validation/validator.ts'
import type { AttemptLimits } from '../accounts/attempt-limit.ts'
import type { IncomingMessage } from 'node:http'

export type AuthResources = {
  /** Read at each request, because the settings can be reloaded. */
  readonly settings: () => AuthSettings
  /** Runs statements as `supabase_auth_admin`. */
  readonly database: AuthDatabase
  readonly accessTokens: AccessTokens
  readonly sessions: Sessions
  /** Hashing is bounded, together with the cookie door. */
  readonly passwords: Passwords
  /** Wrong passwords, together with the cookie door. */
  readonly attempts: AttemptLimits
  readonly limits: AuthLimits
  readonly hooks: AuthHooks
  readonly confirmations: Confirmations
  /** Sign-ins that continue in another request. */
  readonly flowStates: FlowStates
  /** Providers of OpenID Connect. */
  readonly providers: Providers
  readonly mailer: Mailer
  /** Keyed hashes of codes. */
  readonly codeMacs: CodeMacs
  /** Identifies callers; used by `defineAuthRoute`. */
  readonly callers: AuthCallers
  /** Finds the role for logs, metrics and traces; used by `defineAuthRoute`. */
  readonly credentialRole: CredentialRole
  /** The site that passkeys and security keys are for. */
  readonly relyingParty: () => RelyingParty
  /** What is wrong with an answer of an authenticator, by `schemas/auth-public-key-credential-dto.json`. */
  readonly credentialFaults: DtoValidator
  /** The claim `iss` of access tokens. */
  readonly issuer: () => string
  /** Public URL of `/auth/v1` for a request, without a slash at the end. */
  readonly externalUrl: (request: IncomingMessage) => string
  /** Number of proxies in front of this server. */
  readonly trustedProxies: number
  /** Whether the server is for development: an embedded database, and only clients on the same machine. */
  readonly isDevelopment: boolean
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Runs a task after the response; its errors are logged. `stop` waits for running tasks, for a bounded time. */
  readonly background: (task: () => Promise<void>) => void
  /** Logs a warning. */
  readonly warn: (message: string) => void
}

export type AuthCallers = {
  /**
   * @param allowsClients whether the token may be one of a client of the OAuth server, which acts for the user, but changes
   * nothing of the account
   * @throws AuthError 401 `no_authorization`; 403 `bad_jwt`, `user_not_found`, `session_not_found`, `user_banned`,
   * `no_authorization` for a client that is not allowed
   */
  readonly user: (request: IncomingMessage, allowsClients?: boolean) => Promise<AuthUser>
  /** The user of a token that was verified. @throws AuthError 403 `user_not_found`, `session_not_found`, `user_banned` */
  readonly userOf: (subject: AuthSubject) => Promise<AuthUser>
  /** @throws AuthError 401 `no_authorization`; 403 `bad_jwt`, `not_admin`, `no_authorization` for a client of the OAuth server */
  readonly admin: (request: IncomingMessage) => Promise<AuthAdmin>
}
