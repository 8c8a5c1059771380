// Sessions: rows in the database, named by a random id that only the cookie holds.
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Query } from '../database/transaction.ts'
import type { Identity } from '../identity/identity.ts'
import { askAccounts } from './account.ts'
import { cookieValues, setCookie, signCookie, verifyCookie } from './cookie.ts'
import { failures } from './envelope.ts'

export type SessionSettings = {
  /** Runs statements as `authenticator`. */
  readonly query: Query
  /** The newest first. Empty: there are no sessions. */
  readonly sessionSecrets: readonly string[]
  readonly secureCookies: boolean
}

export type Session = {
  /** What the cookie holds. */
  readonly secretId: string
  /** What may be shown. */
  readonly id: string
  readonly userId: string
  readonly email: string
  readonly expiresAt: Date
}

const cookieName = 'session'
const maxCookies = 8
/** Seconds. */
const lifetime = 14 * 24 * 60 * 60

const hashOf = (secretId: string): Buffer => createHash('sha256').update(secretId).digest()
const now = (): number => Math.floor(Date.now() / 1000)

/** Begins a session of the user, and sets its cookie on the response. */
export async function beginSession(response: ServerResponse, userId: string, settings: SessionSettings): Promise<void> {
  const id = randomBytes(32).toString('base64url')
  await askAccounts(settings.query, "select auth.create_session($1, $2, $3 * interval '1 second')", [
    userId,
    hashOf(id),
    lifetime,
  ])
  const text = signCookie(cookieName, { id, expires: now() + lifetime }, settings.sessionSecrets)
  response.appendHeader('Set-Cookie', setCookie(cookieName, text, lifetime, settings.secureCookies))
}

/**
 * The session that the request's cookie names.
 *
 * @throws Failure 401 when the cookie is absent, forged or expired, or its session is revoked or over
 */
export async function currentSession(request: IncomingMessage, settings: SessionSettings): Promise<Session> {
  if (settings.sessionSecrets.length === 0) throw failures.noSecrets()
  // A cookie that somebody set for a part of the site must not hide the genuine one.
  for (const text of cookieValues(request.headers.cookie, cookieName).slice(0, maxCookies)) {
    const verified = verifyCookie(cookieName, text, settings.sessionSecrets, now())
    if (verified.kind !== 'valid') continue
    const session = await findSession(verified.value.id, settings.query)
    if (session) return session
  }
  throw failures.notSignedIn()
}

async function findSession(secretId: string, query: Query): Promise<Session | undefined> {
  const [row] = await askAccounts(query, 'select id, user_id, email, expires_at from auth.find_session($1)', [
    hashOf(secretId),
  ])
  if (!row) return undefined
  const { id, user_id: userId, email, expires_at: expiresAt } = row as SessionRow
  return { secretId, id, userId, email, expiresAt }
}

type SessionRow = { id: string; user_id: string; email: string; expires_at: Date }

/** Ends the session for good, wherever its cookie is. */
export async function revokeSession(session: Session, query: Query): Promise<void> {
  await askAccounts(query, 'select auth.revoke_session($1)', [hashOf(session.secretId)])
}

export function clearSessionCookie(response: ServerResponse, { secureCookies }: SessionSettings): void {
  response.appendHeader('Set-Cookie', setCookie(cookieName, '', 0, secureCookies))
}

/** As whom the session's user acts in the database. */
export const sessionIdentity = ({ userId, email }: Session): Identity => ({
  role: 'authenticated',
  claims: { sub: userId, email },
})
