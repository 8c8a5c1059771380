// POST and GET /verify: codes and links are used up.
import type { IncomingMessage } from 'node:http'
import { readEmail, readPhone } from '../addresses.ts'
import { AuthError, authErrors } from '../auth-error.ts'
import type { AuthContext } from '../auth-context.ts'
import { defineAuthRoute, type AuthCall, type AuthReply, type AuthRoute } from '../dialect.ts'
import { authErrorOf } from '../database-auth-error.ts'
import { pageWithCode, pageWithSession } from '../page-redirect.ts'
import { originOf } from '../request-origin.ts'
import { redirectTo } from '../request-redirect.ts'
import { isEmpty } from '../request-text.ts'
import { bodies, type VerifyBody } from './code-bodies.ts'
import type { AddressChange, CodeError, PresentedCode, UsedCode } from './one-time-codes.ts'
import { pageWithError, pageWithMessage } from './link-redirect.ts'
import { notify } from './notices.ts'
import { verifyPage } from './verify-page.ts'

const halfDone = 'Confirmation link accepted. Please proceed to confirm link sent to the other email'

const linkParameters = {
  token: 'The token of the link.',
  type: '`signup`, `invite`, `magiclink`, `recovery` or `email_change`.',
  redirect_to: 'Where to go in the end.',
}

export const verifyRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'post',
    path: '/verify',
    id: 'authVerify',
    summary: 'Use a code',
    description:
      'With `type`, and either `token_hash`, or `token` and the address that it was sent to. Returns a session. The first of ' +
      'two confirmations of a new e-mail address returns a message.',
    caller: 'anyone',
    limit: 'verify',
    secrets: ['linkToken', 'mailedCode'],
    body: bodies.verify,
    success: [200, 'A session, or a message.'],
    errors: {
      400: 'Members are missing, or do not belong together.',
      403: 'The code is wrong or has expired, or the user is banned.',
      422: 'The address is not valid, or is taken.',
    },
    handler: verifyCode,
  }),
  defineAuthRoute({
    method: 'get',
    path: '/verify',
    id: 'authFollowLink',
    summary: 'Follow a link',
    description:
      'Redirects to `redirect_to` with a session in the fragment, or with a code in the query if the link belongs to a PKCE ' +
      'flow. Errors are in the fragment. HEAD does not use up the link, and neither does GET with ' +
      '`GOTRUE_MAILER_VERIFY_BUTTON`, which shows a button instead.',
    caller: 'anyone',
    limit: 'verify',
    secrets: ['linkToken'],
    query: linkParameters,
    success: [303, 'To the page, with the result.'],
    errors: { 400: 'The token or the type is missing.' },
    handler: async (call) => {
      const link = linkOf(call)
      // Programs that look at the links of a mail must not use them up.
      if (call.request.method === 'HEAD') return { status: 200, html: '' }
      if (call.context.settings().authMailerVerifyButton) {
        return { status: 200, html: verifyPage(link.query), headers: pageHeaders }
      }
      return followLink(call.context, call.request, link)
    },
  }),
  defineAuthRoute({
    method: 'post',
    path: '/verify/confirm',
    id: 'authConfirmLink',
    summary: 'Press the button of a link',
    description: 'What the page of `GOTRUE_MAILER_VERIFY_BUTTON` sends. Redirects as `GET /verify`.',
    caller: 'anyone',
    limit: 'verify',
    secrets: ['linkToken'],
    query: linkParameters,
    success: [303, 'To the page, with the result.'],
    errors: { 400: 'The token or the type is missing.' },
    handler: (call) => followLink(call.context, call.request, linkOf(call)),
  }),
]

/** The token in the URL of the page must not get to other sites. */
const pageHeaders = {
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
}

const messages: Readonly<Record<Exclude<CodeError, 'otp_expired'>, () => AuthError>> = {
  user_banned: () => authErrors.userBanned(403),
  email_exists: () => authErrors.emailExists(),
  phone_exists: () => authErrors.phoneExists(),
}

/** @param wasCode whether an address was given, or the token of a link */
function failure(error: CodeError, wasCode: boolean): AuthError {
  if (error !== 'otp_expired') return messages[error]()
  const message = wasCode ? 'Token has expired or is invalid' : 'Email link is invalid or has expired'
  return new AuthError(403, 'otp_expired', message)
}

/** Types that links may have. */
const linkTypes: ReadonlySet<string> = new Set(['signup', 'invite', 'recovery', 'magiclink', 'email_change', 'email'])

async function use(
  context: AuthContext,
  request: IncomingMessage,
  code: Pick<PresentedCode, 'type' | 'pkce'> &
    ({ readonly email: string; token: string } | { readonly phone: string; token: string } | { token_hash: string }),
): Promise<UsedCode> {
  const settings = context.settings()
  const presented: PresentedCode = {
    ...code,
    lifetime: 'phone' in code ? settings.authSmsOtpExp : settings.authMailerOtpExp,
    // As in GoTrue: where addresses need no confirmation, one mailbox is enough.
    secure: settings.authMailerSecureEmailChangeEnabled && !settings.authMailerAutoconfirm,
  }
  const used = await context.codeFlows.codes.use(presented, originOf(request, context))
  if ('changed' in used && used.changed) noteChange(context, request, used.changed)
  return used
}

/** Tells the owner of the account, at the address that it had before. */
function noteChange(context: AuthContext, request: IncomingMessage, { kind, old = '', user }: AddressChange): void {
  switch (kind) {
    case 'email_changed':
      notify(context, request, user, { kind, oldEmail: old }, { to: old })
      return
    case 'phone_changed':
      notify(context, request, user, { kind, oldPhone: old })
      return
    case 'identity_linked':
      notify(context, request, user, { kind, provider: 'phone' })
      return
    default:
      kind satisfies never
  }
}

async function verifyCode({ context, body, request }: AuthCall<'anyone', VerifyBody>): Promise<AuthReply> {
  const { type } = body
  if (isEmpty(type)) throw authErrors.invalid('Verify requires a verification type')
  const code = codeOf(body, type)
  const guess =
    'token' in code ? await context.limits.guessCode('email' in code ? code.email : code.phone, request) : undefined
  const used = await use(context, request, { type, pkce: false, ...code })
  if (used.kind !== 'error' || used.error !== 'otp_expired') await guess?.giveBack()
  switch (used.kind) {
    case 'error':
      throw failure(used.error, 'token' in code)
    case 'half':
      return { json: { msg: halfDone, code: '200' } }
    case 'session': {
      const { text } = await context.sessions.respond(used.started, { method: 'otp' })
      return { text }
    }
    case 'auth code':
      throw authErrors.unexpected(new Error('a code was issued that was not asked for'))
    default:
      return used satisfies never
  }
}

type CodeOrHash =
  | { readonly email: string; readonly token: string }
  | { readonly phone: string; readonly token: string }
  | { readonly token_hash: string }

function codeOf({ email, phone, token, token_hash: hash, redirect_to: target }: VerifyBody, type: string): CodeOrHash {
  if (isEmpty(token) === isEmpty(hash)) {
    throw authErrors.invalid('Verify requires either a token or a token hash')
  }
  if (!isEmpty(hash)) {
    if (!isEmpty(email) || !isEmpty(phone) || !isEmpty(target)) {
      throw authErrors.invalid('Only the token_hash and type should be provided')
    }
    if (!linkTypes.has(type)) throw authErrors.invalid('Invalid email verification type')
    return { token_hash: hash }
  }
  const given = token ?? ''
  if (!isEmpty(phone) && isEmpty(email)) return { phone: readPhone(phone), token: given }
  if (isEmpty(email) || !isEmpty(phone)) {
    throw authErrors.invalid('Only an email address or phone number should be provided on verify')
  }
  return { email: readVerifiedEmail(email), token: given }
}

function readVerifiedEmail(text: string): string {
  try {
    return readEmail(text)
  } catch (error) {
    throw new AuthError(422, 'validation_failed', 'Invalid email format', { cause: error })
  }
}

type Link = {
  readonly token: string
  readonly type: string
  /** The query string, without the question mark. */
  readonly query: string
}

/** @throws AuthError 400 `validation_failed` */
function linkOf({ query }: Pick<AuthCall<'anyone', undefined>, 'query'>): Link {
  const token = query.get('token') ?? query.get('token_hash')
  const type = query.get('type')
  if (isEmpty(type)) throw authErrors.invalid('Verify requires a verification type')
  if (isEmpty(token)) throw authErrors.invalid('Verify requires a token or a token hash')
  return { token, type, query: query.toString() }
}

/** Prefix of tokens of PKCE flows. */
const pkcePrefix = 'pkce_'

async function followLink(context: AuthContext, request: IncomingMessage, { token, type }: Link): Promise<AuthReply> {
  const page = redirectTo(context, request)
  const pkce = token.startsWith(pkcePrefix)
  return { status: 303, redirect: await resultOf(context, request, { token, type, pkce, page }), headers: noReferrer }
}

/** The token in the URL must not get to the page by the header Referer. */
const noReferrer = { 'Referrer-Policy': 'no-referrer' }

async function resultOf(
  context: AuthContext,
  request: IncomingMessage,
  { token, type, pkce, page }: Pick<Link, 'token' | 'type'> & { readonly pkce: boolean; readonly page: string },
): Promise<string> {
  try {
    if (!linkTypes.has(type)) throw authErrors.invalid('Invalid email verification type')
    const used = await use(context, request, { type, pkce, token_hash: token })
    switch (used.kind) {
      case 'error':
        throw failure(used.error, false)
      case 'half':
        return pageWithMessage(page, halfDone, pkce)
      case 'auth code':
        return pageWithCode(page, used.authCode)
      case 'session':
        return pageWithSession(page, await context.sessions.respond(used.started, { method: 'otp' }), {
          type: used.type,
        })
      default:
        return used satisfies never
    }
  } catch (error) {
    const known = authErrorOf(error)
    if (known.status >= 500) throw error
    return pageWithError(page, known, pkce)
  }
}
