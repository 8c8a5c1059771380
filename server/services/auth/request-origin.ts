// Where a request comes from, for sessions, the audit log and limits.
import type { IncomingMessage } from 'node:http'
import { clientAddress, userAgentOf } from '../../http/client-address.ts'
import { authErrors } from './auth-error.ts'
import type { AuthSettings } from './settings.ts'
import type { SessionOrigin } from './sessions.ts'

/** Address and User-Agent of the client. */
export const originOf = (
  request: IncomingMessage,
  { trustedProxies }: { readonly trustedProxies: number },
): SessionOrigin => ({
  ip: clientAddress(request, trustedProxies),
  userAgent: userAgentOf(request),
})

/**
 * The audience of the users that a request is about: that of the header `X-JWT-AUD`, if the settings allow it, otherwise
 * GOTRUE_JWT_AUD. It becomes the claim `aud` of signed tokens, so that callers must not choose it freely.
 *
 * @throws AuthError 400 for an audience that is not allowed
 */
export function audienceOf(
  request: Pick<IncomingMessage, 'headers'>,
  { authJwtAud, authJwtAllowedAudiences }: Pick<AuthSettings, 'authJwtAud' | 'authJwtAllowedAudiences'>,
): string {
  const allowed = [authJwtAud, ...authJwtAllowedAudiences]
  const wanted = namedAudience(request) ?? authJwtAud
  if (allowed.includes(wanted)) return wanted
  throw authErrors.invalid(
    `X-JWT-AUD must be one of ${allowed.map((name) => JSON.stringify(name)).join(', ')} (GOTRUE_JWT_AUD, ` +
      'GOTRUE_JWT_ALLOWED_AUDIENCES)',
  )
}

/** Characters, as in the column. */
const longestAudience = 255

/**
 * The audience that a request names in the header `X-JWT-AUD`; undefined if it names none. For administrators.
 *
 * @throws AuthError 400 for one that is too long
 */
export function namedAudience({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const audience = headers['x-jwt-aud']
  if (typeof audience !== 'string' || audience === '') return undefined
  if (audience.length <= longestAudience) return audience
  throw authErrors.invalid(`X-JWT-AUD must not have more than ${longestAudience} characters`)
}
