// Sessions of the console: rows in the database, found by the hash of a random cookie.
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { clientNetwork } from '../../http/client-address.ts'
import { cookieValues, setCookie } from '../../http/cookie.ts'
import { isTrustedOrigin } from '../../http/cross-origin.ts'
import { Failure } from '../../http/envelope.ts'
import type { Access } from '../../http/envelope-dialect.ts'
import { failure } from '../../http/service-response.ts'
import { hashApiKey } from '../../identity/api-key/api-key.ts'
import { CredentialError } from '../../identity/credential-error.ts'
import type { Identity } from '../../identity/identity.ts'
import { sqlState } from '../../postgres/database-error.ts'
import { checkSession, namedSession, type NamedSession } from '../../rest/sql/session.ts'
import { countForNetwork } from '../accounts/attempt-limit.ts'
import { authAdmin } from '../auth/auth-database.ts'
import { databaseLimits, type Limit } from '../limits.ts'
import type { ConsoleCaller, ConsoleSettings } from './console-settings.ts'
import type { ConsoleSignIn } from './protocol.ts'

/** Seconds that a session lasts. */
const lifetime = 12 * 60 * 60

/** Attempts to sign in of a network. All secrets have 128 bits or more, so the limit is for the load, not for guesses. */
const signInLimit: Limit = { name: 'console-sign-in', events: 20, period: 300 }

/** The role whose keys sign in. */
const secretRole = 'service_role'

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/** What a request has to send in a header: pages of other origins cannot read it. */
export const requestTokenOf = (cookie: string): string =>
  createHmac('sha256', cookie).update('requests').digest('base64url')

/** The form of every genuine cookie and code. */
const genuineForm = /^[\w-]{43}$/

/** Cookies of one request that are looked up. Pages of other ports and subdomains can add some of the same name. */
const mostCookies = 4

const refused = (message: string, cause?: unknown): Failure => new Failure(401, message, { cause })

type FoundRow = {
  readonly actor: string
  readonly key_hash: Buffer | null
  readonly auth_session: string | null
  readonly user_id: string | null
}

/** What a new session is for, and ends with. */
type Proof = {
  readonly actor: string
  readonly keyHash?: Buffer
  readonly session?: NamedSession
}

export type ConsoleSessions = {
  /** Requires a session and its header. @throws Failure 401, 403 */
  readonly access: Access<ConsoleCaller>
  /** The session of the cookie. @throws Failure 401 */
  readonly find: (request: IncomingMessage) => Promise<ConsoleCaller>
  /** Begins a session and sets its cookie. @throws Failure 401, 429 */
  readonly begin: (request: IncomingMessage, response: ServerResponse, proof: ConsoleSignIn) => Promise<ConsoleCaller>
  /** Ends a session and deletes its cookie. */
  readonly end: (response: ServerResponse, caller: ConsoleCaller) => Promise<void>
}

export function createConsoleSessions(settings: ConsoleSettings): ConsoleSessions {
  const { database, secureCookies, snapshot, warn } = settings
  const limits = databaseLimits(database.query, warn)
  const cookieName = secureCookies ? '__Host-console' : 'console'

  const find = async (request: IncomingMessage): Promise<ConsoleCaller> => {
    for (const cookie of likelyCookies(request, cookieName)) {
      const tokenHash = hashOf(cookie)
      const row = await findRow(settings, tokenHash)
      if (row) return { actor: row.actor, tokenHash, token: requestTokenOf(cookie) }
    }
    throw refused('You are not signed in to the console')
  }

  return {
    find,
    access: {
      security: [],
      errors: {
        401: failure('You are not signed in to the console.'),
        403: failure('The header X-Console-Token is missing or wrong.'),
      },
      identify: async (request) => {
        requireOwnPage(request)
        const caller = await find(request)
        requireToken(request, caller)
        return caller
      },
    },
    begin: async (request, response, proof) => {
      requireOwnPage(request)
      await countForNetwork(limits, signInLimit, clientNetwork(request, snapshot().config.trustedProxies))
      const { actor, keyHash = null, session } = await prove(settings, proof)
      const cookie = randomBytes(32).toString('base64url')
      await database.query('delete from rowhouse.console_sessions where expires_at < now()', [])
      await database.query(
        `insert into rowhouse.console_sessions (token_hash, is_code, actor, key_hash, auth_session, user_id, expires_at)
         values ($1, false, $2, $3, $4, $5, now() + make_interval(secs => $6))`,
        [hashOf(cookie), actor, keyHash, session?.session ?? null, session?.user ?? null, lifetime],
      )
      response.appendHeader('Set-Cookie', setCookie(cookieName, cookie, lifetime, secureCookies, 'Strict'))
      return { actor, tokenHash: hashOf(cookie), token: requestTokenOf(cookie) }
    },
    end: async (response, { tokenHash }) => {
      await database.query('delete from rowhouse.console_sessions where token_hash = $1', [tokenHash])
      response.appendHeader('Set-Cookie', setCookie(cookieName, '', 0, secureCookies, 'Strict'))
    },
  }
}

/** @throws Failure 403 for a request of a page of another origin */
export function requireOwnPage(request: IncomingMessage): void {
  if (!isTrustedOrigin(request, [])) throw new Failure(403, 'Requests from pages of other sites are not accepted')
}

/** The cookies that may be genuine: first that of the token in the header, which other pages do not know. */
function likelyCookies(request: IncomingMessage, name: string): readonly string[] {
  const genuine = [...new Set(cookieValues(request.headers.cookie, name))].filter((cookie) => genuineForm.test(cookie))
  const own = genuine.filter((cookie) => hasToken(request, requestTokenOf(cookie)))
  return [...own, ...genuine.filter((cookie) => !own.includes(cookie))].slice(0, mostCookies)
}

function hasToken({ headers }: IncomingMessage, token: string): boolean {
  const given = Buffer.from(String(headers['x-console-token'] ?? ''))
  const expected = Buffer.from(token)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

function requireToken(request: IncomingMessage, { token }: ConsoleCaller): void {
  if (hasToken(request, token)) return
  throw new Failure(403, 'The header X-Console-Token is missing or wrong: it is the token of GET /console/api/session')
}

/** The session of a cookie, unless it has ended, or its key was revoked, or the session of its account has ended. */
async function findRow(settings: ConsoleSettings, tokenHash: Buffer): Promise<FoundRow | undefined> {
  const { database } = settings
  const rows = await database.query(
    `select actor, key_hash, auth_session, user_id from rowhouse.console_sessions
     where token_hash = $1 and not is_code and expires_at > now()`,
    [tokenHash],
  )
  const row = rows[0] as FoundRow | undefined
  if (!row) return undefined
  if (row.key_hash) {
    const keys = await database.query('select role from auth.find_api_key($1)', [row.key_hash])
    if (keys[0]?.role !== secretRole) return undefined
  }
  const isOver =
    row.auth_session !== null && !(await isLive(settings, { session: row.auth_session, user: row.user_id }))
  return isOver ? undefined : row
}

/** The app_role of accounts that may sign in. */
const administrator = 'admin'

/** SQLSTATEs of `auth.check_session`: the session has ended, or the database has no sessions. */
const overStates: ReadonlySet<string | undefined> = new Set(['PGRST', '42883', '3F000'])

/**
 * Whether the session of an account has not ended, and the account is still an administrator. Does not ask the schema cache,
 * which is loaded after the start only.
 */
async function isLive(
  { database }: ConsoleSettings,
  { session, user }: Pick<NamedSession, 'session' | 'user'>,
): Promise<boolean> {
  try {
    await database.query(`select ${checkSession('$1', '$2', '$3')}`, [session, user, administrator])
    return true
  } catch (error) {
    if (overStates.has(sqlState(error))) return false
    throw error
  }
}

async function prove(settings: ConsoleSettings, { code, key, access_token: token }: ConsoleSignIn): Promise<Proof> {
  if (code !== undefined) return proofOfCode(settings, code)
  if (key !== undefined) return proofOfKey(settings, key)
  return proofOfAccount(settings, token ?? '')
}

async function proofOfCode({ database }: ConsoleSettings, code: string): Promise<Proof> {
  const rows = genuineForm.test(code)
    ? await database.query(
        `delete from rowhouse.console_sessions where token_hash = $1 and is_code and expires_at > now() returning actor`,
        [hashOf(code)],
      )
    : []
  const [row] = rows
  if (!row) throw refused('The link was used before or has expired: `rowhouse console` prints a new one')
  return { actor: String(row.actor) }
}

async function proofOfKey({ lookupApiKey }: ConsoleSettings, key: string): Promise<Proof> {
  const { role } = await identified(() => lookupApiKey(key))
  if (role !== secretRole) throw refused(`The key acts as ${role}: the console needs a secret key, of ${secretRole}`)
  return { actor: 'secret key', keyHash: hashApiKey(key) }
}

async function proofOfAccount(settings: ConsoleSettings, token: string): Promise<Proof> {
  const { snapshot } = settings
  const identity = await identified(() => snapshot().loaded.verifier.verify(token))
  const session = namedSession(identity)
  const { app_role: appRole, email, aal, client_id: client } = identity.claims
  if (typeof session?.user !== 'string') throw refused('The token is not one of a session of /auth/v1')
  if (client !== undefined) throw refused('The token is one of an OAuth client, not of a person')
  if (appRole !== administrator) throw refused('The account is not an administrator')
  if (!(await isLive(settings, session))) throw refused('The session of the token has ended')
  if (aal !== 'aal2' && (await hasFactor(settings, session.user))) {
    throw refused('The account has a second factor: verify it first')
  }
  return { actor: typeof email === 'string' && email !== '' ? email : session.user, session }
}

async function hasFactor({ database }: ConsoleSettings, user: string): Promise<boolean> {
  const [row] = await database.transaction(
    authAdmin,
    (query) =>
      query(`select exists (select from auth.mfa_factors where user_id = $1 and status = 'verified') as found`, [user]),
    'read',
  )
  return row?.found === true
}

/** @throws Failure 401 for credentials that are not valid */
async function identified(identify: () => Identity | Promise<Identity>): Promise<Identity> {
  try {
    return await identify()
  } catch (error) {
    if (error instanceof CredentialError) throw refused(error.message, error)
    throw error
  }
}
