// Where a session is started from.
import type { Request } from 'express'
import { clientAddress } from '../../http/client-address.ts'
import type { SessionOrigin } from './sessions.ts'

const longestUserAgent = 1000

/** Client address and User-Agent of a request. */
export const sessionOrigin = (request: Request, trustedProxies: number): SessionOrigin => ({
  ip: clientAddress(request, trustedProxies),
  userAgent: request.headers['user-agent']?.slice(0, longestUserAgent) ?? null,
})
