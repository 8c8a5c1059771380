// `/console/api/users`: what the admin API of `/auth/v1` does not offer, because GoTrue has neither: the app_role of accounts,
// and their sessions.
import { clientAddress } from '../../http/client-address.ts'
import { Failure } from '../../http/envelope.ts'
import { defineEnvelopeRoute, type Access } from '../../http/envelope-dialect.ts'
import { uuidParameter } from '../../http/path-id.ts'
import type { Route } from '../../http/route.ts'
import { done, dto, failure, success } from '../../http/service-response.ts'
import { listSessions } from '../accounts/session.ts'
import { sessionLimits } from '../accounts/session-limits.ts'
import { appRolesOf, setAppRole } from '../auth/admin/user-administration.ts'
import { authDatabase } from '../auth/auth-database.ts'
import type { ConsoleCaller, ConsoleParts } from './console-settings.ts'
import type { AppRoleRequest, UserAppRole, UserDetails } from './protocol.ts'

const noSuchUser = (): Failure => new Failure(404, 'There is no such user')

const user = { id: uuidParameter('Id of the user.') }
const errors = { 404: failure('There is no such user.') }

export function userRoutes(parts: ConsoleParts, access: Access<ConsoleCaller>): readonly Route[] {
  const { database } = parts
  const accounts = authDatabase(database)
  const rolesOf = async (ids: readonly string[]): Promise<readonly UserAppRole[]> =>
    Array.from(await appRolesOf(accounts, ids), ([id, role]) => ({ id, app_role: role }))
  return [
    defineEnvelopeRoute({
      method: 'get',
      path: '/console/api/users',
      id: 'consoleUserRoles',
      tag: 'console',
      summary: 'The app_role of users',
      access,
      query: {
        schema: dto<{ readonly ids: string }>('ConsoleUsersQuery'),
        parameters: { ids: 'Ids of users, separated by commas.' },
        required: true,
        numeric: [],
      },
      success: success(200, 'Those of the users that have one.', { type: 'array' }),
      handler: async ({ query }) => ({ details: await rolesOf(query.ids.split(',')) }),
    }),
    defineEnvelopeRoute({
      method: 'get',
      path: '/console/api/users/{id}',
      id: 'consoleUser',
      tag: 'console',
      summary: 'The app_role and the sessions of a user',
      access,
      pathParameters: user,
      success: success(200, 'The user.', { type: 'object' }),
      handler: async ({ path: { id } }) => {
        const limits = sessionLimits(parts.snapshot().config)
        const [[found], sessions] = await Promise.all([
          rolesOf([id]),
          listSessions(id, { query: database.query, sessionLimits: () => limits }),
        ])
        return { details: { app_role: found?.app_role ?? null, sessions } satisfies UserDetails }
      },
    }),
    defineEnvelopeRoute({
      method: 'put',
      path: '/console/api/users/{id}/app-role',
      id: 'consoleChangeAppRole',
      tag: 'console',
      summary: 'Set the app_role of a user',
      access,
      pathParameters: user,
      body: dto<AppRoleRequest>('ConsoleAppRoleDto'),
      success: done('The app_role was set.'),
      errors,
      handler: async ({ caller, path: { id }, body: { app_role: appRole }, request }) => {
        const address = clientAddress(request, parts.snapshot().config.trustedProxies)
        const change = { database: accounts, actor: caller.actor, ip: address }
        if (!(await setAppRole(change, id, appRole))) throw noSuchUser()
        await parts.record(caller, 'set app_role', { user: id, app_role: appRole })
        return { message: 'app_role set' }
      },
    }),
    defineEnvelopeRoute({
      method: 'delete',
      path: '/console/api/users/{id}/sessions/{session}',
      id: 'consoleEndSessions',
      tag: 'console',
      summary: 'End a session of a user, or all of them',
      access,
      pathParameters: { ...user, session: uuidParameter('Id of the session, or `all`.', 'all') },
      success: success(200, 'How many sessions have ended.', { type: 'object' }),
      handler: async ({ caller, path: { id, session } }) => {
        const chosen = session === 'all' ? null : session
        const [row] = await database.query('select auth.revoke_sessions($1, $2, null) as ended', [id, chosen])
        await parts.record(caller, 'end sessions', { user: id, session })
        return { details: { ended: Number(row?.ended) } }
      },
    }),
  ]
}
