// The session cookie as one of the ways to say who asks, for routes that are open to everyone.
import type { IncomingMessage } from 'node:http'
import type { Identity } from '../../identity/identity.ts'
import { Failure } from '../../http/envelope.ts'
import { sessionIdentity, requireSession, type SessionSettings } from './session.ts'

/**
 * As whom the request's session cookie lets it act; undefined without a valid one, and where there are no sessions. The
 * session is not extended.
 */
export async function cookieIdentity(
  request: IncomingMessage,
  settings: SessionSettings,
): Promise<Identity | undefined> {
  if (request.headers.cookie === undefined || settings.sessionSecrets.length === 0) return undefined
  try {
    return sessionIdentity(await requireSession(request, settings))
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}
