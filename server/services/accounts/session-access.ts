// Access rules of the account and report routes: callers with a session, or everyone.
import { failures } from '../../http/envelope.ts'
import type { Access } from '../../http/route.ts'
import { failure } from '../../http/service-response.ts'
import type { Identity } from '../../identity/identity.ts'
import { currentSession, sessionIdentity, requireSession, type Session, type SessionSettings } from './session.ts'

const session = { security: ['session'], errors: { 401: failure('You are not signed in.') } } as const

/** The caller's session, extended in its second half. 401 without a session. */
export const signedIn = (settings: SessionSettings): Access<Session> => ({
  ...session,
  identify: (request, response) => currentSession(request, response, settings),
})

/** The caller's session, not extended, for routes that end it. 401 without a session. */
export const endingSession = (settings: SessionSettings): Access<Session> => ({
  ...session,
  identify: (request) => requireSession(request, settings),
})

/** The identity of the caller's session. 401 without a session. */
export const signedInIdentity = (settings: SessionSettings): Access<Identity> => ({
  ...session,
  identify: async (request, response) => sessionIdentity(await currentSession(request, response, settings)),
})

/** Everyone. 503 when sessions are not set up. */
export const everyone = ({ sessionSecrets }: SessionSettings): Access<undefined> => ({
  security: [],
  errors: { 401: failure('The Authorization header has another scheme than Bearer.') },
  identify: () => {
    if (sessionSecrets.length === 0) throw failures.noSecrets()
    return undefined
  },
})
