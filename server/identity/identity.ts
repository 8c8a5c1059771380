// Who a request acts as. JWTs, API keys and session cookies all become an `Identity`.

/** Claims as parsed JSON. `role` is added to the settings of the transaction. */
export type Claims = Readonly<Record<string, unknown>>

export type Identity = {
  /** Database role that the transaction switches to. */
  readonly role: string
  readonly claims: Claims
  /** The claims with `role` as JSON text, if JavaScript numbers would lose digits. */
  readonly exactClaims?: string
}

/** Sorts the keys of objects at any depth, so that the text of the claims does not depend on their order in the token. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, child]) => [key, sorted(child)]))
}

// Cached because one identity serves many requests and its claims never change.
const texts = new WeakMap<Identity, string>()

/** The value of the setting `request.jwt.claims`: the claims as JSON text, with the effective role. */
export function claimsText(identity: Identity): string {
  const known = texts.get(identity)
  if (known !== undefined) return known
  const text = identity.exactClaims ?? JSON.stringify(sorted({ ...identity.claims, role: identity.role }))
  texts.set(identity, text)
  return text
}
