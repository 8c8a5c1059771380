// Confirmations by mail and by the hook for messages.
import { AuthError, authErrors } from '../auth-error.ts'
import type { AuthContext } from '../auth-context.ts'
import type { Confirmations } from '../confirmations.ts'
import { redirectRules } from '../request-redirect.ts'
import { requireSent, type CodeFlows } from './code-flows.ts'
import type { Mailer } from './mailer.ts'

type UserObject = { readonly id: string; readonly phone?: string; readonly user_metadata?: Record<string, unknown> }

const userOf = (text: string): UserObject => JSON.parse(text) as UserObject

export type ConfirmationsContext = Pick<AuthContext, 'settings' | 'hooks' | 'externalUrl'>

/**
 * What sign-up and changes of a user need of codes.
 *
 * @param contextNow is read at each call, because it is created together with this object
 */
export function createConfirmations(
  contextNow: () => ConfirmationsContext,
  flows: CodeFlows,
  mailer: Pick<Mailer, 'send'>,
): Confirmations {
  return {
    confirmEmail: async (user, { request, pkce, passwordHash }) => {
      const account = { user_id: userOf(user).id }
      return requireSent(await flows.mail('confirmation', account, { request, pkce, passwordHash })).user
    },
    confirmPhone: async (user, { passwordHash }) => {
      const { id, phone } = userOf(user)
      const options = { request: undefined, passwordHash, ...(phone === undefined ? {} : { phone }) }
      return requireSent((await flows.message('phone_confirmation', { user_id: id }, options)).issued).user
    },
    noticeExistingAccount: async (user, address, { request }) => {
      const context = contextNow()
      await flows.countExisting('email' in address ? 'confirmation' : 'phone_confirmation', address, { request })
      // The hook knows no mail of this kind.
      if (!('email' in address) || context.hooks.sendEmail) return
      const { siteUrl } = redirectRules(context, request)
      const { user_metadata: data = {} } = userOf(user)
      mailer.send('existing_account', address.email, { SiteURL: siteUrl, Email: address.email, Data: data })
    },
    changeEmail: async ({ userId, sessionId }, email, { request, pkce }) => {
      const options = { request, pkce, newAddress: email, sessionId }
      return requireSent(await flows.mail('email_change', { user_id: userId }, options)).user
    },
    changePhone: async ({ userId, sessionId }, phone) => {
      const options = { request: undefined, newAddress: phone, sessionId }
      const { issued } = await flows.message('phone_change', { user_id: userId }, options)
      if (issued.status === 'exists') throw authErrors.phoneExists()
      return requireSent(issued).user
    },
    useNonce: async (userId, nonce) => {
      const { authMailerOtpExp } = contextNow().settings()
      if (await flows.codes.useNonce(userId, nonce, authMailerOtpExp)) return
      throw new AuthError(422, 'reauthentication_not_valid', 'Nonce has expired or is invalid')
    },
  }
}
