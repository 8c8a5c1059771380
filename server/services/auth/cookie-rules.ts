// The decisions of `/auth/v1` about accounts with a cookie, in the form that the cookie routes expect.
import { randomUUID } from 'node:crypto'
import { Failure, failures } from '../../http/envelope.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { AccountRules, SignUpCandidate, UnconfirmedAccount } from '../accounts/account-rules.ts'
import { announceUser, requireOpenSignUp, requireSignInWith, requireSignUpWith } from './admission.ts'
import type { AuthContext } from './auth-context.ts'
import { AuthError } from './auth-error.ts'
import { draftUser } from './draft-user.ts'
import { confirmedAddress, isNoticed, notify } from './mail/notices.ts'
import { requireStrong } from './password-rules.ts'
import { originOf } from './request-origin.ts'
import { storedUser } from './user-object.ts'

const findIssued = new JsonStatement('select auth.find_issued_session($1, $2)', { access: 'read', hasNoEffect: true })
const confirmUnproven = new JsonStatement('select to_json(auth.confirm_unproven($1))', { access: 'write' })

/** The rules of the settings, which can be reloaded, with the hooks. */
export function cookieRules(context: AuthContext): AccountRules {
  const { settings, database } = context
  return {
    admitSignUp: (request, candidate) => asFailure(() => admitSignUp(context, request, candidate)),
    signedUp: (request, account) =>
      asFailure(async () => {
        const { afterUserCreated } = context.hooks
        if (afterUserCreated) {
          await afterUserCreated((await storedUser(database, account.id)) ?? '{}', {
            ip: originOf(request, context).ip,
          })
        }
        sendConfirmation(context, request, account)
      }),
    admitSignIn: () => {
      try {
        requireSignInWith('email', settings())
      } catch (error) {
        throw failureOf(error)
      }
    },
    signedIn: async (userId) => {
      if (settings().authMailerAutoconfirm) await database.ask(confirmUnproven, [userId])
    },
    admitPassword: (password) => {
      try {
        requireStrong(password, settings())
      } catch (error) {
        throw failureOf(error)
      }
    },
    reportAttempt: async (attempt) => asFailure(async () => context.hooks.passwordVerificationAttempt?.(attempt)),
    confirmsAddresses: () => settings().authMailerAutoconfirm,
    watchChange: (request, userId) => watchChange(context, request, userId),
    addressChanged: (request, account) => sendConfirmation(context, request, account),
    customClaims: ({ id, account }, times) =>
      asFailure(async () => {
        if (!context.hooks.customAccessToken) return undefined
        const [row] = await database.askRows(findIssued, [id, account.id])
        const issued = row?.[0] ?? undefined
        return issued === undefined ? undefined : context.sessions.claims(issued, times)
      }),
  }
}

async function admitSignUp(
  context: AuthContext,
  request: Parameters<AccountRules['admitSignUp']>[0],
  { email, password, firstName, lastName }: SignUpCandidate,
): ReturnType<AccountRules['admitSignUp']> {
  const settings = context.settings()
  requireOpenSignUp(settings)
  requireSignUpWith('email', settings)
  requireStrong(password, settings)
  const { authJwtAud: audience, authJwtDefaultGroupName: role, authMailerAutoconfirm: confirms } = settings
  const id = randomUUID()
  const names = {
    ...(firstName === null ? {} : { first_name: firstName }),
    ...(lastName === null ? {} : { last_name: lastName }),
    ...(firstName === null && lastName === null ? {} : { full_name: joined(firstName, lastName) }),
  }
  const user = draftUser({ id, audience, role, email, provider: 'email', metadata: JSON.stringify(names) })
  await announceUser(context, { email }, user, originOf(request, context).ip)
  return { id, audience, role, confirms }
}

/** The notice goes to the address that was confirmed before the change. */
async function watchChange(
  context: AuthContext,
  request: Parameters<AccountRules['watchChange']>[0],
  userId: string,
): ReturnType<AccountRules['watchChange']> {
  const { database, background } = context
  if (!isNoticed(context, 'password_changed') && !isNoticed(context, 'email_changed')) return () => undefined
  const before = await storedUser(database, userId)
  const to = confirmedAddress(before ?? '{}')
  if (to === undefined) return () => undefined
  return ({ hasNewPassword, hasNewAddress }) => {
    background(async () => {
      const after = (await storedUser(database, userId)) ?? before ?? '{}'
      if (hasNewPassword) notify(context, request, after, { kind: 'password_changed' }, { to })
      if (hasNewAddress) notify(context, request, after, { kind: 'email_changed', oldEmail: to }, { to })
    })
  }
}

const joined = (...names: readonly (string | null)[]): string => names.filter((name) => name !== null).join(' ')

/** In the background, so that the time of the response depends on no mail server. Limits of mails end no sign-up. */
function sendConfirmation(
  { settings, hooks, mailer, confirmations, background }: AuthContext,
  request: Parameters<AccountRules['addressChanged']>[0],
  { id, passwordHash }: UnconfirmedAccount,
): void {
  if (settings().authMailerAutoconfirm || (!hooks.sendEmail && !mailer.delivers)) return
  background(async () => {
    try {
      await confirmations.confirmEmail(JSON.stringify({ id }), { request, passwordHash })
    } catch (error) {
      if (!(error instanceof AuthError) || error.status >= 500) throw error
    }
  })
}

async function asFailure<T>(decide: () => Promise<T>): Promise<T> {
  try {
    return await decide()
  } catch (error) {
    throw failureOf(error)
  }
}

/** The same error in the form of the cookie routes, with their statuses where these have one of their own. */
function failureOf(error: unknown): unknown {
  if (!(error instanceof AuthError)) return error
  switch (error.code) {
    case 'signup_disabled':
      return new Failure(403, 'You cannot sign up here at the moment', { cause: error })
    case 'email_provider_disabled':
      return new Failure(403, 'You cannot sign up or sign in with a password here at the moment', { cause: error })
    case 'weak_password':
      return failures.invalid({ password: error.message }, error)
    default:
      return new Failure(error.status, error.message, { headers: error.headers, cause: error })
  }
}
