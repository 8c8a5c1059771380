// Who a request acts as. JWT, API key and session cookie all end here.

/** Claims as parsed JSON. `role` is added when the transaction's settings are made. */
export type Claims = Readonly<Record<string, unknown>>

export type Identity = {
  /** Database role that the transaction switches to. */
  readonly role: string
  readonly claims: Claims
  /**
   * The setting `request.jwt.claims`, where it is known: an identity that serves many requests has it written once, and a
   * token keeps all digits of its numbers in it.
   */
  readonly claimsText?: string
}

/** Objects with their keys in order, at any depth: the text of the claims does not depend on how a token was written. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, child]) => [key, sorted(child)]))
}

/** The setting `request.jwt.claims`: the claims as JSON text, with the role that is in force. */
export const claimsText = (identity: Identity): string =>
  identity.claimsText ?? JSON.stringify(sorted({ ...identity.claims, role: identity.role }))

/** An identity for many requests: its claims are written once. */
export const lastingIdentity = (role: string, claims: Claims): Identity => ({
  role,
  claims,
  claimsText: claimsText({ role, claims }),
})
