// Who a request acts as. JWT, API key and session cookie all end here.

/** Claims as parsed JSON. `role` is added when the transaction's settings are made. */
export type Claims = Readonly<Record<string, unknown>>

export type Identity = {
  /** Database role that the transaction switches to. */
  readonly role: string
  readonly claims: Claims
}
