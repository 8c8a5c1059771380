// `/admin/users/{user_id}/factors`: second factors of accounts, for administrators.
import { dto } from '../../../http/service-response.ts'
import { readPhone } from '../addresses.ts'
import { defineAuthRoute, type AuthRoute } from '../dialect.ts'
import { notifyOwner } from '../mail/notices.ts'
import { factorId, userId } from '../path-ids.ts'
import { originOf } from '../request-origin.ts'
import { replyOf, resultText } from './admin-result.ts'
import { adminStatements } from './admin-statements.ts'

/** `schemas/auth-admin-factor-dto.json` */
type AdminFactorDto = { readonly friendly_name?: string | null; readonly phone?: string | null }

const factor = dto('AuthFactorDto')
const notFound = { 404: 'There is no such account, or it has no such factor.' } as const

export const userFactorRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'get',
    path: '/admin/users/{user_id}/factors',
    id: 'authAdminListFactors',
    summary: 'Second factors of an account',
    caller: 'admin',
    pathParameters: { user_id: userId },
    success: [200, 'The factors, without secrets.'],
    schema: { type: 'array', items: factor },
    errors: { 404: 'There is no such account.' },
    handler: async ({ path, context }) =>
      replyOf(await context.database.askRows(adminStatements.listFactors, [path.user_id])),
  }),
  defineAuthRoute({
    method: 'put',
    path: '/admin/users/{user_id}/factors/{factor_id}',
    id: 'authAdminUpdateFactor',
    summary: 'Change the name or the phone number of a second factor',
    caller: 'admin',
    pathParameters: { user_id: userId, factor_id: factorId },
    body: dto<AdminFactorDto>('AuthAdminFactorDto'),
    success: [200, 'The factor as it is now.'],
    schema: factor,
    errors: { ...notFound, 422: 'Another factor of the account has this name or number.' },
    handler: async ({ path, body: { friendly_name, phone }, caller, context, request }) =>
      replyOf(
        await context.database.askRows(adminStatements.updateFactor, [
          path.user_id,
          path.factor_id,
          friendly_name === '' ? null : (friendly_name ?? null),
          phone ? readPhone(phone) : null,
          caller.role,
          originOf(request, context).ip,
        ]),
        friendly_name ?? '',
      ),
  }),
  defineAuthRoute({
    method: 'delete',
    path: '/admin/users/{user_id}/factors/{factor_id}',
    id: 'authAdminDeleteFactor',
    summary: 'Delete a second factor',
    description: 'The sessions that were raised by it fall back to aal1.',
    caller: 'admin',
    pathParameters: { user_id: userId, factor_id: factorId },
    success: [200, 'The factor that was deleted.'],
    schema: factor,
    errors: notFound,
    handler: async ({ path, caller, context, request }) => {
      const values = [path.user_id, path.factor_id, caller.role, originOf(request, context).ip]
      const text = resultText(await context.database.askRows(adminStatements.deleteFactor, values))
      const { factor_type: factorType, status } = JSON.parse(text) as {
        readonly factor_type: string
        readonly status: string
      }
      if (status === 'verified')
        notifyOwner(context, request, path.user_id, { kind: 'mfa_factor_unenrolled', factorType })
      return { text }
    },
  }),
]
