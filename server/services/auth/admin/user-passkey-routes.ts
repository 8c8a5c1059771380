// `/admin/users/{user_id}/passkeys`: passkeys of accounts, for administrators, also while passkeys are disabled.
import { dto } from '../../../http/service-response.ts'
import { defineAuthRoute, type AuthRoute } from '../dialect.ts'
import { notifyOwner } from '../mail/notices.ts'
import { defaultName } from '../passkeys/passkey-names.ts'
import { passkeyId, userId } from '../path-ids.ts'
import { originOf } from '../request-origin.ts'
import { deletePasskey, listPasskeys } from './user-passkeys.ts'

export const userPasskeyRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'get',
    path: '/admin/users/{user_id}/passkeys',
    id: 'authAdminListPasskeys',
    summary: 'Passkeys of an account',
    caller: 'admin',
    pathParameters: { user_id: userId },
    success: [200, 'The passkeys, without keys.'],
    schema: { type: 'array', items: dto('AuthPasskeyDto') },
    errors: { 404: 'There is no such account.' },
    handler: async ({ path, context }) => ({ json: await listPasskeys(context, path.user_id) }),
  }),
  defineAuthRoute({
    method: 'delete',
    path: '/admin/users/{user_id}/passkeys/{passkey_id}',
    id: 'authAdminDeletePasskey',
    summary: 'Delete a passkey of an account',
    caller: 'admin',
    pathParameters: { user_id: userId, passkey_id: passkeyId },
    success: [204, 'The passkey is deleted.'],
    errors: { 404: 'There is no such account, or it has no such passkey.' },
    handler: async ({ path, caller, context, request }) => {
      const administrator = { database: context.database, actor: caller.role, ip: originOf(request, context).ip }
      const { friendly_name: passkeyName = defaultName } = await deletePasskey(
        administrator,
        path.user_id,
        path.passkey_id,
      )
      notifyOwner(context, request, path.user_id, { kind: 'passkey_removed', passkeyName })
      return { status: 204, empty: true }
    },
  }),
]
