// Who a request acts as. JWT, API key and session cookie all end here.

/** Claims as parsed JSON. `role` is added when the transaction's settings are made. */
export type Claims = Readonly<Record<string, unknown>>

export type Identity = {
  /** Database role that the transaction switches to. */
  readonly role: string
  readonly claims: Claims
  /** The claims with `role` as JSON text, where they were made from text: numbers have all their digits in it. */
  readonly claimsText?: string
}

/** The setting `request.jwt.claims`: the claims as JSON text, with the role that is acted as. */
export const claimsText = (identity: Identity): string =>
  identity.claimsText ?? JSON.stringify({ ...identity.claims, role: identity.role })
