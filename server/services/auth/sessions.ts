// Sessions with access and refresh tokens.
import type { AccessTokens } from './access-tokens.ts'
import type { AuthDatabase } from './auth-database.ts'
import type { AuthHooks } from './auth-hooks.ts'
import type { AuthSettings } from './settings.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { jsonObject, jsonTexts } from '../../text/json-members.ts'
import { issuedParts, tokenPayload, type IssuedParts, type IssuedRow, type PayloadOptions } from './token-payload.ts'

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
  | 'passkey'
  | 'oauth_provider/authorization_code'
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
 * "refresh_token"}, "user": <record of the user>, "app_role"}`. Functions of other parts that start or raise a session return
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
  /** The claims of an access token of a session, as the hook for access tokens returns them, as JSON text. */
  readonly claims: (started: StartedSession, times: Omit<PayloadOptions, 'issuer'>) => Promise<string>
}

export type SessionOptions = {
  readonly settings: () => AuthSettings
  readonly database: AuthDatabase
  readonly accessTokens: AccessTokens
  readonly hooks: () => AuthHooks
  /** The claim `iss`. */
  readonly issuer: () => string
  /** Milliseconds since 1970. */
  readonly now: () => number
}

const startSession = new JsonStatement('select auth.start_session($1, $2, $3, $4, $5)', { access: 'write' })

export function createSessions({ settings, database, accessTokens, hooks, issuer, now }: SessionOptions): Sessions {
  const claimsOf = async (
    parts: IssuedParts,
    times: Omit<PayloadOptions, 'issuer'>,
    method: AmrMethod,
  ): Promise<string> => {
    const payload = tokenPayload(parts, { issuer: issuer(), ...times })
    return (await hooks().customAccessToken?.(payload, method)) ?? payload
  }
  const respond: Sessions['respond'] = async (started, { method, members = {} }) => {
    const parts = issuedParts(started)
    const { userText, session } = parts
    const issuedAt = Math.floor(now() / 1000)
    const expiresAt = expiryOf(session, issuedAt, settings())
    const accessToken = await accessTokens.sign(await claimsOf(parts, { issuedAt, expiresAt }, method))
    const expiresIn = expiresAt - issuedAt
    const text = jsonObject({
      access_token: JSON.stringify(accessToken),
      token_type: '"bearer"',
      expires_in: String(expiresIn),
      expires_at: String(expiresAt),
      refresh_token: JSON.stringify(session.refresh_token),
      user: userText,
      ...jsonTexts(members),
    })
    return { text, accessToken, refreshToken: session.refresh_token, expiresIn, expiresAt }
  }
  return {
    respond,
    claims: (started, times) => claimsOf(issuedParts(started), times, 'token_refresh'),
    start: async (userId, method, { ip, userAgent }, { provider, members } = {}) => {
      const traits = provider === undefined ? null : JSON.stringify({ provider })
      const [row] = await database.askRows(startSession, [userId, method, ip, userAgent, traits])
      return respond(row?.[0] ?? '', { method, ...(members === undefined ? {} : { members }) })
    },
  }
}

/** Seconds since 1970. A session that lacks the user's second factor may have a limit of its own. */
function expiryOf(session: IssuedRow, issuedAt: number, { authJwtExp, authSessionsAllowLowAal }: AuthSettings): number {
  const expiry = issuedAt + authJwtExp
  if (authSessionsAllowLowAal === null || session.aal !== 'aal1' || !session.has_verified_factor) return expiry
  return Math.min(expiry, Math.floor(session.created_at + authSessionsAllowLowAal))
}
