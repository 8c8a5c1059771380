// The accounts of users of providers. See the functions of `000007_providers.sql`, which decide whose account it is.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { sqlState } from '../../../postgres/database-error.ts'
import { JsonStatement } from '../../../postgres/json-statement.ts'
import type { AuthContext } from '../auth-context.ts'
import { AuthError, authErrors } from '../auth-error.ts'
import { draftUser } from '../draft-user.ts'
import type { LinkingTarget } from '../flow-states.ts'
import { notify, type NoticedContext } from '../mail/notices.ts'
import { audienceOf } from '../request-origin.ts'
import type { SessionOrigin, StartedSession } from '../sessions.ts'
import type { Provider } from './providers.ts'
import type { ProviderUser } from './provider-user.ts'

const decide = new JsonStatement('select auth.linking_decision($1, $2, $3)', { access: 'read' })
const signIn = new JsonStatement('select result, started from auth.sign_in_with_provider($1::json)', {
  access: 'write',
})
const link = new JsonStatement('select result, started from auth.link_identity($1::json)', { access: 'write' })

export type AccountsContext = NoticedContext & Pick<AuthContext, 'database' | 'confirmations'>

/** The flow of the client that the sign-in finishes, with the tokens that the client gets from the provider. */
export type FinishedFlow = {
  readonly flowId: string
  readonly providerToken: string
  readonly providerRefreshToken: string | undefined
}

export type ProviderSignIn = {
  readonly provider: Pick<Provider, 'name' | 'emailOptional'>
  readonly user: ProviderUser
  /** Undefined in the implicit flow. */
  readonly flow: FinishedFlow | undefined
  readonly request: IncomingMessage
  readonly origin: SessionOrigin
}

/** The code for the client, if the sign-in finishes a flow, otherwise its session. */
export type SignedIn =
  { readonly kind: 'code'; readonly code: string } | { readonly kind: 'session'; readonly session: StartedSession }

type SignInResult =
  | {
      readonly outcome: 'signed_in'
      readonly created: boolean
      readonly user: object
      readonly auth_code: string | null
    }
  | { readonly outcome: 'needs_verification'; readonly created: boolean; readonly user: AccountOfUser }
  | { readonly outcome: 'signup_disabled' | 'user_banned' | 'multiple_accounts' }

type LinkResult =
  | { readonly outcome: 'linked'; readonly auth_code: string | null; readonly user: object }
  | { readonly outcome: 'needs_verification'; readonly user: AccountOfUser }
  | {
      readonly outcome:
        'insufficient_aal' | 'already_linked' | 'linked_to_other' | 'email_exists' | 'user_banned' | 'user_not_found'
    }

/** The user object of an account. */
type AccountOfUser = { readonly email: string }

/**
 * Finds the account of a user of a provider, or creates it. It is the account that has the identity, or the one with the
 * address, if the provider has verified it.
 *
 * @throws AuthError 422 `signup_disabled` or `provider_email_needs_verification`, 403 `user_banned`; the error of a hook
 *   or of a trigger
 */
export async function signInWithProvider(context: AccountsContext, attempt: ProviderSignIn): Promise<SignedIn> {
  const { provider, request, origin } = attempt
  const metadata = { ip: origin.ip }
  await announceUser(context, attempt)
  const text = JSON.stringify(requestOf(context, attempt))
  const { result, started } = await askAccount<SignInResult>(context, signIn, text)
  switch (result.outcome) {
    case 'signed_in':
      if (result.created) await context.hooks.afterUserCreated?.(JSON.stringify(result.user), metadata)
      return signedIn(result.auth_code, started)
    case 'needs_verification': {
      const { user, created } = result
      if (created) await context.hooks.afterUserCreated?.(JSON.stringify(user), metadata)
      if (user.email === '') {
        throw needsVerification(
          `Unverified email with ${provider.name}. Verify the email with ${provider.name} in order to sign in`,
        )
      }
      await context.confirmations.confirmEmail(JSON.stringify(user), { request, passwordHash: null })
      throw needsVerification(unverified(provider.name))
    }
    case 'signup_disabled':
      throw authErrors.signupDisabled()
    case 'user_banned':
      throw authErrors.userBanned(403)
    case 'multiple_accounts': {
      const message = 'Multiple accounts with the same email address in the same linking domain detected: default'
      throw new AuthError(500, 'unexpected_failure', message)
    }
    default:
      return result satisfies never
  }
}

/**
 * Adds an identity to an account.
 *
 * @throws AuthError 422 `identity_already_exists` or `email_not_confirmed`, 400 `email_exists`, 403 `user_banned` or
 *   `insufficient_aal`
 */
export async function linkToAccount(
  context: AccountsContext,
  { userId, sessionId }: LinkingTarget,
  attempt: ProviderSignIn,
): Promise<SignedIn> {
  const { provider, request } = attempt
  const text = JSON.stringify({ ...requestOf(context, attempt), user_id: userId, session_id: sessionId })
  const { result, started } = await askAccount<LinkResult>(context, link, text)
  switch (result.outcome) {
    case 'linked':
      notify(context, request, JSON.stringify(result.user), { kind: 'identity_linked', provider: provider.name })
      return signedIn(result.auth_code, started)
    case 'needs_verification':
      await context.confirmations.confirmEmail(JSON.stringify(result.user), { request, passwordHash: null })
      throw new AuthError(422, 'email_not_confirmed', unverified(provider.name))
    case 'insufficient_aal':
      throw authErrors.insufficientAal(403, 'AAL2 required to link an identity')
    case 'already_linked':
      throw new AuthError(422, 'identity_already_exists', 'Identity is already linked')
    case 'linked_to_other':
      throw authErrors.linkedToOther()
    case 'email_exists':
      throw new AuthError(400, 'email_exists', 'A user with this email address has already been registered')
    case 'user_banned':
      throw authErrors.userBanned(403)
    case 'user_not_found':
      throw new AuthError(422, 'user_not_found', 'Linking target user not found')
    default:
      return result satisfies never
  }
}

const unverified = (provider: string): string =>
  `Unverified email with ${provider}. A confirmation email has been sent to your ${provider} email`

const needsVerification = (message: string): AuthError =>
  new AuthError(422, 'provider_email_needs_verification', message)

/** The request of the functions of the database. */
export function requestOf(
  { settings }: AccountsContext,
  { provider, user, flow, origin, request }: ProviderSignIn,
): object {
  const current = settings()
  return {
    provider: provider.name,
    subject: user.subject,
    identity_data: user.data,
    email: user.email ?? null,
    email_verified: user.isVerified,
    aud: audienceOf(request, current),
    role: current.authJwtDefaultGroupName,
    autoconfirm: current.authMailerAutoconfirm,
    disable_signup: current.authDisableSignup,
    email_optional: provider.emailOptional,
    allow_unverified: current.authMailerAllowUnverifiedEmailSignIns,
    ...(flow && {
      flow_id: flow.flowId,
      provider_token: flow.providerToken,
      provider_refresh_token: flow.providerRefreshToken,
    }),
    ip: origin.ip,
    user_agent: origin.userAgent,
  }
}

/** Calls the hook before a new account, before the transaction that creates it. */
async function announceUser(
  { settings, database, hooks }: AccountsContext,
  { provider, user, origin, request }: ProviderSignIn,
): Promise<void> {
  const { beforeUserCreated } = hooks
  if (!beforeUserCreated) return
  const current = settings()
  const { authDisableSignup, authJwtDefaultGroupName } = current
  const address = user.isVerified ? (user.email ?? null) : null
  const [answer] = await database.ask(decide, [provider.name, user.subject, address])
  if ((answer as { readonly decision: string }).decision !== 'create') return
  if (authDisableSignup) throw authErrors.signupDisabled()
  const now = new Date().toISOString()
  const newUser = draftUser({
    id: randomUUID(),
    audience: audienceOf(request, current),
    role: authJwtDefaultGroupName,
    ...(user.email === undefined ? {} : { email: user.email }),
    provider: provider.name,
    metadata: JSON.stringify(user.data),
    times: { created_at: now, updated_at: now },
  })
  await beforeUserCreated(newUser, { ip: origin.ip })
}

/** A flow that has no code any more was finished by another request. */
export function signedIn(code: string | null, session: StartedSession | null): SignedIn {
  if (code !== null) return { kind: 'code', code }
  if (session !== null) return { kind: 'session', session }
  throw authErrors.flowUsed()
}

/** Calls a function, and once more if another request has created the account in the meantime: unique_violation. */
export async function askAccount<Result>(
  { database }: AccountsContext,
  statement: JsonStatement,
  request: string,
): Promise<{ readonly result: Result; readonly started: StartedSession | null }> {
  const rows = await database.askRows(statement, [request]).catch((error: unknown) => {
    if (sqlState(error) !== '23505') throw error
    return database.askRows(statement, [request])
  })
  const [[result, started] = []] = rows
  return { result: JSON.parse(result ?? '') as Result, started: started ?? null }
}
