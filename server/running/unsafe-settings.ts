// Warnings at the start about settings by which others get access that they would not have by default.
import type { Config } from '../config/config.ts'
import { signsIn } from '../config/signing-in.ts'

type Settings = Pick<
  Config,
  'services' | 'authMailerAutoconfirm' | 'authSmsAutoconfirm' | 'authSessionsCheckAccessTokens'
>

/** Warnings about addresses that count as confirmed without proof, and about tokens that outlive their session. */
export function unsafeSettings(settings: Settings): readonly string[] {
  return [
    ...(signsIn(settings.services) ? unprovenAddresses(settings) : []),
    ...(settings.authSessionsCheckAccessTokens
      ? []
      : [
          'GOTRUE_SESSIONS_CHECK_ACCESS_TOKENS is off: after a sign-out, a ban or the end of an account, access tokens are good until they expire',
        ]),
  ]
}

/** By these settings, anyone can sign up with another person's address. */
function unprovenAddresses({ authMailerAutoconfirm, authSmsAutoconfirm }: Settings): readonly string[] {
  const settings = [
    ...(authMailerAutoconfirm ? [['GOTRUE_MAILER_AUTOCONFIRM', 'e-mail addresses'] as const] : []),
    ...(authSmsAutoconfirm ? [['GOTRUE_SMS_AUTOCONFIRM', 'phone numbers'] as const] : []),
  ]
  return settings.map(
    ([name, addresses]) =>
      `${name} is on: ${addresses} count as confirmed without proof that they belong to the account`,
  )
}
