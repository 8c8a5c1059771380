// The kinds of mails, and the variables of their templates.
import type { CustomMailKind } from '../settings.ts'

/** The names are those of GoTrue's settings, in lower case. */
const customMailKinds = [
  'confirmation',
  'recovery',
  'magic_link',
  'invite',
  'email_change',
  'reauthentication',
  'password_changed_notification',
  'email_changed_notification',
  'phone_changed_notification',
  'identity_linked_notification',
  'identity_unlinked_notification',
  'mfa_factor_enrolled_notification',
  'mfa_factor_unenrolled_notification',
  'passkey_added_notification',
  'passkey_removed_notification',
] as const satisfies readonly CustomMailKind[]

/** Adds the notice to the owner of an account that someone tried to sign up with its address. */
export const mailKinds = [...customMailKinds, 'existing_account'] as const

export type MailKind = (typeof mailKinds)[number]

/** The variables of templates, by GoTrue's names. */
export type MailVariables = {
  /** The link to click. Absent in mails without a link. */
  readonly ConfirmationURL?: string
  /** The one-time code. */
  readonly Token?: string
  /** The hash in the link, for links to pages of one's own. */
  readonly TokenHash?: string
  /** GOTRUE_SITE_URL */
  readonly SiteURL: string
  /** Where the link leads in the end. */
  readonly RedirectTo?: string
  /** Address of the account. */
  readonly Email: string
  /** The address that the account is to get. */
  readonly NewEmail?: string
  /** The mailbox that this mail goes to. */
  readonly SendingTo?: string
  /** The address, or number, that the account had before. */
  readonly OldEmail?: string
  readonly OldPhone?: string
  readonly Phone?: string
  /** Of an identity: `google`, `phone` and the like. */
  readonly Provider?: string
  /** Of a second factor: `totp`, `phone` or `webauthn`. */
  readonly FactorType?: string
  readonly PasskeyName?: string
  /** `user_metadata` of the account. */
  readonly Data?: Readonly<Record<string, unknown>>
}

const everywhere = ['SiteURL', 'Email', 'Data'] as const
const withLink = [...everywhere, 'ConfirmationURL', 'Token', 'TokenHash', 'RedirectTo'] as const

/** The variables that templates of each kind may use. */
export const variablesOf: Readonly<Record<MailKind, readonly (keyof MailVariables)[]>> = {
  confirmation: withLink,
  recovery: withLink,
  magic_link: withLink,
  invite: withLink,
  email_change: [...withLink, 'NewEmail', 'SendingTo'],
  reauthentication: [...everywhere, 'Token'],
  existing_account: everywhere,
  password_changed_notification: everywhere,
  email_changed_notification: [...everywhere, 'OldEmail'],
  phone_changed_notification: [...everywhere, 'Phone', 'OldPhone'],
  identity_linked_notification: [...everywhere, 'Provider'],
  identity_unlinked_notification: [...everywhere, 'Provider'],
  mfa_factor_enrolled_notification: [...everywhere, 'FactorType'],
  mfa_factor_unenrolled_notification: [...everywhere, 'FactorType'],
  passkey_added_notification: [...everywhere, 'PasskeyName'],
  passkey_removed_notification: [...everywhere, 'PasskeyName'],
}

/** Values for previews of templates. */
export const sampleVariables: Required<MailVariables> = {
  ConfirmationURL:
    'https://example.com/auth/v1/verify?token=0123456789abcdef&type=signup&redirect_to=https://example.com',
  Token: '123456',
  TokenHash: '0123456789abcdef',
  SiteURL: 'https://example.com',
  RedirectTo: 'https://example.com',
  Email: 'ada@example.com',
  NewEmail: 'ada.new@example.com',
  SendingTo: 'ada.new@example.com',
  OldEmail: 'ada.old@example.com',
  Phone: '15550100',
  OldPhone: '15550199',
  Provider: 'google',
  FactorType: 'totp',
  PasskeyName: 'iCloud Keychain (Managed)',
  Data: { full_name: 'Ada <Example>' },
}
