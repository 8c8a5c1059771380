// POST /invite and POST /admin/generate_link: accounts and links that administrators ask for.
import { jsonMembers, jsonObject, jsonTexts } from '../../../text/json-members.ts'
import { administrator } from '../../accounts/work-client.ts'
import { readEmail } from '../addresses.ts'
import { AuthError, authErrors } from '../auth-error.ts'
import { defineAuthRoute, type AuthCall, type AuthReply, type AuthRoute } from '../dialect.ts'
import { objectMember } from '../metadata.ts'
import { checkPassword } from '../password-rules.ts'
import { redirectTo } from '../request-redirect.ts'
import { bodies, type GenerateLinkBody } from './code-bodies.ts'
import type { MailPurpose } from './code-sender.ts'
import type { Settled } from './code-flows.ts'
import { issueToNewAccount } from './new-account.ts'
import type { IssuedCodes } from './one-time-codes.ts'

export const inviteRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'post',
    path: '/invite',
    id: 'authInvite',
    summary: 'Invite a user',
    description: 'Creates an account unless there is an unconfirmed one, and sends an invitation.',
    caller: 'admin',
    body: bodies.invite,
    success: [200, 'The user.'],
    errors: { 400: 'The address is not valid.', 422: 'There is a confirmed account.', 429: 'Too many mails.' },
    handler: async ({ context, body, bodyMembers, request }) => {
      const email = readEmail(body.email ?? '')
      const account = { address: { email }, data: objectMember(bodyMembers, 'data') }
      const audit = { action: 'user_invited', type: 'team' }
      const issued = requireUnconfirmed(
        await issueToNewAccount(context, request, 'invite', account, { audit, isNew: true }),
      )
      await context.codeFlows.sender.mail('invite', issued, request)
      return { text: issued.user }
    },
  }),
  defineAuthRoute({
    method: 'post',
    path: '/admin/generate_link',
    id: 'authGenerateLink',
    summary: 'Create a link',
    description:
      'Returns the link that the service would mail: its URL (`action_link`), code (`email_otp`) and token ' +
      '(`hashed_token`), beside the members of the user. Sends nothing.',
    caller: 'admin',
    body: bodies.generateLink,
    success: [200, 'The user with a link.'],
    errors: {
      400: 'The address or the type is not valid.',
      404: 'There is no such account.',
      422: 'There is a confirmed account with the address.',
    },
    handler: generateLink,
  }),
]

/** @throws AuthError 422 `email_exists` */
function requireUnconfirmed(issued: Settled): IssuedCodes {
  if (issued.status !== 'sent') throw authErrors.emailExists()
  return issued
}

type Call = AuthCall<'admin', GenerateLinkBody>

/** A generated link. */
type Generated = {
  readonly issued: IssuedCodes
  readonly purpose: MailPurpose
  /** `verification_type` of the response. */
  readonly type: string
}

const notFound = (): AuthError => new AuthError(404, 'user_not_found', 'User with this email not found')

async function generateLink(call: Call): Promise<AuthReply> {
  const { context, body, request } = call
  const email = readEmail(body.email ?? '')
  const target = redirectTo(context, request, body.redirect_to)
  const { issued, purpose, type } = await generate(call, email)
  const [first, second] = issued.mails
  const code = type === 'email_change_current' ? second : first
  const link = {
    action_link: context.codeFlows.sender.link(purpose, code?.token ?? '', request, target),
    email_otp: code?.code ?? '',
    hashed_token: code?.token ?? '',
    verification_type: type,
    redirect_to: target,
  }
  return { text: jsonObject({ ...Object.fromEntries(jsonMembers(issued.user)), ...jsonTexts(link) }) }
}

async function generate(call: Call, email: string): Promise<Generated> {
  const { type } = call.body
  switch (type) {
    case 'signup':
      return { issued: await confirmation(call, email, 'confirmation'), purpose: 'confirmation', type }
    case 'invite':
      return { issued: await confirmation(call, email, 'invite'), purpose: 'invite', type }
    case 'magiclink': {
      const issued = await existing(call, email, 'magiclink')
      if (issued) return { issued, purpose: 'magiclink', type }
      // As in GoTrue, the link for a stranger signs up.
      const created = await signUpByLink(call, email)
      return { issued: created, purpose: 'confirmation', type: 'signup' }
    }
    case 'recovery': {
      const issued = await existing(call, email, 'recovery')
      if (!issued) throw notFound()
      return { issued, purpose: 'recovery', type }
    }
    case 'email_change_current':
    case 'email_change_new':
      return { issued: await emailChange(call, email, type), purpose: 'email_change', type }
    default:
      throw authErrors.invalid(`Invalid email action link type requested: ${type ?? ''}`)
  }
}

/** A link that confirms the address of a new or unconfirmed account. */
async function confirmation(call: Call, email: string, purpose: 'confirmation' | 'invite'): Promise<IssuedCodes> {
  const { context, body, bodyMembers, request } = call
  const isSignUp = purpose === 'confirmation'
  const password = isSignUp ? (body.password ?? '') : ''
  if (isSignUp && password === '') throw authErrors.invalid('Signup requires a valid password')
  if (isSignUp) checkPassword(password, context.settings())
  const account = {
    address: { email },
    data: objectMember(bodyMembers, 'data'),
    passwordHash: isSignUp ? await context.passwords.for(administrator(request)).hash(password) : null,
  }
  const audit = { action: isSignUp ? 'user_confirmation_requested' : 'user_invited', type: 'team' }
  const options = { audit, isNew: true, isLimited: false }
  return requireUnconfirmed(await issueToNewAccount(context, request, purpose, account, options))
}

/** An account without a password. */
async function signUpByLink({ context, bodyMembers, request }: Call, email: string): Promise<IssuedCodes> {
  const account = { address: { email }, data: objectMember(bodyMembers, 'data') }
  const options = { isNew: true, isLimited: false }
  return requireUnconfirmed(await issueToNewAccount(context, request, 'confirmation', account, options))
}

async function existing(
  { context, request }: Call,
  email: string,
  purpose: 'magiclink' | 'recovery',
): Promise<IssuedCodes | undefined> {
  const { codeFlows } = context
  const audit = { action: 'user_recovery_requested', type: 'user' }
  const issued = await codeFlows.codes.issue({
    ...codeFlows.request(purpose, { email }, { request, audit }),
    frequency: 0,
  })
  return issued.status === 'sent' ? issued : undefined
}

async function emailChange(
  { context, body, request }: Call,
  email: string,
  type: 'email_change_current' | 'email_change_new',
): Promise<IssuedCodes> {
  const { codeFlows } = context
  const isSecure = context.settings().authMailerSecureEmailChangeEnabled
  if (type === 'email_change_current' && !isSecure) {
    throw authErrors.invalid('Enable secure email change to generate link for current email')
  }
  const newAddress = readEmail(body.new_email ?? '')
  const side = type === 'email_change_new' ? 'new' : 'current'
  const codeRequest = codeFlows.request('email_change', { email }, { request, newAddress, side })
  const issued = await codeFlows.codes.issue({ ...codeRequest, frequency: 0 })
  if (issued.status === 'exists') throw authErrors.emailExists()
  if (issued.status !== 'sent') throw notFound()
  return issued
}
