// POST /otp and /magiclink: sign-in with a code or link, without a password.
import { readChannel, readEmail, readPhone } from '../addresses.ts'
import { AuthError, authErrors } from '../auth-error.ts'
import { defineAuthRoute, type AuthCall, type AuthReply, type AuthRoute } from '../auth-route.ts'
import { objectMember } from '../metadata.ts'
import { readChallenge } from '../pkce.ts'
import { bodies, type OtpBody } from './code-bodies.ts'
import { issueToNewAccount } from './new-account.ts'

type Call = AuthCall<'anyone', OtpBody>

const description =
  'Sends a code and a link. Creates an account unless there is one, or `create_user` is false. The response is the same ' +
  'whether there was an account or not.'

export const otpRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'post',
    path: '/otp',
    id: 'authSendOtp',
    summary: 'Send a code for signing in',
    description,
    caller: 'anyone',
    limit: 'otp',
    body: bodies.otp,
    success: [200, 'A code is sent. With a phone number, `message_id` may identify the message.'],
    errors: {
      400: 'The address or the challenge is not valid.',
      422: 'There is no account and none may be created, or the provider is disabled.',
      429: 'Too many requests, or too many mails or messages.',
    },
    handler: sendOtp,
  }),
  defineAuthRoute({
    method: 'post',
    path: '/magiclink',
    id: 'authSendMagicLink',
    summary: 'Send a link for signing in',
    description: 'As `/otp` with an e-mail address.',
    caller: 'anyone',
    limit: 'otp',
    body: bodies.otp,
    success: [200, 'A code is sent.'],
    errors: {
      400: 'The address or the challenge is not valid.',
      422: 'The address is missing, or the provider is disabled.',
      429: 'Too many requests, or too many mails.',
    },
    handler: (call) => {
      if (isEmpty(call.body.email)) {
        throw new AuthError(422, 'validation_failed', 'Password recovery requires an email')
      }
      return sendMagicLink(call, true)
    },
  }),
]

const isEmpty = (text: string | null | undefined): boolean => text === undefined || text === null || text === ''

async function sendOtp(call: Call): Promise<AuthReply> {
  const { email, phone, channel, create_user: creates } = call.body
  if (!isEmpty(email) && !isEmpty(phone)) {
    throw authErrors.invalid('Only an email address or phone number should be provided')
  }
  if (!isEmpty(email) && !isEmpty(channel)) {
    throw authErrors.invalid('Channel should only be specified with Phone OTP')
  }
  readChallenge(call.body.code_challenge, call.body.code_challenge_method)
  if (!isEmpty(email)) return sendMagicLink(call, creates !== false)
  if (!isEmpty(phone)) return sendMessage(call, creates !== false)
  throw authErrors.invalid('One of email or phone must be set')
}

const otpDisabled = (): AuthError => new AuthError(422, 'otp_disabled', 'Signups not allowed for otp')

/** @param creates whether an account may be created */
async function sendMagicLink({ context, body, bodyMembers, request }: Call, creates: boolean): Promise<AuthReply> {
  const { codeFlows } = context
  const settings = context.settings()
  if (!settings.authExternalEmailEnabled) {
    throw new AuthError(422, 'email_provider_disabled', 'Email logins are disabled')
  }
  if (!settings.authExternalEmailMagicLinkEnabled) {
    throw new AuthError(422, 'email_provider_disabled', 'Login with magic link is disabled')
  }
  const email = readEmail(body.email ?? '')
  const pkce = readChallenge(body.code_challenge, body.code_challenge_method)
  const data = objectMember(bodyMembers, 'data')
  const audit = { action: 'user_recovery_requested', type: 'user' }
  const options = { request, pkce, audit }
  const issued = await codeFlows.issue('magiclink', { email }, { ...options, only: 'confirmed' })
  if (issued.status === 'sent') {
    await codeFlows.sender.mail('magiclink', issued, request)
    return { json: {} }
  }
  const isNew = issued.status === 'absent'
  if (isNew && !creates) throw otpDisabled()
  if (settings.authDisableSignup) throw authErrors.signupDisabled()
  // The mail that confirms the address signs in, too.
  const confirmed = settings.authMailerAutoconfirm
  const purpose = confirmed ? 'magiclink' : 'confirmation'
  const account = { address: { email }, data, confirmed }
  const toNew = await issueToNewAccount(context, request, purpose, account, { pkce, isNew })
  if (toNew.status === 'sent') await codeFlows.sender.mail(purpose, toNew, request)
  return { json: {} }
}

async function sendMessage({ context, body, bodyMembers, request }: Call, creates: boolean): Promise<AuthReply> {
  const { codeFlows } = context
  const settings = context.settings()
  if (!settings.authExternalPhoneEnabled) throw authErrors.phoneDisabled('Unsupported phone provider')
  const channel = readChannel(body.channel ?? '')
  const phone = readPhone(body.phone ?? '')
  const data = objectMember(bodyMembers, 'data')
  const audit = { action: 'user_recovery_requested', type: 'user', traits: { channel } }
  const { issued, messageId } = await codeFlows.message(
    'phone_confirmation',
    { phone },
    { request, audit, only: 'phone_confirmed' },
  )
  if (issued.status === 'sent') return { json: messageId === undefined ? {} : { message_id: messageId } }
  const isNew = issued.status === 'absent'
  if (isNew && !creates) throw otpDisabled()
  if (settings.authDisableSignup) throw authErrors.signupDisabled()
  const account = { address: { phone }, data, confirmed: settings.authSmsAutoconfirm }
  const toNew = await issueToNewAccount(context, request, 'phone_confirmation', account, { isNew })
  if (toNew.status === 'sent') await codeFlows.sender.message(toNew)
  return { json: {} }
}
