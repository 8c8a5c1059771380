// Authenticates callers of the image analysis by bearer token, API key or session cookie, or as anonymous.
import type { IncomingMessage } from 'node:http'
import { clientNetwork } from '../../http/client-address.ts'
import { cookieIdentity } from '../accounts/cookie-identity.ts'
import { isTrustedOrigin } from '../../http/cross-origin.ts'
import type { SessionSettings } from '../accounts/session.ts'
import { sqlState } from '../../postgres/database-error.ts'
import type { ApiKeyLookup } from '../../identity/api-key/api-key-lookup.ts'
import { authenticate } from '../../identity/authenticate.ts'
import { bearerToken } from '../../identity/bearer.ts'
import type { Identity } from '../../identity/identity.ts'
import type { JwtVerifier } from '../../identity/jwt/jwt.ts'
import { checkSession, namedSession, sessionValues } from '../../rest/sql/session.ts'
import { problems } from './problem.ts'

export type CallerSettings = SessionSettings & {
  readonly lookupApiKey: ApiKeyLookup
  /** The getters are called for each request, because settings can be reloaded. */
  readonly verifier: () => JwtVerifier
  readonly anonymousRole: () => string | null
  /** See `Snapshot`. */
  readonly checksSessions: () => boolean
  readonly allowedOrigins: () => readonly string[]
  /** Whether requests without credentials are accepted. */
  readonly anonymous: boolean
  readonly trustedProxies: number
}

export type Caller = {
  /** Undefined for callers without credentials. */
  readonly identity: Identity | undefined
  /** Whether the caller has no credentials, or only a publishable key. */
  readonly isAnonymous: boolean
  /** What the rate limit counts by: the user, or the network of an anonymous caller. */
  readonly counted: { readonly kind: 'user' | 'network'; readonly name: string }
}

/**
 * The caller of a request.
 *
 * @throws ApiError or Failure 401 for invalid credentials; Problem 401 for missing ones where they are required
 */
export async function callerOf(request: IncomingMessage, settings: CallerSettings): Promise<Caller> {
  const identity = await identityOf(request, settings)
  const isAnonymous = identity === undefined || identity.role === settings.anonymousRole()
  if (isAnonymous && !settings.anonymous) throw problems.notAuthenticated('Not authenticated')
  const { sub } = identity?.claims ?? {}
  const counted =
    typeof sub === 'string' && !isAnonymous
      ? ({ kind: 'user', name: sub } as const)
      : ({ kind: 'network', name: clientNetwork(request, settings.trustedProxies) } as const)
  return { identity, isAnonymous, counted }
}

async function identityOf(request: IncomingMessage, settings: CallerSettings): Promise<Identity | undefined> {
  const { authorization, apikey } = request.headers
  if (authorization === undefined && apikey === undefined) {
    // Browsers attach cookies to requests from any page, so only pages of allowed origins act as the user.
    return isTrustedOrigin(request, settings.allowedOrigins()) ? cookieIdentity(request, settings) : undefined
  }
  if (authorization !== undefined && bearerToken(authorization) === undefined) {
    throw problems.notAuthenticated('The Authorization header must have the scheme Bearer')
  }
  const key = Array.isArray(apikey) ? apikey[0] : apikey
  const identity = await authenticate(authorization, key, settings.verifier(), settings.lookupApiKey)
  const named = settings.checksSessions() ? namedSession(identity) : undefined
  if (named) {
    try {
      await settings.query(`select ${checkSession('$1', '$2', '$3')}`, [...sessionValues(named)])
    } catch (error) {
      // The message raised by the function is meant for the REST API.
      if (sqlState(error) === 'PGRST') throw problems.notAuthenticated('The session of this token has ended')
      throw error
    }
  }
  return identity
}
