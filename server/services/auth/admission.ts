// Who may sign up and sign in: what both doors ask, `/auth/v1` and the cookie's.
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { AuthContext } from './auth-context.ts'
import { authErrors } from './auth-error.ts'
import type { AuthSettings } from './settings.ts'
import { isTaken } from './taken-address.ts'

/** @throws AuthError 422 `signup_disabled` */
export function requireOpenSignUp({ authDisableSignup }: Pick<AuthSettings, 'authDisableSignup'>): void {
  if (authDisableSignup) throw authErrors.signupDisabled()
}

type Providers = Pick<AuthSettings, 'authExternalEmailEnabled' | 'authExternalPhoneEnabled'>

/** @throws AuthError 400 `email_provider_disabled`, `phone_provider_disabled` */
export function requireSignUpWith(provider: 'email' | 'phone', settings: Providers): void {
  if (provider === 'email' && !settings.authExternalEmailEnabled) {
    throw authErrors.emailDisabled(400, 'Email signups are disabled')
  }
  if (provider === 'phone' && !settings.authExternalPhoneEnabled) {
    throw authErrors.phoneDisabled(400, 'Phone signups are disabled')
  }
}

/** @throws AuthError 422 `email_provider_disabled`, `phone_provider_disabled` */
export function requireSignInWith(provider: 'email' | 'phone', settings: Providers): void {
  if (provider === 'email' && !settings.authExternalEmailEnabled) {
    throw authErrors.emailDisabled(422, 'Email logins are disabled')
  }
  if (provider === 'phone' && !settings.authExternalPhoneEnabled) {
    throw authErrors.phoneDisabled(422, 'Phone logins are disabled')
  }
}

/**
 * Calls the hook that may reject a new user. An address that has an account is not new.
 *
 * @param address undefined for an anonymous user
 * @param user the user object as JSON text, before the user is created
 * @throws the error of the hook
 */
export async function announceUser(
  { database, hooks }: Pick<AuthContext, 'database' | 'hooks'>,
  address: { readonly email: string } | { readonly phone: string } | undefined,
  user: string,
  ip: string | null,
): Promise<void> {
  if (!hooks.beforeUserCreated) return
  if (address && (await isTaken(database, address))) return
  await hooks.beforeUserCreated(user, { ip })
}

/** What sign-in asks about the addresses of an account. */
export type ConfirmedAddresses = {
  readonly id: string
  readonly email_confirmed: boolean
  readonly email_unproven: boolean
  readonly phone_confirmed: boolean
}

const confirmUnproven = new JsonStatement('select to_json(auth.confirm_unproven($1))', { access: 'write' })

/**
 * Requires that an address of an account is confirmed, or confirms it where the settings do so without proof.
 *
 * @param status of the error
 * @throws AuthError `email_not_confirmed`, `phone_not_confirmed`
 */
export async function requireConfirmed(
  provider: 'email' | 'phone',
  account: ConfirmedAddresses,
  { database, settings }: Pick<AuthContext, 'database' | 'settings'>,
  status: 400 | 403 = 400,
): Promise<void> {
  if (provider === 'phone') {
    if (!account.phone_confirmed) throw authErrors.phoneNotConfirmed(status)
    return
  }
  if (account.email_confirmed) return
  if (!confirmsAtSignIn(account, settings())) throw authErrors.emailNotConfirmed(status)
  await database.ask(confirmUnproven, [account.id])
}

/** Whether an account signs in although its address is not confirmed: the settings confirm it without proof. */
const confirmsAtSignIn = (
  account: { readonly email_confirmed: boolean; readonly email_unproven: boolean },
  { authMailerAutoconfirm }: Pick<AuthSettings, 'authMailerAutoconfirm'>,
): boolean => authMailerAutoconfirm && account.email_unproven && !account.email_confirmed
