// From an API key to who the request acts as.
import { timingSafeEqual } from 'node:crypto'
import { credentialErrors } from '../credential-error.ts'
import type { ApiKeyChanges } from './api-key-changes.ts'
import { hashApiKey, isWellFormed } from './api-key.ts'
import { lastingIdentity, type Identity } from '../identity.ts'

/**
 * Gives the identity of a key, at once when it is remembered; else a promise, which rejects with CredentialError when the key
 * is unknown, expired or revoked, and with the error of the query.
 */
export type ApiKeyLookup = (key: string) => Identity | Promise<Identity>

export type LookupSettings = {
  /** Runs statements as `authenticator`. */
  readonly query: KeyQuery
  /** News of changed keys, which are then forgotten. Without it, or while it is not heard, keys are remembered briefly. */
  readonly changes?: ApiKeyChanges
  /** Milliseconds for which a key is remembered while its changes are heard. */
  readonly remember?: number
  /** Milliseconds for which a key is remembered otherwise: a revocation takes effect after at most this time. */
  readonly rememberUnheard?: number
  /** Milliseconds for which a key is remembered to be unknown. */
  readonly rememberUnknown?: number
  /** Maximum number of keys remembered, of either sort. */
  readonly capacity?: number
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

type Found = { readonly identity: Identity; readonly until: number }

/** A question to the database that is on its way. */
type Asking = { readonly answer: Promise<Identity>; isOutdated: boolean }

/** Looks keys up in the database, once for all requests that ask at the same time, and remembers them. */
export function createApiKeyLookup(settings: LookupSettings): ApiKeyLookup {
  const { query, changes, capacity = 1_000, now = Date.now } = settings
  const { remember = 30_000, rememberUnheard = 1_000, rememberUnknown = 5_000 } = settings
  // Separate, so that a flood of made-up keys cannot drive out the genuine ones. All are keyed by the key's hash.
  const known = new Map<string, Found>()
  const unknown = new Map<string, number>()
  const asking = new Map<string, Asking>()

  const forget = (name: string): void => {
    known.delete(name)
    unknown.delete(name)
    // The answer that is on its way may be from before the change: it serves those who wait, and is not remembered.
    const asked = asking.get(name)
    if (asked) asked.isOutdated = true
    asking.delete(name)
  }
  changes?.subscribe((hash) => {
    if (hash) forget(nameOf(hash))
    else for (const name of [...known.keys(), ...unknown.keys(), ...asking.keys()]) forget(name)
  })

  const ask = (hash: Buffer, name: string): Promise<Identity> => {
    const begun = now()
    const asked: Asking = {
      isOutdated: false,
      answer: findKey(query, hash).then(
        (row) => {
          if (!asked.isOutdated) asking.delete(name)
          if (!row) {
            if (!asked.isOutdated) put(unknown, name, begun + rememberUnknown, capacity)
            throw invalid()
          }
          const identity = identityOf(row)
          const lifetime = changes?.isHeard === true ? remember : rememberUnheard
          const until = Math.min(begun + lifetime, row.expires_at?.getTime() ?? Infinity)
          if (!asked.isOutdated) put(known, name, { identity, until }, capacity)
          return identity
        },
        (error: unknown) => {
          if (!asked.isOutdated) asking.delete(name)
          throw error
        },
      ),
    }
    asking.set(name, asked)
    return asked.answer
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
    return asking.get(name)?.answer ?? ask(hash, name)
  }
}

const nameOf = (hash: Buffer): string => hash.toString('base64')

const invalid = () => credentialErrors.invalidToken('The API key is unknown, expired or revoked')

/** Adds to a map of bounded size, which forgets what was added first. */
function put<T>(map: Map<string, T>, name: string, value: T, capacity: number): void {
  if (map.size >= capacity) {
    const oldest = map.keys().next()
    if (!oldest.done) map.delete(oldest.value)
  }
  map.set(name, value)
}

/** Runs one statement and gives its rows; its errors have a SQLSTATE as `code`. */
export type KeyQuery = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>

/** Undefined function, table or schema, unknown role, insufficient privilege. */
const absent: ReadonlySet<unknown> = new Set(['42883', '42P01', '3F000', '22023', '42501'])

type KeyRow = { hash: Buffer; role: string; user_id: string | null; email: string | null; expires_at: Date | null }

async function findKey(query: KeyQuery, hash: Buffer): Promise<KeyRow | undefined> {
  try {
    const rows = await query('select hash, role, user_id, email, expires_at from auth.find_api_key($1)', [hash])
    const row = rows[0] as KeyRow | undefined
    return row && timingSafeEqual(row.hash, hash) ? row : undefined
  } catch (error) {
    // A database without this program's own tables is served by JWT alone: no key is known there.
    if (error instanceof Error && 'code' in error && absent.has(error.code)) return undefined
    throw error
  }
}

const identityOf = ({ role, user_id: userId, email }: KeyRow): Identity =>
  userId === null ? lastingIdentity(role, {}) : lastingIdentity('authenticated', { sub: userId, email })
