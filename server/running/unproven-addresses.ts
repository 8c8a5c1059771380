// A warning at the start about addresses that are confirmed without proof.
import type { Config } from '../config/config.ts'
import { signsIn } from '../config/signing-in.ts'

type Settings = Pick<Config, 'services' | 'authMailerAutoconfirm' | 'authSmsAutoconfirm'>

/** Warnings about settings by which anyone can sign up with another person's address. */
export function unprovenAddresses({
  services,
  authMailerAutoconfirm,
  authSmsAutoconfirm,
}: Settings): readonly string[] {
  if (!signsIn(services)) return []
  const settings = [
    ...(authMailerAutoconfirm ? [['GOTRUE_MAILER_AUTOCONFIRM', 'e-mail addresses'] as const] : []),
    ...(authSmsAutoconfirm ? [['GOTRUE_SMS_AUTOCONFIRM', 'phone numbers'] as const] : []),
  ]
  return settings.map(
    ([name, addresses]) =>
      `${name} is on: ${addresses} count as confirmed without proof that they belong to the account`,
  )
}
