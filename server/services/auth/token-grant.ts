// A grant of the token endpoint.
import type { ClientLimit } from './auth-limits.ts'
import type { AuthCall, AuthReply } from './dialect.ts'

export type TokenCall = AuthCall<'anyone', TokenBody>

export type TokenGrant = {
  readonly limit: ClientLimit
  readonly handler: (call: TokenCall) => AuthReply | Promise<AuthReply>
}

/** `schemas/auth-token-dto.json`: the members of the bodies of all grants. */
export type TokenBody = Readonly<
  Partial<
    Record<
      | 'email'
      | 'phone'
      | 'password'
      | 'refresh_token'
      | 'auth_code'
      | 'code_verifier'
      | 'id_token'
      | 'access_token'
      | 'nonce'
      | 'provider'
      | 'client_id'
      | 'issuer',
      string | null
    >
  >
> & { readonly link_identity?: boolean | null }
