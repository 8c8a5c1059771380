// The grants of POST /token by their `grant_type`. Add a line for a new one.
import { AuthError } from './auth-error.ts'
import type { ClientLimit } from './auth-limits.ts'
import type { AuthCall, AuthReply } from './auth-route.ts'
import { passwordGrant } from './password-grant.ts'
import { refreshGrant } from './refresh-grant.ts'

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

export type TokenCall = AuthCall<'anyone', TokenBody>

export type TokenGrant = {
  readonly limit: ClientLimit
  readonly handler: (call: TokenCall) => AuthReply | Promise<AuthReply>
}

const web3: TokenGrant = {
  limit: 'web3',
  handler: () => {
    throw new AuthError(422, 'web3_provider_disabled', 'Web3 provider is disabled')
  },
}

export const tokenGrants: ReadonlyMap<string, TokenGrant> = new Map([
  ['password', passwordGrant],
  ['refresh_token', refreshGrant],
  ['web3', web3],
])
