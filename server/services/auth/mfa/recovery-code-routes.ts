// `/factors/recovery-codes`: codes that replace a lost second factor. GoTrue has no such endpoints.
import { dto } from '../../../http/service-response.ts'
import { defineAuthRoute, type AuthRoute } from '../dialect.ts'
import { originOf } from '../request-origin.ts'
import { factorOwner } from './factor-caller.ts'
import { accepted } from '../refusal.ts'
import { factorRefusals } from './factor-refusal.ts'
import { factorStatements } from './factor-statements.ts'
import { createRecoveryCodes, hashRecoveryCode } from './recovery-code.ts'

export const recoveryCodeRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'post',
    path: '/factors/recovery-codes',
    id: 'authCreateRecoveryCodes',
    summary: 'Get new recovery codes',
    description:
      'Ten codes, sent only here; earlier ones become invalid. Each is accepted once, in the place of the code of a ' +
      'verified factor (`POST /factors/{factor_id}/verify`). Needs a session of aal2, unless there is no verified ' +
      'factor yet: then the codes are valid if the same session verifies the first one.',
    caller: 'user',
    success: [200, 'The codes.'],
    schema: dto('AuthRecoveryCodesDto'),
    errors: { 403: 'The session needs aal2, or the user is anonymous.' },
    handler: async ({ caller, context, request }) => {
      const owner = factorOwner(caller)
      const codes = createRecoveryCodes()
      const [result] = await context.database.ask(factorStatements.createRecoveryCodes, [
        owner.id,
        owner.session.id,
        // Hashes need no quotes in Postgres's notation of a list.
        `{${codes.map((code) => hashRecoveryCode(owner.id, code)).join()}}`,
        originOf(request, context).ip,
      ])
      const protectedAction = { name: 'create recovery codes', status: 403 } as const
      return {
        json: { codes, ...accepted<{ readonly created_at: string }>(result, factorRefusals({ protectedAction })) },
      }
    },
  }),
  defineAuthRoute({
    method: 'get',
    path: '/factors/recovery-codes',
    id: 'authCountRecoveryCodes',
    summary: 'How many recovery codes are left',
    caller: 'user',
    success: [200, 'Numbers of codes.'],
    schema: dto('AuthRecoveryCodeCountDto'),
    handler: async ({ caller, context }) => {
      const [counts] = await context.database.ask(factorStatements.countRecoveryCodes, [factorOwner(caller).id])
      return { json: counts }
    },
  }),
]
