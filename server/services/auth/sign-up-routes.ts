// POST /signup: with e-mail address or phone number and a password, or anonymous.
import { randomUUID } from 'node:crypto'
import { dto } from '../../http/service-response.ts'
import { sessionSchema, userSchema } from './account-schemas.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { jsonMembers, jsonObject, jsonTexts } from '../../text/json-members.ts'
import { workClient } from '../accounts/work-client.ts'
import { readChannel, readEmail, readPhone } from './addresses.ts'
import { announceUser, requireOpenSignUp, requireSignUpWith } from './admission.ts'
import { AuthError, authErrors } from './auth-error.ts'
import { defineAuthRoute, type AuthCall, type AuthReply, type AuthRoute } from './dialect.ts'
import type { PkceChallenge } from './confirmations.ts'
import { draftUser } from './draft-user.ts'
import { chosenData } from './metadata.ts'
import { checkPassword } from './password-rules.ts'
import { readChallenge } from './pkce.ts'
import { audienceOf, originOf } from './request-origin.ts'
import { isEmpty } from './request-text.ts'

/** `schemas/auth-sign-up-dto.json` */
type SignUpBody = {
  readonly email?: string | null
  readonly phone?: string | null
  readonly password?: string | null
  readonly data?: Readonly<Record<string, unknown>> | null
  readonly channel?: string | null
  readonly code_challenge?: string | null
  readonly code_challenge_method?: string | null
}

type Call = AuthCall<'anyone', SignUpBody>

/** An identity in a user object. */
type Identity = { readonly provider: string }

/** A sign-up that was checked. */
type SignUp = {
  readonly provider: 'email' | 'phone' | 'anonymous'
  /** Empty for an anonymous user. */
  readonly address: string
  readonly passwordHash: string | null
  /** JSON text */
  readonly metadata: string | null
  readonly audience: string
  readonly id: string
}

const signUp = new JsonStatement('select auth.sign_up($1, $2, $3, $4, $5, $6, $7, false, $8)', { access: 'write' })
const signUpWithSession = new JsonStatement('select auth.sign_up_session($1, $2, $3, $4, $5, $6, $7, $8, $9)', {
  access: 'write',
})

export const signUpRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'post',
    path: '/signup',
    id: 'authSignUp',
    summary: 'Sign up',
    description:
      'With an e-mail address or a phone number, and a password; without both, an anonymous user is created. Returns a ' +
      'session, or the user if the address has to be confirmed first. An address that has an account already gets a ' +
      'user that does not exist, and its owner a mail.',
    caller: 'anyone',
    body: dto<SignUpBody>('AuthSignUpDto'),
    success: [200, 'A session, or a user without one.'],
    schema: { anyOf: [sessionSchema, userSchema] },
    errors: {
      422: 'The password is weak, the address is taken, or sign-up is disabled.',
      429: 'Too many requests, or too many mails.',
    },
    handler: async (call) => {
      const { email, phone } = call.body
      return isEmpty(email) && isEmpty(phone) ? signUpAnonymously(call) : signUpWithPassword(call)
    },
  }),
]

async function signUpAnonymously(call: Call): Promise<AuthReply> {
  const { context, request, route } = call
  const settings = context.settings()
  if (!settings.authExternalAnonymousUsersEnabled) {
    throw new AuthError(422, 'anonymous_provider_disabled', 'Anonymous sign-ins are disabled')
  }
  await context.limits.countRequest('anonymous_users', route, request)
  requireOpenSignUp(settings)
  const wanted = newSignUp(call, 'anonymous', '', null)
  await beforeCreation(call, wanted)
  return createWithSession(call, wanted)
}

async function signUpWithPassword(call: Call): Promise<AuthReply> {
  const { context, request, body, route } = call
  const settings = context.settings()
  await context.limits.countRequest('otp', route, request)
  requireOpenSignUp(settings)
  const { email, phone, password } = body
  if (isEmpty(password)) throw authErrors.invalid('Signup requires a valid password')
  checkPassword(password, settings)
  if (!isEmpty(email) && !isEmpty(phone)) {
    throw authErrors.invalid('Only an email address or phone number should be provided on signup.')
  }
  const provider = isEmpty(email) ? 'phone' : 'email'
  if (provider === 'phone') readChannel(body.channel ?? '')
  if (provider === 'phone' && !isEmpty(body.code_challenge)) {
    throw authErrors.invalid('PKCE not supported for phone signups')
  }
  const pkce = readChallenge(body.code_challenge, body.code_challenge_method)
  requireSignUpWith(provider, settings)
  const address = provider === 'email' ? readEmail(email ?? '') : readPhone(phone ?? '')
  // Takes as long for an address that is taken.
  const passwordHash = await context.passwords.for(workClient(request, context.trustedProxies)).hash(password)
  const wanted = newSignUp(call, provider, address, passwordHash)
  await beforeCreation(call, wanted)
  const confirms = provider === 'email' ? settings.authMailerAutoconfirm : settings.authSmsAutoconfirm
  return confirms ? createWithSession(call, wanted) : createUnconfirmed(call, wanted, pkce)
}

const newSignUp = (
  { bodyMembers, request, context }: Call,
  provider: SignUp['provider'],
  address: string,
  passwordHash: string | null,
): SignUp => ({
  provider,
  address,
  passwordHash,
  metadata: chosenData(bodyMembers),
  audience: audienceOf(request, context.settings()),
  id: randomUUID(),
})

const beforeCreation = ({ context, request }: Call, wanted: SignUp): Promise<void> =>
  announceUser(
    context,
    wanted.provider === 'anonymous' ? undefined : addressOf(wanted),
    draftOf(wanted),
    originOf(request, context).ip,
  )

/** Creates a user whose address needs no confirmation, and starts a session. */
async function createWithSession({ context, request }: Call, wanted: SignUp): Promise<AuthReply> {
  const { database, sessions, hooks } = context
  const { ip, userAgent } = originOf(request, context)
  const [row] = await database.askRows(signUpWithSession, [...parameters(wanted, context.settings()), ip, userAgent])
  const members = jsonMembers(row?.[0] ?? '{}')
  const outcome = textMember(members, 'outcome')
  if (outcome === 'exists') throw alreadyRegistered()
  const issued = members.get('issued') ?? '{}'
  if (outcome === 'created') await hooks.afterUserCreated?.(jsonMembers(issued).get('user') ?? '{}', { ip })
  const method = wanted.provider === 'anonymous' ? 'anonymous' : 'password'
  const { text } = await sessions.respond(issued, { method })
  return { text }
}

/** Creates a user, and sends what confirms the address. */
async function createUnconfirmed(call: Call, wanted: SignUp, pkce: PkceChallenge | undefined): Promise<AuthReply> {
  const { context, request } = call
  const { database, confirmations, hooks } = context
  const settings = context.settings()
  const { ip } = originOf(request, context)
  const [row] = await database.askRows(signUp, [...parameters(wanted, settings), ip])
  const members = jsonMembers(row?.[0] ?? '{}')
  const user = members.get('user') ?? '{}'
  const outcome = textMember(members, 'outcome')
  if (outcome === 'exists') {
    if (settings.authMailerAutoconfirm || settings.authSmsAutoconfirm) throw alreadyRegistered()
    await confirmations.noticeExistingAccount(user, addressOf(wanted), { request })
    return { text: inventedUser(wanted) }
  }
  if (outcome === 'created') await hooks.afterUserCreated?.(user, { ip })
  const { passwordHash } = wanted
  const sent =
    wanted.provider === 'email'
      ? await confirmations.confirmEmail(user, { request, pkce, passwordHash })
      : await confirmations.confirmPhone(user, { passwordHash })
  if (outcome === 'created') return { text: sent }
  const shown = asNewAccount(sent, wanted)
  // As in GoTrue, an invited user has no identities here.
  return { text: jsonObject(members.get('invited') === 'true' ? shown.set('identities', '[]') : shown) }
}

const addressOf = ({ provider, address }: SignUp): { readonly email: string } | { readonly phone: string } =>
  provider === 'email' ? { email: address } : { phone: address }

const alreadyRegistered = (): AuthError => new AuthError(422, 'user_already_exists', 'User already registered')

const parameters = (
  { id, provider, address, passwordHash, metadata, audience }: SignUp,
  { authJwtDefaultGroupName }: { readonly authJwtDefaultGroupName: string },
): (string | null)[] => [id, provider, address, passwordHash, metadata, audience, authJwtDefaultGroupName]

/** The user object before the user is created. */
const draftOf = ({ id, provider, address, audience, metadata }: SignUp, times = {}): string =>
  draftUser({
    id,
    audience,
    times,
    metadata: metadata ?? '{}',
    ...(provider === 'anonymous' ? { provider: null } : { provider, [provider]: address }),
  })

/** The response to a sign-up with an address that has an account: it looks as if a mail was sent. */
function inventedUser(wanted: SignUp): string {
  const now = new Date().toISOString()
  return draftOf(wanted, { confirmation_sent_at: now, created_at: now, updated_at: now })
}

/** Members of a user object that have the same value in an account of another person with the address. */
const sharedMembers = ['id', 'aud', 'role', 'email', 'phone', 'is_anonymous', 'confirmation_sent_at'] as const

/**
 * The members of an unconfirmed account as this request would have created it. A sign-up with a known address shows
 * nothing that the account's user or an administrator has stored: data, other addresses, identities and times.
 */
function asNewAccount(user: string, { provider, address, metadata }: SignUp): Map<string, string | undefined> {
  const members = jsonMembers(user)
  const now = new Date().toISOString()
  const times = { created_at: now, updated_at: now }
  const id: unknown = JSON.parse(members.get('id') ?? 'null')
  const identities = (JSON.parse(members.get('identities') ?? '[]') as readonly Identity[])
    .filter((it) => it.provider === provider)
    .map((it) => ({
      ...it,
      identity_data: { sub: id, [provider]: address, email_verified: false, phone_verified: false },
      last_sign_in_at: now,
      ...times,
    }))
  const shown = new Map(sharedMembers.map((name) => [name, members.get(name)] as const))
  return new Map<string, string | undefined>([
    ...shown,
    [provider === 'email' ? 'phone' : 'email', '""'],
    ...Object.entries(jsonTexts({ app_metadata: { provider, providers: [provider] }, identities, ...times })),
    ['user_metadata', metadata ?? '{}'],
  ])
}

const textMember = (members: ReadonlyMap<string, string>, name: string): unknown =>
  JSON.parse(members.get(name) ?? 'null')
