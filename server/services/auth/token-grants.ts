// The grants of POST /token by their `grant_type`. Add a line for a new one.
import { AuthError } from './auth-error.ts'
import { idTokenGrant } from './oauth/id-token-grant.ts'
import { passwordGrant } from './password-grant.ts'
import { pkceGrant } from './pkce-grant.ts'
import { refreshGrant } from './refresh-grant.ts'
import type { TokenGrant } from './token-grant.ts'

const web3: TokenGrant = {
  limit: 'web3',
  handler: () => {
    throw new AuthError(422, 'web3_provider_disabled', 'Web3 provider is disabled')
  },
}

export const tokenGrants: ReadonlyMap<string, TokenGrant> = new Map([
  ['password', passwordGrant],
  ['refresh_token', refreshGrant],
  ['pkce', { limit: 'token_refresh', handler: pkceGrant }],
  ['id_token', { limit: 'token_refresh', handler: idTokenGrant }],
  ['web3', web3],
])
