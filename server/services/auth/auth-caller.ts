// The caller of a route of `/auth/v1`, by its bearer token.

/** The claims of an access token that the routes use. */
export type AccessClaims = {
  readonly sub?: string
  readonly role?: string
  readonly aud?: string | readonly string[]
  readonly session_id?: string
  readonly aal?: string
  readonly amr?: readonly { readonly method: string; readonly timestamp: number }[]
  readonly is_anonymous?: boolean
  readonly exp?: number
  readonly [name: string]: unknown
}

/** The user and the session that a valid token names. */
export type AuthSubject = {
  readonly userId: string
  /** Null for a token without the claim `session_id`. */
  readonly sessionId: string | null
  readonly claims: AccessClaims
}

/** A user whose token is valid, and whose account and session exist. */
export type AuthUser = {
  readonly id: string
  readonly claims: AccessClaims
  /** The user object as JSON text, as the client gets it. */
  readonly text: string
  /** Null for a token without the claim `session_id`. */
  readonly session: {
    readonly id: string
    readonly aal: 'aal1' | 'aal2' | 'aal3'
    /** RFC 3339 */
    readonly created_at: string
    /** Whether the user has signed in with a link to recover the account. */
    readonly is_recovery: boolean
    /** The client of the OAuth server that the session was granted to; null for one of the user. */
    readonly client_id: string | null
    /** What was granted to it, separated by spaces. */
    readonly scope: string | null
  } | null
  /** Columns of auth.users that the user object does not show, or that routes decide by. */
  readonly row: {
    readonly email: string | null
    readonly phone: string | null
    readonly is_anonymous: boolean
    readonly is_sso_user: boolean
    readonly email_confirmed: boolean
    readonly phone_confirmed: boolean
    /** Whether the address was proved to belong to the user, which a confirmation without a mail does not. */
    readonly email_proved: boolean
    readonly phone_proved: boolean
    readonly has_password: boolean
    readonly has_verified_factor: boolean
    /** RFC 3339; null if the user never signed in. */
    readonly last_sign_in_at: string | null
  }
}

/** A caller with a role among GOTRUE_JWT_ADMIN_ROLES: a service token or a secret API key. */
export type AuthAdmin = { readonly role: string; readonly claims: AccessClaims }
