// Looks up the identity of an API key.
import { timingSafeEqual } from 'node:crypto'
import { credentialErrors } from '../credential-error.ts'
import type { ApiKeyChanges } from './api-key-changes.ts'
import { hashApiKey, isWellFormed } from './api-key.ts'
import { lastingIdentity, type Identity } from '../identity.ts'
import { parseLimits } from '../limits.ts'

/**
 * Returns the identity of a key synchronously when it is cached, otherwise a promise. The promise rejects with
 * CredentialError when the key is unknown, expired or revoked, or with the error of the query.
 */
export type ApiKeyLookup = (key: string) => Identity | Promise<Identity>

export type LookupSettings = {
  /** Runs statements as `authenticator`. */
  readonly query: KeyQuery
  /** Notifications of changed keys, which evict them. Without a listening connection, keys are cached only briefly. */
  readonly changes?: ApiKeyChanges
  /** Milliseconds for which a key is cached while notifications of changes arrive. */
  readonly knownLifetime?: number
  /** Milliseconds for which a key is cached otherwise: a revocation takes effect after at most this time. */
  readonly lifetimeWithoutNotifications?: number
  /** Milliseconds for which it is cached that a key is unknown. */
  readonly unknownLifetime?: number
  /** Maximum number of known and of unknown keys in the cache. */
  readonly capacity?: number
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

type Found = { readonly identity: Identity; readonly until: number }

/** A query in flight. */
type PendingQuery = { readonly result: Promise<Identity>; isOutdated: boolean }

/** Looks up keys in the database and caches them. Concurrent requests with the same key share one query. */
export function createApiKeyLookup(settings: LookupSettings): ApiKeyLookup {
  const { query, changes, capacity = 1_000, now = Date.now } = settings
  const { knownLifetime = 30_000, lifetimeWithoutNotifications = 1_000, unknownLifetime = 5_000 } = settings
  // Separate maps, so that a flood of invented keys cannot evict valid ones. All are keyed by the hash of the API key.
  const known = new Map<string, Found>()
  const unknown = new Map<string, number>()
  const pending = new Map<string, PendingQuery>()

  const forget = (name: string): void => {
    known.delete(name)
    unknown.delete(name)
    // A result in flight may predate the change: it answers the waiting requests, but is not cached.
    const current = pending.get(name)
    if (current) current.isOutdated = true
    pending.delete(name)
  }
  changes?.subscribe((hash) => {
    if (hash) forget(nameOf(hash))
    else for (const name of [...known.keys(), ...unknown.keys(), ...pending.keys()]) forget(name)
  })

  const startQuery = (hash: Buffer, name: string): Promise<Identity> => {
    const startedAt = now()
    const current: PendingQuery = {
      isOutdated: false,
      result: findKey(query, hash).then(
        (row) => {
          if (!current.isOutdated) pending.delete(name)
          if (!row) {
            if (!current.isOutdated) put(unknown, name, startedAt + unknownLifetime, capacity)
            throw invalid()
          }
          const identity = identityOf(row)
          const lifetime = changes?.isListening === true ? knownLifetime : lifetimeWithoutNotifications
          const until = Math.min(startedAt + lifetime, row.expires_at?.getTime() ?? Infinity)
          if (!current.isOutdated) put(known, name, { identity, until }, capacity)
          return identity
        },
        (error: unknown) => {
          if (!current.isOutdated) pending.delete(name)
          throw error
        },
      ),
    }
    pending.set(name, current)
    return current.result
  }

  return (key) => {
    if (!isWellFormed(key)) return Promise.reject(invalid())
    const hash = hashApiKey(key)
    const name = nameOf(hash)
    const found = known.get(name)
    if (found) {
      if (now() < found.until) return found.identity
      known.delete(name)
    }
    const unknownUntil = unknown.get(name)
    if (unknownUntil !== undefined) {
      if (now() < unknownUntil) return Promise.reject(invalid())
      unknown.delete(name)
    }
    return pending.get(name)?.result ?? startQuery(hash, name)
  }
}

const nameOf = (hash: Buffer): string => hash.toString('base64')

const invalid = () => credentialErrors.invalidToken('The API key is unknown, expired or revoked')

/** Adds to a map of bounded size, evicting the oldest entry. */
function put<T>(map: Map<string, T>, name: string, value: T, capacity: number): void {
  if (map.size >= capacity) {
    const oldest = map.keys().next()
    if (!oldest.done) map.delete(oldest.value)
  }
  map.set(name, value)
}

/** Runs one statement and returns its rows. Errors have a SQLSTATE as `code`. */
export type KeyQuery = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>

/** Undefined function, table or schema, unknown role, insufficient privilege. */
const absent: ReadonlySet<unknown> = new Set(['42883', '42P01', '3F000', '22023', '42501'])

type KeyRow = {
  hash: Buffer
  role: string
  user_id: string | null
  /** Null if it is not confirmed. */
  email: string | null
  expires_at: Date | null
  id: string
  limits: Record<string, unknown> | null
}

async function findKey(query: KeyQuery, hash: Buffer): Promise<KeyRow | undefined> {
  try {
    const rows = await query('select hash, role, user_id, email, expires_at, id, limits from auth.find_api_key($1)', [
      hash,
    ])
    const row = rows[0] as KeyRow | undefined
    return row && timingSafeEqual(row.hash, hash) ? row : undefined
  } catch (error) {
    // A database without this program's tables has no API keys; clients authenticate with JWTs.
    if (error instanceof Error && 'code' in error && absent.has(error.code)) return undefined
    throw error
  }
}

function identityOf({ role, user_id: userId, email, id, limits: given }: KeyRow): Identity {
  const identity =
    userId === null
      ? lastingIdentity(role, {})
      : lastingIdentity('authenticated', { sub: userId, ...(email === null ? {} : { email }) })
  const { limits } = parseLimits(Object.entries(given ?? {}).map(([name, value]) => [name, String(value)]))
  return limits ? { ...identity, key: { keyId: id, limits } } : identity
}
