// Who a request acts as. JWT, API key and session cookie all end here.

/** Claims as parsed JSON. `role` is added when the transaction's settings are made. */
export type Claims = Readonly<Record<string, unknown>>

export type Identity = {
  /** Database role that the transaction switches to. */
  readonly role: string
  readonly claims: Claims
  /** The claims with `role` as JSON text, where parsed JSON cannot hold all digits of their numbers. */
  readonly exactClaims?: string
}

/** Objects with their keys in order, at any depth: the text of the claims does not depend on how a token was written. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, child]) => [key, sorted(child)]))
}

// An identity serves many requests (tokens are cached), and its claims never change.
const texts = new WeakMap<Identity, string>()

/** The setting `request.jwt.claims`: the claims as JSON text, with the role that is in force. */
export function claimsText(identity: Identity): string {
  const known = texts.get(identity)
  if (known !== undefined) return known
  const text = identity.exactClaims ?? JSON.stringify(sorted({ ...identity.claims, role: identity.role }))
  texts.set(identity, text)
  return text
}
