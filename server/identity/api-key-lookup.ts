// From an API key to who the request acts as.
import { timingSafeEqual } from 'node:crypto'
import { isNotMigrated, sqlState } from '../database/database-error.ts'
import type { Query } from '../database/transaction.ts'
import { errors } from '../rest/errors.ts'
import { hashApiKey, isWellFormed } from './api-key.ts'
import type { Identity } from './identity.ts'

/**
 * Gives the identity of a key, at once when it is remembered; else a promise, which rejects with ApiError PGRST301 (401)
 * when the key is unknown, expired or revoked.
 */
export type ApiKeyLookup = (key: string) => Identity | Promise<Identity>

export type LookupSettings = {
  /** Runs statements as `authenticator`. */
  readonly query: Query
  /** Milliseconds for which a key is remembered, and so also until a revocation is noticed. */
  readonly remember?: number
  /** Milliseconds for which a key is remembered to be unknown. */
  readonly rememberUnknown?: number
  /** Most keys remembered, of either sort. */
  readonly capacity?: number
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

type Found = { readonly identity: Identity; readonly until: number }

/** Looks keys up in the database, once for all requests that ask at the same time, and remembers them briefly. */
export function createApiKeyLookup(settings: LookupSettings): ApiKeyLookup {
  const { query, remember = 30_000, rememberUnknown = 5_000, capacity = 1_000, now = Date.now } = settings
  // Apart, so that a flood of made-up keys cannot drive out the genuine ones. All are keyed by the key's hash.
  const known = new Map<string, Found>()
  const unknown = new Map<string, number>()
  const asking = new Map<string, Promise<Identity>>()

  const ask = async (hash: Buffer, name: string): Promise<Identity> => {
    const asked = now()
    const row = await findKey(query, hash)
    if (!row) {
      put(unknown, name, asked + rememberUnknown, capacity)
      throw invalid()
    }
    const identity = identityOf(row)
    const until = Math.min(asked + remember, row.expires_at?.getTime() ?? Infinity)
    put(known, name, { identity, until }, capacity)
    return identity
  }

  return (key) => {
    if (!isWellFormed(key)) return Promise.reject(invalid())
    const hash = hashApiKey(key)
    const name = hash.toString('base64')
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
    let answer = asking.get(name)
    if (!answer) {
      answer = ask(hash, name).finally(() => asking.delete(name))
      asking.set(name, answer)
    }
    return answer
  }
}

const invalid = () => errors.invalidJwt('The API key is unknown, expired or revoked')

/** Adds to a map of bounded size, which forgets what was added first. */
function put<T>(map: Map<string, T>, name: string, value: T, capacity: number): void {
  if (map.size >= capacity) {
    const oldest = map.keys().next()
    if (!oldest.done) map.delete(oldest.value)
  }
  map.set(name, value)
}

type KeyRow = { hash: Buffer; role: string; user_id: string | null; email: string | null; expires_at: Date | null }

async function findKey(query: Query, hash: Buffer): Promise<KeyRow | undefined> {
  try {
    const rows = await query('select hash, role, user_id, email, expires_at from auth.find_api_key($1)', [hash])
    const row = rows[0] as KeyRow | undefined
    return row && timingSafeEqual(row.hash, hash) ? row : undefined
  } catch (error) {
    // A database without this program's own tables is served by JWT alone: no key is known there.
    if (isNotMigrated(error) || sqlState(error) === '42501') return undefined
    throw error
  }
}

const identityOf = ({ role, user_id: userId, email }: KeyRow): Identity =>
  userId === null ? { role, claims: {} } : { role: 'authenticated', claims: { sub: userId, email } }
