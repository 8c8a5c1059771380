// The identities of a user: linking a further one at a provider, and removing one.
import { JsonStatement } from '../../../postgres/json-statement.ts'
import { AuthError, authErrors } from '../auth-error.ts'
import { defineAuthRoute, type AuthRoute } from '../dialect.ts'
import { notify } from '../mail/notices.ts'
import { originOf } from '../request-origin.ts'
import { requireManualLinking } from './manual-linking.ts'
import { flowParameters, limitOfFlow } from './oauth-routes.ts'
import { flowTarget, startProviderFlow } from './provider-flow.ts'
import { isUuid } from '../../../text/uuid.ts'

const unlink = new JsonStatement('select auth.unlink_identity($1::uuid, $2::uuid, $3, $4, $5::uuid)', {
  access: 'write',
})

type Unlinking = {
  readonly outcome:
    'unlinked' | 'insufficient_aal' | 'user_not_found' | 'single_identity' | 'not_found' | 'email_conflict'
}

export const identityRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'get',
    path: '/user/identities/authorize',
    id: 'authLinkIdentity',
    summary: 'Link an identity at a provider to the account',
    caller: 'user',
    limit: limitOfFlow,
    query: {
      ...flowParameters,
      skip_http_redirect: '`true` for a response `{url}` instead of a redirect.',
    },
    success: [302, 'To the provider, or to the page with an error if the provider cannot be reached.'],
    errors: {
      400: 'The provider is not enabled, or the challenge is not valid.',
      403: 'The session needs aal2.',
      404: 'Linking is not enabled.',
    },
    handler: async ({ context, caller, request, query }) => {
      requireManualLinking(context)
      const returnsUrl = query.get('skip_http_redirect') === 'true'
      const linkingTarget = { userId: caller.id, sessionId: caller.session?.id ?? null }
      const url = await (returnsUrl ? startProviderFlow : flowTarget)(context, request, query, { linkingTarget })
      return returnsUrl ? { status: 200, json: { url } } : { redirect: url }
    },
  }),
  defineAuthRoute({
    method: 'delete',
    path: '/user/identities/{identity_id}',
    id: 'authUnlinkIdentity',
    summary: 'Remove an identity from the account',
    description: 'If no other identity has the address of the account, the account gets that of another identity.',
    caller: 'user',
    pathParameters: {
      identity_id: {
        description: 'The `identity_id` of the identity.',
        schema: { type: 'string', format: 'uuid' },
        read: (text) => text,
      },
    },
    success: [200, 'The identity is removed.'],
    errors: {
      403: 'The session needs aal2.',
      404: 'Linking is not enabled, or the id is not a UUID.',
      422: 'The account has no such identity, or no other one.',
    },
    handler: async ({ context, caller, path, request }) => {
      requireManualLinking(context)
      const id = path.identity_id
      if (!isUuid(id)) throw new AuthError(404, 'validation_failed', 'identity_id must be an UUID')
      const { ip } = originOf(request, context)
      const values = [caller.id, id, context.settings().authMailerAutoconfirm, ip, caller.session?.id ?? null]
      const [result] = (await context.database.ask(unlink, values)) as Unlinking[]
      requireUnlinked(result?.outcome ?? 'user_not_found')
      // To the address that the account had before, which may have been that of the identity.
      const provider = providerOf(caller.text, id)
      if (provider !== undefined) notify(context, request, caller.text, { kind: 'identity_unlinked', provider })
      return { json: {} }
    },
  }),
]

/** The provider of an identity, before it was removed. */
function providerOf(user: string, id: string): string | undefined {
  const { identities = [] } = JSON.parse(user) as {
    readonly identities?: readonly { readonly identity_id: string; readonly provider: string }[] | null
  }
  return identities?.find((identity) => identity.identity_id === id.toLowerCase())?.provider
}

function requireUnlinked(outcome: Unlinking['outcome']): void {
  switch (outcome) {
    case 'unlinked':
      return
    case 'insufficient_aal':
      throw authErrors.insufficientAal(403, 'AAL2 required to unlink an identity')
    case 'user_not_found':
      throw authErrors.userNotFound()
    case 'single_identity': {
      const message = 'User must have at least 1 identity after unlinking'
      throw new AuthError(422, 'single_identity_not_deletable', message)
    }
    case 'not_found':
      throw new AuthError(422, 'identity_not_found', "Identity doesn't exist")
    case 'email_conflict': {
      const message = 'Unable to unlink identity due to email conflict'
      throw new AuthError(422, 'email_conflict_identity_not_deletable', message)
    }
    default:
      outcome satisfies never
  }
}
