// Invitations that are accepted by a sign-in at a provider, with the token of the link in the mail: `invite_token`.
import { JsonStatement } from '../../../postgres/json-statement.ts'
import type { AuthContext } from '../auth-context.ts'
import { AuthError, authErrors } from '../auth-error.ts'
import {
  askAccount,
  requestOf,
  signedIn,
  type AccountsContext,
  type ProviderSignIn,
  type SignedIn,
} from './provider-accounts.ts'

const find = new JsonStatement("select to_json(auth.find_invited($1, $2::float8 * interval '1 second'))", {
  access: 'read',
  hasNoEffect: true,
})
const accept = new JsonStatement('select result, started from auth.accept_invitation($1::json)', { access: 'write' })

type Accepted =
  | { readonly outcome: 'signed_in'; readonly auth_code: string | null }
  | { readonly outcome: 'invite_not_found' | 'invite_mismatch' | 'linked_to_other' | 'user_banned' }

/** @throws AuthError 404 `user_not_found` unless the token is that of a pending invitation */
export async function requireInvitation(
  { settings, database }: Pick<AuthContext, 'settings' | 'database'>,
  token: string,
): Promise<void> {
  const [found] = await database.ask(find, [token, settings().authMailerOtpExp])
  if (typeof found !== 'string') throw new AuthError(404, 'user_not_found', 'User identified by token not found')
}

/**
 * Signs in to the invited account, and confirms its address.
 *
 * @throws AuthError 404 `invite_not_found`, 400 `validation_failed` if the provider has another address, 422
 *   `identity_already_exists`, 403 `user_banned`
 */
export async function acceptInvitation(
  context: AccountsContext,
  token: string,
  attempt: ProviderSignIn,
): Promise<SignedIn> {
  const members = { invite_token: token, lifetime: context.settings().authMailerOtpExp }
  const text = JSON.stringify({ ...requestOf(context, attempt), ...members })
  const { result, started } = await askAccount<Accepted>(context, accept, text)
  switch (result.outcome) {
    case 'signed_in':
      return signedIn(result.auth_code, started)
    case 'invite_not_found':
      throw new AuthError(404, 'invite_not_found', 'Invite not found')
    case 'invite_mismatch':
      throw authErrors.invalid('Invited email does not match emails from external provider')
    case 'linked_to_other':
      throw authErrors.linkedToOther()
    case 'user_banned':
      throw authErrors.userBanned(403)
    default:
      return result satisfies never
  }
}
