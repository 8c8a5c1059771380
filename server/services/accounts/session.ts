// Sessions: rows in the database, found by the hash of a random id that only the cookie has.
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Database } from '../../postgres/database.ts'
import type { RunQuery } from '../../postgres/run-query.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { Identity } from '../../identity/identity.ts'
import type { SessionOwner } from '../../postgres/identity-settings.ts'
import { askAccounts, fromAccounts, type Account } from './account.ts'
import type { CookieValue } from '../../http/cookie.ts'
import { failures } from '../../http/envelope.ts'
import { clientAddress, userAgentOf } from '../../http/client-address.ts'
import { sendSessionCookies, sessionCookies, type CookieSettings } from './session-cookie.ts'
import { limitsParameter, type SessionLimits } from './session-limits.ts'
import { noteRole } from '../../http/request-log.ts'

export type SessionSettings = CookieSettings & {
  readonly database: Pick<Database, 'ask'>
  /** Runs statements as `authenticator`. */
  readonly query: RunQuery
  /** Number of proxies in front of this server that add to `X-Forwarded-For`. */
  readonly trustedProxies: number
  /** Those of the settings, which can be reloaded. */
  readonly sessionLimits: () => SessionLimits
  /** Whether a session is always found by a statement of its own. By default, that is done only when needed. */
  readonly findsSessionsFirst?: boolean
}

export type Session = {
  /** Value of the cookie. */
  readonly cookie: CookieValue
  /** Public id; unlike that of the cookie, it may be shown. */
  readonly id: string
  readonly account: Account
  /** Whether the address of the account is confirmed: only then it is a claim. */
  readonly isEmailConfirmed: boolean
  /** The claim `app_role`, if the account has one. */
  readonly appRole: string | null
  /** The claim `aal`: `aal2` after a second factor. */
  readonly aal: string
  readonly registeredAt: Date
  readonly createdAt: Date
  /** Null for a session of tokens without a fixed end. */
  readonly expiresAt: Date | null
  /** When the use of the session was last noted. */
  readonly usedAt: Date
}

/** Seconds until a session ends, unless it is used in its second half. */
const lifetime = 14 * 24 * 60 * 60
/** Seconds after which a session ends in any case. */
const longest = 90 * 24 * 60 * 60

/** A cookie and its session are extended when they last less than this, in seconds. */
const half = lifetime / 2

const hashOf = (secretId: string): Buffer => createHash('sha256').update(secretId).digest()
const now = (): number => Math.floor(Date.now() / 1000)
const secondsOf = (date: Date): number => Math.floor(date.getTime() / 1000)

/**
 * Begins a session of the user with a new id, and sets its cookies on the response.
 *
 * @param passwordHash hash that the password was compared with
 * @returns false when the password was changed meanwhile, or the account was banned or deleted
 */
export async function beginSession(
  request: IncomingMessage,
  response: ServerResponse,
  { userId, passwordHash }: { readonly userId: string; readonly passwordHash: string },
  settings: SessionSettings,
): Promise<boolean> {
  const id = randomBytes(32).toString('base64url')
  const [row] = await askAccounts(
    settings.query,
    "select auth.create_session($1, $2, $3, $4 * interval '1 second', $5, $6) as expires_at",
    [
      userId,
      passwordHash,
      hashOf(id),
      lifetimeOf(settings),
      userAgentOf(request),
      clientAddress(request, settings.trustedProxies),
    ],
  )
  if (!(row?.expires_at instanceof Date)) return false
  sendSessionCookies(response, { id, expires: now() + lifetimeOf(settings) }, settings)
  return true
}

/** Seconds that a new session lasts. */
const lifetimeOf = ({ sessionLimits }: Pick<SessionSettings, 'sessionLimits'>): number =>
  Math.min(lifetime, sessionLimits().timebox ?? Infinity)

/**
 * Gives a session of tokens a cookie, and sets it on the response. Until it ends, the session has both.
 *
 * @param token the ids of the session and of its user
 * @returns the account; undefined when the session has ended, or the account is banned or has no address
 */
export async function addCookie(
  response: ServerResponse,
  token: { readonly sessionId: string; readonly userId: string },
  settings: SessionSettings,
): Promise<Account | undefined> {
  const id = randomBytes(32).toString('base64url')
  const [row] = await askAccounts(
    settings.query,
    'select email, first_name, last_name, expires_at from auth.add_cookie($1, $2, $3, $4)',
    [token.sessionId, token.userId, hashOf(id), limitsParameter(settings.sessionLimits())],
  )
  if (!row) return undefined
  const { email, first_name, last_name, expires_at } = row as CookieRow
  const expires = Math.min(now() + lifetime, expires_at === null ? Infinity : secondsOf(expires_at))
  sendSessionCookies(response, { id, expires }, settings)
  return { id: token.userId, email, firstName: first_name, lastName: last_name }
}

type CookieRow = { email: string; first_name: string; last_name: string | null; expires_at: Date | null }

/**
 * The session of the request's cookie. In the second half of its lifetime it is extended, and its cookies are set
 * again.
 *
 * @throws Failure 401 when the cookie is missing, forged or expired, or its session was revoked or has ended
 */
export async function currentSession(
  request: IncomingMessage,
  response: ServerResponse,
  settings: SessionSettings,
): Promise<Session> {
  const session = await requireSession(request, settings)
  noteRole(response, sessionIdentity(session).role)
  await renew(session, response, settings)
  return session
}

/**
 * The session of the request's cookie, not extended.
 *
 * @throws Failure 401
 */
export async function requireSession(request: IncomingMessage, settings: SessionSettings): Promise<Session> {
  if (settings.sessionSecrets.length === 0) throw failures.noSecrets()
  const [session] = await findSessions(request, settings)
  if (!session) throw failures.notSignedIn()
  return session
}

/**
 * The owner of the session of the request's cookie, to be looked up together with the first statement that acts for
 * them. Undefined if more than one cookie is genuine, or the cookie is about to be extended.
 */
export function sessionOwner({ headers }: IncomingMessage, settings: SessionSettings): SessionOwner | undefined {
  const [cookie, another] = sessionCookies(headers, settings)
  if (!cookie || another || cookie.expires <= now() + half) return undefined
  const limits = settings.sessionLimits()
  // Under a limit of inactivity, the use has to be noted.
  if (limits.inactivity !== null) return undefined
  return { sessionHash: hashOf(cookie.id), remaining: half, limits: limitsParameter(limits) }
}

/**
 * Ends every session that the request has a genuine cookie of, when signing in replaces them.
 *
 * @param except id of a session that continues
 */
export async function revokeSessionsOf(
  request: IncomingMessage,
  settings: SessionSettings,
  except?: string,
): Promise<void> {
  for (const session of await findSessions(request, settings)) {
    if (session.id !== except) await revokeSession(request, session, settings)
  }
}

/** In the order of the cookies, which are looked up with one statement, however many there are. */
async function findSessions(request: IncomingMessage, settings: SessionSettings): Promise<Session[]> {
  const cookies = sessionCookies(request.headers, settings)
  if (cookies.length === 0) return []
  const hashes = JSON.stringify(cookies.map(({ id }) => hashOf(id).toString('hex')))
  const values = [hashes, limitsParameter(settings.sessionLimits())]
  const rows = (await fromAccounts(() => settings.database.ask(sessionsOfHashes, undefined, values))) as FoundRow[]
  return rows.flatMap(({ place, session }) => {
    const cookie = cookies[place - 1]
    return cookie ? [sessionOf(cookie, session)] : []
  })
}

/** Runs for every request with a session. The function is ours, and writes nothing. */
const sessionsOfHashes = new JsonStatement(
  "select json_build_object('place', place, 'session', row_to_json(found)) " +
    'from json_array_elements_text($1::json) with ordinality as given(hash, place) ' +
    "cross join lateral auth.find_session(decode(hash, 'hex'), $2) as found order by place",
  { access: 'read', hasNoEffect: true },
)

type FoundRow = { readonly place: number; readonly session: SessionRow }

function sessionOf(cookie: CookieValue, row: SessionRow): Session {
  const { id, user_id, email, first_name, last_name, app_role, aal, registered_at, created_at, expires_at } = row
  return {
    cookie,
    id,
    account: { id: user_id, email, firstName: first_name, lastName: last_name },
    isEmailConfirmed: row.email_confirmed,
    appRole: app_role,
    aal,
    registeredAt: new Date(registered_at),
    createdAt: new Date(created_at),
    expiresAt: expires_at === null ? null : new Date(expires_at),
    usedAt: new Date(row.used_at),
  }
}

type SessionRow = {
  id: string
  user_id: string
  email: string
  first_name: string
  last_name: string | null
  app_role: string | null
  aal: string
  registered_at: string
  created_at: string
  expires_at: string | null
  email_confirmed: boolean
  used_at: string
}

/** Extends a session in its second half, and notes its use for the limit of inactivity. */
async function renew(session: Session, response: ServerResponse, settings: SessionSettings): Promise<void> {
  const soon = now() + half
  const { cookie, createdAt } = session
  const { timebox, inactivity } = settings.sessionLimits()
  const noted = inactivity === null ? Infinity : secondsOf(session.usedAt) + inactivity / 10
  if (noted <= now()) await askAccounts(settings.query, 'select auth.note_use($1)', [hashOf(cookie.id)])
  // A session without a fixed end needs no extension, only its cookie does.
  const end = session.expiresAt === null ? Infinity : secondsOf(session.expiresAt)
  if (Math.min(cookie.expires, end) > soon) return
  let expires = Math.min(end, now() + lifetime)
  const maxAge = Math.min(longest, timebox ?? Infinity)
  if (end <= soon && Math.min(now() + lifetime, secondsOf(createdAt) + maxAge) > end) {
    const [row] = await askAccounts(
      settings.query,
      "select auth.extend_session($1, $2 * interval '1 second', $3 * interval '1 second') as expires_at",
      [hashOf(cookie.id), lifetime, maxAge],
    )
    // The session has just ended. The request continues, and the cookie stays as it is.
    if (!(row?.expires_at instanceof Date)) return
    expires = secondsOf(row.expires_at)
  }
  // Another request may have extended the session, and its response may have been lost.
  if (expires > cookie.expires) sendSessionCookies(response, { id: cookie.id, expires }, settings)
}

/** Ends the session for good, for all copies of its cookie, and with its refresh tokens. */
export async function revokeSession(
  request: IncomingMessage,
  { cookie }: Session,
  { query, trustedProxies }: SessionSettings,
): Promise<void> {
  await askAccounts(query, 'select auth.revoke_session($1, $2)', [
    hashOf(cookie.id),
    clientAddress(request, trustedProxies),
  ])
}

export type ListedSession = {
  readonly id: string
  readonly createdAt: Date
  /** When the session was last refreshed or extended. */
  readonly refreshedAt: Date | null
  /** Null for a session of tokens without a fixed end. */
  readonly expiresAt: Date | null
  /** Whether the session has a cookie; otherwise it only has tokens. */
  readonly hasCookie: boolean
  readonly userAgent: string | null
  /** The passkey by which the session began; its name is null once it was deleted. */
  readonly passkey: { readonly id: string; readonly name: string | null } | null
}

/** The sessions of a user that have not ended, with cookies and with tokens, newest first, at most 100. */
export async function listSessions(
  userId: string,
  { query, sessionLimits }: Pick<SessionSettings, 'query' | 'sessionLimits'>,
): Promise<readonly ListedSession[]> {
  const rows = await askAccounts(
    query,
    'select id, created_at, refreshed_at, expires_at, has_cookie, user_agent, passkey from auth.list_sessions($1, $2)',
    [userId, limitsParameter(sessionLimits())],
  )
  return rows.map((row) => {
    const listed = row as ListedRow
    return {
      id: listed.id,
      createdAt: listed.created_at,
      refreshedAt: listed.refreshed_at,
      expiresAt: listed.expires_at,
      hasCookie: listed.has_cookie,
      userAgent: listed.user_agent,
      passkey: listed.passkey,
    }
  })
}

type ListedRow = {
  id: string
  created_at: Date
  refreshed_at: Date | null
  expires_at: Date | null
  has_cookie: boolean
  user_agent: string | null
  passkey: ListedSession['passkey']
}

/**
 * Ends the user's session with that id, or with `others` all but the given session. Returns how many were ended.
 *
 * @throws Failure 403 for another session, if the user has a second factor that the given session has not used
 */
export async function revokeNamedSessions(session: Session, id: string, query: RunQuery): Promise<number> {
  const [row] = await askAccounts(query, 'select auth.revoke_own_sessions($1, $2, $3) as revoked', [
    session.account.id,
    session.id,
    id === 'others' ? null : id,
  ])
  return Number(row?.revoked)
}

/** The role and claims of the session's user in the database. The address is a claim only if it is confirmed. */
export const sessionIdentity = ({ account: { id, email }, isEmailConfirmed, appRole, aal }: Session): Identity => ({
  role: 'authenticated',
  claims: { sub: id, ...(isEmailConfirmed ? { email } : {}), aal, ...(appRole === null ? {} : { app_role: appRole }) },
})
