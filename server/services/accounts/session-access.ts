// Who may call the routes of accounts and of what belongs to them: callers with a session, or everyone.
import { failures } from '../../http/envelope.ts'
import type { Access } from '../../http/route.ts'
import { failure } from '../../http/service-answer.ts'
import type { Identity } from '../../identity/identity.ts'
import { currentSession, sessionIdentity, requireSession, type Session, type SessionSettings } from './session.ts'

const session = { security: ['session'], errors: { 401: failure('Nobody is signed in.') } } as const

/** The caller's session, extended when it is time. 401 without one. */
export const signedIn = (settings: SessionSettings): Access<Session> => ({
  ...session,
  identify: (request, response) => currentSession(request, response, settings),
})

/** The caller's session, left as it is, for routes that end it. 401 without one. */
export const endingSession = (settings: SessionSettings): Access<Session> => ({
  ...session,
  identify: (request) => requireSession(request, settings),
})

/** As whom the caller's session acts in the database. 401 without one. */
export const signedInIdentity = (settings: SessionSettings): Access<Identity> => ({
  ...session,
  identify: async (request, response) => sessionIdentity(await currentSession(request, response, settings)),
})

/** Everyone, where sessions are set up: 503 else. */
export const everyone = ({ sessionSecrets }: SessionSettings): Access<undefined> => ({
  security: [],
  errors: { 401: failure('The Authorization header has another scheme than Bearer.') },
  identify: () => {
    if (sessionSecrets.length === 0) throw failures.noSecrets()
    return undefined
  },
})
