// `/passkeys`: the passkeys of the signed-in user.
import { dto } from '../../../http/service-response.ts'
import { authErrors } from '../auth-error.ts'
import { defineAuthRoute, type AuthRoute } from '../dialect.ts'
import { notify } from '../mail/notices.ts'
import { passkeyId } from '../path-ids.ts'
import { originOf } from '../request-origin.ts'
import { isEmpty } from '../request-text.ts'
import { defaultName, type NamedPasskey } from './passkey-names.ts'
import { accepted } from '../refusal.ts'
import { passkeyRefusals, requirePasskeys } from './passkey-refusal.ts'
import { passkeyStatements } from './passkey-statements.ts'
import { registrationRoutes } from './registration-routes.ts'
import { passkeySignInRoutes } from './sign-in-routes.ts'

/** `schemas/auth-passkey-name-dto.json` */
type PasskeyNameDto = { readonly friendly_name?: string | null }

/** Characters of a name. */
const longestName = 120

const passkey = dto('AuthPasskeyDto')
const notFound = { 404: 'The user has no such passkey, or passkeys are disabled.' } as const

export const passkeyRoutes: readonly AuthRoute[] = [
  ...passkeySignInRoutes,
  ...registrationRoutes,
  defineAuthRoute({
    method: 'get',
    path: '/passkeys',
    id: 'authListPasskeys',
    summary: 'Your passkeys',
    caller: 'user',
    success: [200, 'The passkeys, without keys.'],
    schema: { type: 'array', items: passkey },
    errors: { 404: 'Passkeys are disabled.' },
    handler: async ({ caller, context }) => {
      requirePasskeys(context.settings())
      const [list] = await context.database.ask(passkeyStatements.list, [caller.id])
      return { json: list }
    },
  }),
  defineAuthRoute({
    method: 'patch',
    path: '/passkeys/{passkey_id}',
    id: 'authRenamePasskey',
    summary: 'Change the name of a passkey',
    caller: 'user',
    pathParameters: { passkey_id: passkeyId },
    body: dto<PasskeyNameDto>('AuthPasskeyNameDto'),
    success: [200, 'The passkey as it is now.'],
    schema: passkey,
    errors: notFound,
    handler: async ({ caller, path, body: { friendly_name: name }, context, request }) => {
      requirePasskeys(context.settings())
      if (isEmpty(name)) throw authErrors.invalid('friendly_name is required')
      if (Array.from(name).length > longestName) {
        throw authErrors.invalid(`friendly_name must be ${longestName} characters or less`)
      }
      const values = [caller.id, path.passkey_id, name, originOf(request, context).ip]
      const [renamed] = await context.database.ask(passkeyStatements.rename, values)
      return { json: accepted(renamed, passkeyRefusals) }
    },
  }),
  defineAuthRoute({
    method: 'delete',
    path: '/passkeys/{passkey_id}',
    id: 'authDeletePasskey',
    summary: 'Delete a passkey',
    description: 'The last one can be deleted, too: the other ways to sign in remain, such as a link in a mail.',
    caller: 'user',
    pathParameters: { passkey_id: passkeyId },
    success: [204, 'The passkey is deleted.'],
    errors: { 403: 'The session needs aal2.', ...notFound },
    handler: async ({ caller, path, context, request }) => {
      requirePasskeys(context.settings())
      const values = [caller.id, caller.session?.id ?? null, path.passkey_id, originOf(request, context).ip]
      const [removed] = await context.database.ask(passkeyStatements.remove, values)
      const { friendly_name: passkeyName = defaultName } = accepted<NamedPasskey>(removed, passkeyRefusals)
      notify(context, request, caller.text, { kind: 'passkey_removed', passkeyName })
      return { status: 204, empty: true }
    },
  }),
]
