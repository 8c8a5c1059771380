// Who a request acts as. JWTs, API keys and session cookies all become an `Identity`.

import type { KeyLimits } from './limits.ts'

/** Claims as parsed JSON. `role` is added to the settings of the transaction. */
export type Claims = Readonly<Record<string, unknown>>

export type Identity = {
  /** Database role that the transaction switches to. */
  readonly role: string
  readonly claims: Claims
  /**
   * The setting `request.jwt.claims`, if it has been computed: once for an identity that serves many requests, and with all
   * digits of the numbers in a token.
   */
  readonly claimsText?: string
  /** The API key that the request was sent with, if the key has limits. */
  readonly key?: KeyLimits | undefined
}

/** Sorts the keys of objects at any depth, so that the text of the claims does not depend on their order in the token. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, child]) => [key, sorted(child)]))
}

/** The value of the setting `request.jwt.claims`: the claims as JSON text, with the effective role. */
export const claimsText = (identity: Identity): string =>
  identity.claimsText ?? JSON.stringify(sorted({ ...identity.claims, role: identity.role }))

/** A JSON string, or a number, in a JSON text. */
const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g

/**
 * The claims as texts that are equal for equal values alone: with all digits of their numbers, and independent of the order of
 * members and of the notation of strings. `role` is the effective one.
 */
function comparableClaims(identity: Identity): ReadonlyMap<string, string> {
  // Numbers become strings, so that they keep their digits, and the first letter says what a value is.
  const marked = claimsText(identity).replace(stringOrNumber, (text) =>
    text.startsWith('"') ? `"s${text.slice(1)}` : `"n${text}"`,
  )
  const claims = JSON.parse(marked) as Readonly<Record<string, unknown>>
  return new Map(Object.entries(claims).map(([name, value]) => [name.slice(1), JSON.stringify(sorted(value))]))
}

/**
 * Claims that change when a token is renewed, or when its user signs in again (RFC 7519, section 4.1; those of Supabase's
 * sessions): when and how, not who. `aal` is not among them: policies let a caller with a second factor do more.
 */
const renewed: ReadonlySet<string> = new Set(['iat', 'exp', 'nbf', 'jti', 'session_id', 'amr', 'auth_time'])

/** The comparable claims that stay the same when a token is renewed, by name. */
export const lastingClaims = (identity: Identity): readonly (readonly [name: string, text: string])[] =>
  [...comparableClaims(identity)]
    .filter(([name]) => !renewed.has(name))
    .sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))

/**
 * The subject of the token as JSON text that no other subject has. `null` without one: all such callers of a role count as one.
 */
export function subjectText(identity: Identity): string {
  const { sub = null } = identity.claims
  // Processes of another version of the program, which count and store for the same callers, write these in the same way.
  if (sub === null || typeof sub === 'string') return JSON.stringify(sub)
  return JSON.stringify({ json: comparableClaims(identity).get('sub') })
}

/** An identity for many requests, whose claims are converted to text once. */
export const lastingIdentity = (role: string, claims: Claims): Identity => ({
  role,
  claims,
  claimsText: claimsText({ role, claims }),
})
