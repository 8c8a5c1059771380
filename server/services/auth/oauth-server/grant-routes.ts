// `/user/oauth/grants`: what a person has granted to clients; and `/oauth/userinfo`: what a client reads of the account.
import { isUuid } from '../../../text/uuid.ts'
import { authErrors } from '../auth-error.ts'
import { defineAuthRoute, type AuthRoute } from '../dialect.ts'
import { originOf } from '../request-origin.ts'
import { isEmpty } from '../request-text.ts'
import { userInfo } from './id-token.ts'
import { accepted } from '../refusal.ts'
import { oauthRefusals, requireOAuthServer } from './oauth-refusal.ts'
import { oauthStatements } from './oauth-statements.ts'

const disabled = 'The OAuth server is disabled.'

export const grantRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'get',
    path: '/user/oauth/grants',
    id: 'authListOAuthGrants',
    summary: 'The OAuth clients that you have granted access',
    caller: 'user',
    success: [200, 'The grants, newest first: `{client, scopes, granted_at}`.'],
    schema: { type: 'array', items: { type: 'object' } },
    errors: { 404: disabled },
    handler: async ({ caller, context }) => {
      requireOAuthServer(context.settings())
      const [list] = await context.database.ask(oauthStatements.listGrants, [caller.id])
      return { json: list }
    },
  }),
  defineAuthRoute({
    method: 'delete',
    path: '/user/oauth/grants',
    id: 'authRevokeOAuthGrant',
    summary: 'Revoke the access of an OAuth client',
    description: 'All of its sessions of your account end at once.',
    caller: 'user',
    query: { client_id: 'Id of the client.' },
    success: [204, 'The access is revoked.'],
    errors: {
      400: 'The id is missing or not valid.',
      403: 'The token is not accepted, or the session needs aal2.',
      404: `You have granted nothing to the client. ${disabled}`,
    },
    handler: async ({ caller, query, context, request }) => {
      requireOAuthServer(context.settings())
      const clientId = query.get('client_id')
      if (isEmpty(clientId)) throw authErrors.invalid('client_id query parameter is required')
      if (!isUuid(clientId)) throw authErrors.invalid('invalid client_id format')
      const values = [caller.id, caller.session?.id ?? null, clientId, originOf(request, context).ip]
      const [revoked] = await context.database.ask(oauthStatements.revokeGrant, values)
      accepted(revoked, oauthRefusals)
      return { status: 204, empty: true }
    },
  }),
  defineAuthRoute({
    method: 'get',
    path: '/oauth/userinfo',
    id: 'authOAuthUserInfo',
    summary: 'What the scopes of an OAuth client permit it to read of an account',
    caller: 'user',
    allowsClients: true,
    success: [200, 'Claims of OpenID Connect.'],
    schema: { type: 'object' },
    errors: { 404: disabled },
    handler: ({ caller, context }) => {
      requireOAuthServer(context.settings())
      return { json: userInfo(caller.text, caller.session?.scope ?? '', caller.row) }
    },
  }),
]
