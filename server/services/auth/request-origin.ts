// Where a request comes from, for sessions, the audit log and limits.
import type { IncomingMessage } from 'node:http'
import { clientAddress, userAgentOf } from '../../http/client-address.ts'
import type { SessionOrigin } from './sessions.ts'

/** Address and User-Agent of the client. */
export const originOf = (
  request: IncomingMessage,
  { trustedProxies }: { readonly trustedProxies: number },
): SessionOrigin => ({
  ip: clientAddress(request, trustedProxies),
  userAgent: userAgentOf(request),
})

/** The audience that a request names in the header `X-JWT-AUD`; undefined if it names none. */
export function audienceOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const audience = headers['x-jwt-aud']
  return typeof audience === 'string' && audience !== '' ? audience : undefined
}
