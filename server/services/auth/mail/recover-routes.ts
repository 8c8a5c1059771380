// POST /recover and /resend, GET /reauthenticate.
import { readEmail, readPhone } from '../addresses.ts'
import { AuthError, authErrors } from '../auth-error.ts'
import { defineAuthRoute, type AuthCall, type AuthReply, type AuthRoute } from '../dialect.ts'
import { readChallenge } from '../pkce.ts'
import { isEmpty } from '../request-text.ts'
import { bodies, type ResendBody } from './code-bodies.ts'
import type { FlowOptions } from './code-flows.ts'
import type { CodePurpose } from './one-time-codes.ts'

const tooMany = 'Too many requests, or too many mails or messages.'

export const recoverRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'post',
    path: '/recover',
    id: 'authRecover',
    summary: 'Send a link for choosing a new password',
    description: 'The response is the same whether there is an account or not.',
    caller: 'anyone',
    limit: 'otp',
    body: bodies.recover,
    success: [200, 'If there is an account with this address, a mail is sent.'],
    errors: { 400: 'The address or the challenge is not valid.', 429: tooMany },
    handler: async ({ context, body, request }) => {
      if (isEmpty(body.email)) throw authErrors.invalid('Password recovery requires an email')
      const email = readEmail(body.email)
      const pkce = readChallenge(body.code_challenge, body.code_challenge_method)
      const audit = { action: 'user_recovery_requested', type: 'user' }
      await context.codeFlows.mailToAnyone('recovery', { email }, { request, pkce, audit })
      return { json: {} }
    },
  }),
  defineAuthRoute({
    method: 'post',
    path: '/resend',
    id: 'authResend',
    summary: 'Send a code again',
    description:
      'Sends a new code for a sign-up or a change of the address that was not confirmed yet. The response is the same ' +
      'whether there is such an account or not.',
    caller: 'anyone',
    limit: 'otp',
    body: bodies.resend,
    success: [200, 'If something is to be confirmed, a code is sent.'],
    errors: { 400: 'The type, the address or the challenge is not valid.', 429: tooMany },
    handler: resend,
  }),
  defineAuthRoute({
    method: 'get',
    path: '/reauthenticate',
    id: 'authReauthenticate',
    summary: 'Send a code for changing the password',
    description: 'The code is the `nonce` of `PUT /user`.',
    caller: 'user',
    limit: 'otp',
    success: [200, 'A code is sent.'],
    errors: {
      400: 'The user has neither an e-mail address nor a phone number.',
      422: 'The address is not confirmed.',
      429: tooMany,
    },
    handler: async ({ context, caller, request }) => {
      const { email, phone, email_confirmed: isConfirmed, phone_confirmed: isPhoneConfirmed } = caller.row
      const byMail = !isEmpty(email)
      if (!byMail && isEmpty(phone)) {
        throw authErrors.invalid('Reauthentication requires the user to have an email or a phone number')
      }
      if (byMail && !isConfirmed) {
        throw new AuthError(422, 'email_not_confirmed', 'Please verify your email first.')
      }
      if (!byMail && !isPhoneConfirmed) {
        throw new AuthError(422, 'phone_not_confirmed', 'Please verify your phone first.')
      }
      const account = { user_id: caller.id }
      const options = { request, audit: { action: 'user_reauthenticate_requested', type: 'user' } }
      if (byMail) {
        await context.codeFlows.mail('reauthentication', account, options)
        return { json: {} }
      }
      const toPhone = { ...options, phone: phone ?? '' }
      const { messageId } = await context.codeFlows.message('phone_reauthentication', account, toPhone)
      return { json: messageId === undefined ? {} : { message_id: messageId } }
    },
  }),
]

/** What is sent again, by the member `type`. */
const resent: ReadonlyMap<
  string,
  { readonly purpose: CodePurpose; readonly options: Pick<FlowOptions, 'only' | 'audit'> }
> = new Map([
  [
    'signup',
    {
      purpose: 'confirmation',
      options: { only: 'unconfirmed', audit: { action: 'user_confirmation_requested', type: 'user' } },
    },
  ],
  ['email_change', { purpose: 'email_change', options: {} }],
  [
    'sms',
    {
      purpose: 'phone_confirmation',
      options: { only: 'phone_unconfirmed', audit: { action: 'user_recovery_requested', type: 'user' } },
    },
  ],
  ['phone_change', { purpose: 'phone_change', options: {} }],
])

async function resend({ context, body, request }: AuthCall<'anyone', ResendBody>): Promise<AuthReply> {
  const { codeFlows } = context
  const { authExternalEmailEnabled, authExternalPhoneEnabled } = context.settings()
  const { type, email, phone } = body
  const found = resent.get(type ?? '')
  if (!found) throw authErrors.invalid('Missing one of these types: signup, email_change, sms, phone_change')
  const isMail = type === 'signup' || type === 'email_change'
  const pkce = isMail ? readChallenge(body.code_challenge, body.code_challenge_method) : undefined
  if (type === 'signup' && isEmpty(email)) throw authErrors.invalid('Type provided requires an email address')
  if (type === 'sms' && isEmpty(phone)) throw authErrors.invalid('Type provided requires a phone number')
  if (!isEmpty(email) && !isEmpty(phone)) {
    throw authErrors.invalid('Only an email address or phone number should be provided.')
  }
  if (isEmpty(email) && isEmpty(phone)) throw authErrors.invalid('Missing email address or phone number')
  if (!isEmpty(email) && !authExternalEmailEnabled) throw authErrors.emailDisabled(400, 'Email logins are disabled')
  if (isEmpty(email) && !authExternalPhoneEnabled) throw authErrors.phoneDisabled(400, 'Phone logins are disabled')
  const account = isEmpty(email) ? { phone: readPhone(phone ?? '') } : { email: readEmail(email) }
  const options = { request, pkce, ...found.options }
  if (found.purpose === 'confirmation' || found.purpose === 'email_change') {
    await codeFlows.mailToAnyone(found.purpose, account, options)
    return { json: {} }
  }
  const { issued, messageId } = await codeFlows.message(found.purpose, account, options)
  // A pending change of the number is found by the current one. As in GoTrue, a repeated request without one is not refused.
  if (issued.status !== 'sent' && type === 'sms') await codeFlows.countStranger(found.purpose, account, options)
  return { json: messageId === undefined ? {} : { message_id: messageId } }
}
