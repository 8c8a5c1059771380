// `/admin/oauth/clients`: clients of the OAuth server, for administrators.
import { originalTarget } from '../../../http/router.ts'
import { dto } from '../../../http/service-response.ts'
import { defineAuthRoute, type AuthRoute } from '../dialect.ts'
import { changedClient, wrongMethod, type ClientDto } from '../oauth-server/client-metadata.ts'
import { findClient, type OAuthClient } from '../oauth-server/oauth-client.ts'
import { clientNotFound, oauthRefusals, requireOAuthServer } from '../oauth-server/oauth-refusal.ts'
import { accepted } from '../refusal.ts'
import { hashOfSecret, newSecret } from '../oauth-server/oauth-secrets.ts'
import { oauthStatements } from '../oauth-server/oauth-statements.ts'
import { registerClient } from '../oauth-server/registration-route.ts'
import { clientId } from '../path-ids.ts'
import { originOf } from '../request-origin.ts'
import { pageHeaders, pageOf, skippedBy } from './page.ts'

const schema = { type: 'object' } as const
const disabled = { 404: 'The OAuth server is disabled.' } as const
const notFound = { 404: 'There is no such client, or the OAuth server is disabled.' } as const
const body = dto<ClientDto>('AuthOAuthClientDto')
const path = '/admin/oauth/clients'

export const oauthClientRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'get',
    path,
    id: 'authAdminListOAuthClients',
    summary: 'OAuth clients, newest first',
    caller: 'admin',
    query: { page: 'Number of the page, from 1.', per_page: 'Clients per page; by default 50.' },
    success: [
      200,
      'A page of clients. `X-Total-Count` is the number of all, `Link` leads to the next and the last page.',
    ],
    schema,
    errors: { 400: 'The query is not valid.', ...disabled },
    handler: async ({ query, context, request }) => {
      requireOAuthServer(context.settings())
      const page = pageOf(query)
      const [[clients, total] = []] = await context.database.askRows(oauthStatements.listClients, [
        page.size,
        skippedBy(page),
      ])
      return {
        text: `{"clients":${clients ?? '[]'}}`,
        headers: pageHeaders(originalTarget(request), page, Number(total)),
      }
    },
  }),
  defineAuthRoute({
    method: 'post',
    path,
    id: 'authAdminCreateOAuthClient',
    summary: 'Register an OAuth client',
    description: 'Only this response has the secret of a client that is not public.',
    caller: 'admin',
    body,
    success: [201, 'The client.'],
    schema,
    errors: disabled,
    handler: async ({ body, caller, context, request }) => {
      requireOAuthServer(context.settings())
      const { ip } = originOf(request, context)
      return { json: await registerClient(context, body, { kind: 'manual', actor: caller.role, ip }) }
    },
  }),
  defineAuthRoute({
    method: 'get',
    path: `${path}/{client_id}`,
    id: 'authAdminGetOAuthClient',
    summary: 'An OAuth client',
    caller: 'admin',
    pathParameters: { client_id: clientId },
    success: [200, 'The client, without its secret.'],
    schema,
    errors: notFound,
    handler: async ({ path: { client_id: id }, context }) => {
      requireOAuthServer(context.settings())
      const client = await findClient(context, id)
      if (!client) throw clientNotFound()
      return { json: client.shown }
    },
  }),
  defineAuthRoute({
    method: 'put',
    path: `${path}/{client_id}`,
    id: 'authAdminUpdateOAuthClient',
    summary: 'Change an OAuth client',
    description: 'Members that are missing stay as they are.',
    caller: 'admin',
    pathParameters: { client_id: clientId },
    body,
    success: [200, 'The client as it is now.'],
    schema,
    errors: notFound,
    handler: async ({ path: { client_id: id }, body, caller, context, request }) => {
      requireOAuthServer(context.settings())
      const changes = changedClient(body)
      const values = [id, JSON.stringify(changes), caller.role, originOf(request, context).ip]
      const [changed] = await context.database.ask(oauthStatements.updateClient, values)
      const { refused, type } = changed as { readonly refused?: string; readonly type?: OAuthClient['type'] }
      if (refused === 'wrong_method' && type) throw wrongMethod(changes.token_endpoint_auth_method ?? '', type)
      return { json: accepted(changed, oauthRefusals) }
    },
  }),
  defineAuthRoute({
    method: 'delete',
    path: `${path}/{client_id}`,
    id: 'authAdminDeleteOAuthClient',
    summary: 'Delete an OAuth client',
    description: 'All of its grants and sessions end at once.',
    caller: 'admin',
    pathParameters: { client_id: clientId },
    success: [204, 'The client is deleted.'],
    errors: notFound,
    handler: async ({ path: { client_id: id }, caller, context, request }) => {
      requireOAuthServer(context.settings())
      const values = [id, caller.role, originOf(request, context).ip]
      const [removed] = await context.database.ask(oauthStatements.deleteClient, values)
      accepted(removed, oauthRefusals)
      return { status: 204, empty: true }
    },
  }),
  defineAuthRoute({
    method: 'post',
    path: `${path}/{client_id}/regenerate_secret`,
    id: 'authAdminRegenerateOAuthClientSecret',
    summary: 'Replace the secret of an OAuth client',
    caller: 'admin',
    pathParameters: { client_id: clientId },
    success: [200, 'The client, with its new secret. The old one is not accepted any more.'],
    schema,
    errors: { 400: 'The client is public, and has no secret.', ...notFound },
    handler: async ({ path: { client_id: id }, caller, context, request }) => {
      requireOAuthServer(context.settings())
      const secret = newSecret()
      const values = [id, hashOfSecret(secret), caller.role, originOf(request, context).ip]
      const [changed] = await context.database.ask(oauthStatements.changeSecret, values)
      return { json: { ...accepted<object>(changed, oauthRefusals), client_secret: secret } }
    },
  }),
]
