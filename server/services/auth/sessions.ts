// Sessions with access and refresh tokens.
import type { AuthError } from './auth-error.ts'

/** Methods of the claim `amr`. */
export type AmrMethod =
  | 'password'
  | 'otp'
  | 'oauth'
  | 'totp'
  | 'recovery'
  | 'invite'
  | 'magiclink'
  | 'email/signup'
  | 'email_change'
  | 'anonymous'
  | 'token_refresh'
  | 'sso/saml'
  | 'web3'
  | 'mfa/phone'
  | 'mfa/webauthn'
  | 'mfa/recovery_code'

/** Where a session is started from. */
export type SessionOrigin = {
  /** Address of the client, for the column `ip`; null if unknown. */
  readonly ip: string | null
  readonly userAgent: string | null
}

/**
 * What `auth.start_session(…)` and `auth.refresh_session(…)` return, as JSON text: `{"session": {"id", "aal", "amr",
 * "refresh_token"}, "user": <user object>, "app_role"}`. Functions of other parts that start or raise a session return
 * the same, and pass it to `Sessions.respond`.
 */
export type StartedSession = string

export type SessionExtras = {
  /** Why the tokens are issued, for the custom access token hook: an `AmrMethod`. */
  readonly method: AmrMethod
  /** Further members of the response: `provider_token`, `weak_password`. */
  readonly members?: Readonly<Record<string, unknown>>
}

/** A response with a session, and its parts for redirects. */
export type IssuedSession = {
  /** `{access_token, token_type, expires_in, expires_at, refresh_token, user}` */
  readonly text: string
  readonly accessToken: string
  readonly refreshToken: string
  /** Seconds. */
  readonly expiresIn: number
  /** Seconds since 1970. */
  readonly expiresAt: number
}

export type Sessions = {
  /**
   * Starts a session of a user who has just been authenticated, in one round trip.
   *
   * @param provider of the claim `amr`, for sign-in with a provider
   * @throws AuthError 400 `user_banned`; 403 `user_not_found`
   */
  readonly start: (
    userId: string,
    method: AmrMethod,
    origin: SessionOrigin,
    extras?: { readonly provider?: string; readonly members?: SessionExtras['members'] },
  ) => Promise<IssuedSession>
  /** Signs the access token of a session that a function of the database has started or changed. */
  readonly respond: (started: StartedSession, extras: SessionExtras) => Promise<IssuedSession>
}

/** For documentation: errors of the database come as AuthError. */
export type SessionFailure = AuthError
