// Access rules of the account and report routes: callers with a session, or everyone.
import { failures } from '../../http/envelope.ts'
import type { Access } from '../../http/envelope-dialect.ts'
import { failure } from '../../http/service-response.ts'
import { SessionCaller } from './session-caller.ts'
import { currentSession, requireSession, type Session, type SessionSettings } from './session.ts'

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

/** The caller's session, looked up by the first statement that acts for the caller. 401 without a session. */
export const signedInCaller = (settings: SessionSettings): Access<SessionCaller> => ({
  ...session,
  identify: (request, response) => new SessionCaller(request, response, settings).prepare(),
  confirm: (caller) => caller.confirm(),
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
