// `/admin/users`: accounts, for administrators.
import type { IncomingMessage } from 'node:http'
import { originalTarget } from '../../../http/router.ts'
import { dto } from '../../../http/service-response.ts'
import { userSchema } from '../account-schemas.ts'
import { administrator } from '../../accounts/work-client.ts'
import type { AuthAdmin } from '../auth-caller.ts'
import type { AuthContext } from '../auth-context.ts'
import { authErrors } from '../auth-error.ts'
import { defineAuthRoute, type AuthRoute } from '../dialect.ts'
import { userId } from '../path-ids.ts'
import { namedAudience, originOf } from '../request-origin.ts'
import { pageHeaders, pageOf, skippedBy } from './page.ts'
import {
  createUser,
  deleteUser,
  findUser,
  listUsers,
  updateUser,
  type UserAdministration,
} from './user-administration.ts'
import type { AdminUserDto } from './user-attributes.ts'

/** `schemas/auth-delete-user-dto.json` */
type DeleteUserDto = { readonly should_soft_delete?: boolean | null }

const account = userSchema
const attributes = dto<AdminUserDto>('AuthAdminUserDto')
const notFound = { 404: 'There is no such account.' } as const

export const userRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'get',
    path: '/admin/users',
    id: 'authAdminListUsers',
    summary: 'Accounts, newest first',
    caller: 'admin',
    query: {
      page: 'Number of the page, from 1.',
      per_page: 'Accounts per page; by default 50.',
      filter:
        'The address, phone number or id of an account selects this account; any other text, those whose address, ' +
        'phone number or full name contains it.',
      sort: '`created_at asc` or `created_at desc`.',
    },
    success: [
      200,
      'A page of accounts. `X-Total-Count` is the number of all, `Link` leads to the next and the last page.',
    ],
    schema: dto('AuthUsersDto'),
    errors: { 400: 'The query is not valid.' },
    handler: async ({ query, context, request }) => {
      const ascending = isAscending(query)
      const page = pageOf(query)
      const audience = namedAudience(request) ?? context.settings().authJwtAud
      const { users, total } = await listUsers(context.database, {
        audience,
        filter: query.get('filter') ?? '',
        ascending,
        size: page.size,
        skipped: skippedBy(page),
      })
      return {
        text: `{"users":${users},"aud":${JSON.stringify(audience)}}`,
        headers: pageHeaders(originalTarget(request), page, total),
      }
    },
  }),
  defineAuthRoute({
    method: 'post',
    path: '/admin/users',
    id: 'authAdminCreateUser',
    summary: 'Create an account',
    description: 'Sends no mail. Without a password, the account can sign in by codes and links only.',
    caller: 'admin',
    body: attributes,
    success: [200, 'The account.'],
    schema: account,
    errors: { 422: 'The address, the phone number or the id is taken.' },
    handler: async ({ body, bodyMembers: members, caller, context, request }) => ({
      text: await createUser(byCaller(caller, context, request), { body, members }, namedAudience(request)),
    }),
  }),
  defineAuthRoute({
    method: 'get',
    path: '/admin/users/{user_id}',
    id: 'authAdminShowUser',
    summary: 'One account',
    caller: 'admin',
    pathParameters: { user_id: userId },
    success: [200, 'The account.'],
    schema: account,
    errors: notFound,
    handler: async ({ path, context }) => ({ text: await findUser(context.database, path.user_id) }),
  }),
  defineAuthRoute({
    method: 'put',
    path: '/admin/users/{user_id}',
    id: 'authAdminUpdateUser',
    summary: 'Change an account',
    description: 'A new password ends all sessions of the account, and makes its pending codes invalid.',
    caller: 'admin',
    pathParameters: { user_id: userId },
    body: attributes,
    success: [200, 'The account as it is now.'],
    schema: account,
    errors: { ...notFound, 422: 'The address or the phone number is taken, or the password is weak.' },
    handler: async ({ path, body, bodyMembers: members, caller, context, request }) => ({
      text: await updateUser(byCaller(caller, context, request), path.user_id, { body, members }),
    }),
  }),
  defineAuthRoute({
    method: 'delete',
    path: '/admin/users/{user_id}',
    id: 'authAdminDeleteUser',
    summary: 'Delete an account',
    description:
      'Ends its sessions. Soft deletion keeps its row, with hashes in the place of addresses. Its files stay, as in Supabase.',
    caller: 'admin',
    pathParameters: { user_id: userId },
    body: dto<DeleteUserDto>('AuthDeleteUserDto'),
    bodyOptional: true,
    success: [200, 'The account was deleted.'],
    schema: { type: 'object' },
    errors: notFound,
    handler: async ({ path, body, caller, context, request }) => {
      await deleteUser(byCaller(caller, context, request), path.user_id, body.should_soft_delete === true)
      return { json: {} }
    },
  }),
]

/** The administration for the caller of a request. */
const byCaller = (caller: AuthAdmin, context: AuthContext, request: IncomingMessage): UserAdministration => ({
  database: context.database,
  settings: context.settings(),
  passwords: context.passwords.for(administrator(request)),
  actor: caller.role,
  ip: originOf(request, context).ip,
})

/** @throws AuthError 400 */
function isAscending(query: URLSearchParams): boolean {
  const [field, direction = 'desc'] = (query.get('sort') ?? 'created_at').split(' ')
  const fault = (why: string) => authErrors.invalid(`Bad Sort Parameters: ${why}`)
  if (field !== 'created_at') throw fault(`bad field for sort '${field ?? ''}'`)
  const lower = direction.toLowerCase()
  if (lower !== 'asc' && lower !== 'desc') {
    throw fault(`bad direction for sort '${direction}', only 'asc' and 'desc' allowed`)
  }
  return lower === 'asc'
}
