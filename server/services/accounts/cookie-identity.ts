// Identifies callers by the session cookie on routes that are open to everyone.
import type { IncomingMessage } from 'node:http'
import type { Identity } from '../../identity/identity.ts'
import { Failure } from '../../http/envelope.ts'
import { sessionIdentity, requireSession, type SessionSettings } from './session.ts'

/**
 * The identity of the request's session cookie; undefined without a valid cookie, and when sessions are not set up.
 * Does not extend the session.
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
