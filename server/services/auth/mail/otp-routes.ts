// POST /otp and /magiclink: sign-in with a code or link, without a password.
import type { IncomingMessage } from 'node:http'
import { readChannel, readEmail, readPhone } from '../addresses.ts'
import { requireOpenSignUp, requireSignInWith } from '../admission.ts'
import type { AuthContext } from '../auth-context.ts'
import { AuthError, authErrors } from '../auth-error.ts'
import { defineAuthRoute, type AuthCall, type AuthReply, type AuthRoute } from '../dialect.ts'
import type { PkceChallenge } from '../confirmations.ts'
import { chosenData } from '../metadata.ts'
import { readChallenge } from '../pkce.ts'
import { isEmpty } from '../request-text.ts'
import { bodies, type OtpBody } from './code-bodies.ts'
import type { Settled } from './code-flows.ts'
import { createWithCode, type AccountParts } from './new-account.ts'
import type { CodePurpose, CodeRequest } from './one-time-codes.ts'

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
  requireSignInWith('email', settings)
  if (!settings.authExternalEmailMagicLinkEnabled) {
    throw authErrors.emailDisabled(422, 'Login with magic link is disabled')
  }
  const email = readEmail(body.email ?? '')
  const pkce = readChallenge(body.code_challenge, body.code_challenge_method)
  const data = chosenData(bodyMembers)
  const audit = { action: 'user_recovery_requested', type: 'user' }
  // The mail that confirms the address signs in, too.
  const confirmed = settings.authMailerAutoconfirm
  const purposeIfNew = confirmed ? 'magiclink' : 'confirmation'
  const { issued, isNew } = await issueOrCreate(context, request, {
    purpose: 'magiclink',
    only: 'confirmed',
    purposeIfNew,
    account: { address: { email }, data, confirmed },
    creates,
    pkce,
    audit,
  })
  if (issued.status === 'sent') await codeFlows.sender.mail(isNew ? purposeIfNew : 'magiclink', issued, request)
  return { json: {} }
}

type SignInCode = {
  /** Of a code for a confirmed address. */
  readonly purpose: CodePurpose
  /** The state of that account. */
  readonly only: CodeRequest['only']
  /** Of a code for an account that is created, or whose address is not confirmed. */
  readonly purposeIfNew: CodePurpose
  readonly account: AccountParts
  /** Whether an account may be created. */
  readonly creates: boolean
  readonly pkce?: PkceChallenge | undefined
  readonly audit: CodeRequest['audit']
}

/**
 * Issues a code to a confirmed address, else creates an account. Counts one mail or message in both cases, so that the time
 * of the response reveals little about the account.
 */
async function issueOrCreate(
  context: AuthContext,
  request: IncomingMessage,
  { purpose, only, purposeIfNew, account, creates, pkce, audit }: SignInCode,
): Promise<{ readonly issued: Settled; readonly isNew: boolean }> {
  const { codeFlows } = context
  let isNew = false
  const issued = await codeFlows.counted(purpose, async () => {
    const confirmed = codeFlows.request(purpose, account.address, { request, pkce, only, audit })
    const known = await codeFlows.codes.issue(confirmed)
    if (known.status !== 'absent' && known.status !== 'unconfirmed') return known
    isNew = true
    const isAbsent = known.status === 'absent'
    if (isAbsent && !creates) throw otpDisabled()
    requireOpenSignUp(context.settings())
    return createWithCode(context, request, purposeIfNew, account, { pkce, isNew: isAbsent })
  })
  return { issued, isNew }
}

async function sendMessage({ context, body, bodyMembers, request }: Call, creates: boolean): Promise<AuthReply> {
  const { codeFlows } = context
  const settings = context.settings()
  if (!settings.authExternalPhoneEnabled) throw authErrors.phoneDisabled(400, 'Unsupported phone provider')
  const channel = readChannel(body.channel ?? '')
  const phone = readPhone(body.phone ?? '')
  const data = chosenData(bodyMembers)
  const audit = { action: 'user_recovery_requested', type: 'user', traits: { channel } }
  const { issued, isNew } = await issueOrCreate(context, request, {
    purpose: 'phone_confirmation',
    only: 'phone_confirmed',
    purposeIfNew: 'phone_confirmation',
    account: { address: { phone }, data, confirmed: settings.authSmsAutoconfirm },
    creates,
    audit,
  })
  const messageId = issued.status === 'sent' ? await codeFlows.sender.message(issued) : undefined
  return { json: isNew || messageId === undefined ? {} : { message_id: messageId } }
}
