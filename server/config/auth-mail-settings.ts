// The settings of mails and messages to phones.
import type { AuthSettings } from '../services/auth/settings.ts'
import * as authTypes from './auth-setting-types.ts'
import { authSetting as auth, type AuthSettingTable } from './auth-setting.ts'
import * as types from './setting-types.ts'

type MailKey = Exclude<Extract<keyof AuthSettings, `auth${'Mailer' | 'Smtp' | 'Sms'}${string}`>, 'authMailContents'>

const digits = types.integer({ min: 6, max: 10 })
const seconds = types.integer({ min: 1, max: 31_536_000 })

export const authMailSettings: AuthSettingTable<MailKey> = {
  authMailerAutoconfirm: auth('GOTRUE_MAILER_AUTOCONFIRM', types.boolean, false, {
    description: 'Whether e-mail addresses are confirmed without a mail.',
  }),
  authMailerAllowUnverifiedEmailSignIns: auth('GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS', types.boolean, false, {
    description: 'Whether users can sign in before they have confirmed their address.',
  }),
  authMailerSecureEmailChangeEnabled: auth('GOTRUE_MAILER_SECURE_EMAIL_CHANGE_ENABLED', types.boolean, true, {
    description: 'Whether a new e-mail address is confirmed from the old mailbox, too.',
  }),
  authMailerOtpExp: auth('GOTRUE_MAILER_OTP_EXP', seconds, 86_400, {
    description: 'Seconds that links and codes in mails are valid.',
  }),
  authMailerOtpLength: auth('GOTRUE_MAILER_OTP_LENGTH', digits, 6, { description: 'Digits of codes in mails.' }),
  authMailerVerifyButton: auth('GOTRUE_MAILER_VERIFY_BUTTON', types.boolean, false, {
    description: 'Whether links in mails show a button first, so that programs that open links do not use them up.',
  }),
  authMailerExternalHosts: auth('GOTRUE_MAILER_EXTERNAL_HOSTS', types.emptyableList, [], {
    description: 'Further hosts of this service that links in mails may name, if the request came to one of them.',
  }),
  authMailerNotificationsPasswordChangedEnabled: auth(
    'GOTRUE_MAILER_NOTIFICATIONS_PASSWORD_CHANGED_ENABLED',
    types.boolean,
    false,
    { description: 'Whether users get a mail about a new password.' },
  ),
  authMailerNotificationsEmailChangedEnabled: auth(
    'GOTRUE_MAILER_NOTIFICATIONS_EMAIL_CHANGED_ENABLED',
    types.boolean,
    false,
    { description: 'Whether users get a mail about a new e-mail address, at the old one.' },
  ),
  authMailerNotificationsPhoneChangedEnabled: auth(
    'GOTRUE_MAILER_NOTIFICATIONS_PHONE_CHANGED_ENABLED',
    types.boolean,
    false,
    { description: 'Whether users get a mail about a new phone number.' },
  ),
  authMailerNotificationsIdentityLinkedEnabled: auth(
    'GOTRUE_MAILER_NOTIFICATIONS_IDENTITY_LINKED_ENABLED',
    types.boolean,
    false,
    { description: 'Whether users get a mail about an account at a provider, or a phone number, that was linked.' },
  ),
  authMailerNotificationsIdentityUnlinkedEnabled: auth(
    'GOTRUE_MAILER_NOTIFICATIONS_IDENTITY_UNLINKED_ENABLED',
    types.boolean,
    false,
    { description: 'Whether users get a mail about an account at a provider, or a phone number, that was unlinked.' },
  ),
  authMailerNotificationsMfaFactorEnrolledEnabled: auth(
    'GOTRUE_MAILER_NOTIFICATIONS_MFA_FACTOR_ENROLLED_ENABLED',
    types.boolean,
    false,
    { description: 'Whether users get a mail about a new second factor.' },
  ),
  authMailerNotificationsMfaFactorUnenrolledEnabled: auth(
    'GOTRUE_MAILER_NOTIFICATIONS_MFA_FACTOR_UNENROLLED_ENABLED',
    types.boolean,
    false,
    { description: 'Whether users get a mail about a second factor that was removed.' },
  ),
  authMailerNotificationsPasskeyAddedEnabled: auth(
    'GOTRUE_MAILER_NOTIFICATIONS_PASSKEY_ADDED_ENABLED',
    types.boolean,
    false,
    { description: 'Whether users get a mail about a new passkey.' },
  ),
  authMailerNotificationsPasskeyRemovedEnabled: auth(
    'GOTRUE_MAILER_NOTIFICATIONS_PASSKEY_REMOVED_ENABLED',
    types.boolean,
    false,
    { description: 'Whether users get a mail about a passkey that was removed.' },
  ),
  authSmtpHost: auth('GOTRUE_SMTP_HOST', types.optionalText, null, {
    description: 'Mail server. In development, mails are printed if there is none.',
    example: '"smtp.example.org"',
  }),
  authSmtpPort: auth('GOTRUE_SMTP_PORT', types.integer({ min: 1, max: 65_535 }), 587, {
    description: 'Port of the mail server.',
  }),
  authSmtpUser: auth('GOTRUE_SMTP_USER', types.optionalText, null, { description: 'Login at the mail server.' }),
  authSmtpPass: auth('GOTRUE_SMTP_PASS', types.optionalText, null, {
    description: 'Password at the mail server.',
    example: '"$(SMTP_PASSWORD)"',
  }),
  authSmtpAdminEmail: auth('GOTRUE_SMTP_ADMIN_EMAIL', types.optionalText, null, {
    description: 'Sender of mails.',
    example: '"no-reply@example.org"',
  }),
  authSmtpSenderName: auth('GOTRUE_SMTP_SENDER_NAME', types.optionalText, null, {
    description: 'Name of the sender.',
  }),
  authSmtpMaxFrequency: auth('GOTRUE_SMTP_MAX_FREQUENCY', authTypes.duration, 60, {
    description: 'Time between two mails of one kind to a user.',
  }),
  authSmsAutoconfirm: auth('GOTRUE_SMS_AUTOCONFIRM', types.boolean, false, {
    description: 'Whether phone numbers are confirmed without a message.',
  }),
  authSmsProvider: auth('GOTRUE_SMS_PROVIDER', types.optionalText, null, {
    description: 'Shown by `/auth/v1/settings`. Messages are sent by the hook `send_sms`.',
  }),
  authSmsOtpExp: auth('GOTRUE_SMS_OTP_EXP', seconds, 60, {
    description: 'Seconds that codes in messages are valid.',
  }),
  authSmsOtpLength: auth('GOTRUE_SMS_OTP_LENGTH', digits, 6, { description: 'Digits of codes in messages.' }),
  authSmsMaxFrequency: auth('GOTRUE_SMS_MAX_FREQUENCY', authTypes.duration, 60, {
    description: 'Time between two messages to a user.',
  }),
  authSmsTemplate: auth('GOTRUE_SMS_TEMPLATE', types.text, 'Your code is {{ .Code }}', {
    description: 'Text of messages.',
  }),
  authSmsTestOtp: auth('GOTRUE_SMS_TEST_OTP', types.emptyableList, [], {
    description: 'Fixed codes of numbers for tests.',
    example: '"15551234567=123456"',
  }),
}
