// The subjects and templates of mails that have none of their own.
import type { MailKind } from './mail-kind.ts'

export type TemplateSource = {
  readonly subject: string
  readonly html: string
}

const link = (label: string): string => `<p><a href="{{ .ConfirmationURL }}">${label}</a></p>`

const code = (label: string): string => `<p>${label}: <strong>{{ .Token }}</strong></p>`

const ignore = '<p>If you did not ask for this, ignore this mail.</p>'

const notMe =
  '<p>If this was not you, someone else may have access to your account: sign in and look at its passkeys, second factors and sessions.</p>'

const mail = (title: string, ...paragraphs: readonly string[]): string =>
  `<!doctype html>
<html lang="en">
<body>
<h2>${title}</h2>
${paragraphs.join('\n')}
</body>
</html>
`

const changeOfAddress =
  '<p>The address of your account shall change{{ if .Email }} from {{ .Email }}{{ end }} to {{ .NewEmail }}.</p>'

export const defaultTemplates: Readonly<Record<MailKind, TemplateSource>> = {
  confirmation: {
    subject: 'Confirm your e-mail address',
    html: mail(
      'Confirm your e-mail address',
      '<p>To finish signing up with {{ .Email }}, open this link:</p>',
      link('Confirm e-mail address'),
      code('Or enter this code'),
      ignore,
    ),
  },
  recovery: {
    subject: 'Reset your password',
    html: mail(
      'Reset your password',
      '<p>To choose a new password for {{ .Email }}, open this link:</p>',
      link('Reset password'),
      code('Or enter this code'),
      ignore,
    ),
  },
  magic_link: {
    subject: 'Sign in',
    html: mail(
      'Sign in',
      '<p>To sign in as {{ .Email }}, open this link. It can be used once:</p>',
      link('Sign in'),
      code('Or enter this code'),
      ignore,
    ),
  },
  invite: {
    subject: 'You are invited',
    html: mail(
      'You are invited',
      '<p>You are invited to create an account at {{ .SiteURL }}. To accept, open this link:</p>',
      link('Accept the invitation'),
      code('Or enter this code'),
    ),
  },
  email_change: {
    subject: 'Confirm the change of your e-mail address',
    html: mail(
      'Confirm the change of your e-mail address',
      changeOfAddress,
      '<p>To agree, open this link:</p>',
      link('Confirm the change'),
      code('Or enter this code'),
      ignore,
    ),
  },
  reauthentication: {
    subject: '{{ .Token }} is your code',
    html: mail(
      'Confirm that it is you',
      code('Enter this code'),
      '<p>If you did not ask for this, change your password.</p>',
    ),
  },
  password_changed_notification: {
    subject: 'Your password was changed',
    html: mail(
      'Your password was changed',
      '<p>The account {{ .Email }} at {{ .SiteURL }} has a new password.</p>',
      '<p>If this was not you, reset your password.</p>',
    ),
  },
  email_changed_notification: {
    subject: 'The address of your account was changed',
    html: mail(
      'The address of your account was changed',
      '<p>The address of your account at {{ .SiteURL }} was changed from {{ .OldEmail }} to {{ .Email }}.</p>',
      '<p>If this was not you, someone else has access to your account: contact {{ .SiteURL }}.</p>',
    ),
  },
  phone_changed_notification: {
    subject: 'The phone number of your account was changed',
    html: mail(
      'The phone number of your account was changed',
      '<p>The phone number of the account {{ .Email }} at {{ .SiteURL }} was changed from {{ .OldPhone }} to {{ .Phone }}.</p>',
      notMe,
    ),
  },
  identity_linked_notification: {
    subject: 'A way to sign in was added to your account',
    html: mail(
      'A way to sign in was added to your account',
      '<p>The account {{ .Email }} at {{ .SiteURL }} was linked to {{ .Provider }}, which can now sign in to it.</p>',
      notMe,
    ),
  },
  identity_unlinked_notification: {
    subject: 'A way to sign in was removed from your account',
    html: mail(
      'A way to sign in was removed from your account',
      '<p>{{ .Provider }} no longer signs in to the account {{ .Email }} at {{ .SiteURL }}.</p>',
      notMe,
    ),
  },
  mfa_factor_enrolled_notification: {
    subject: 'A second factor was added to your account',
    html: mail(
      'A second factor was added to your account',
      '<p>The account {{ .Email }} at {{ .SiteURL }} has a new second factor ({{ .FactorType }}).</p>',
      notMe,
    ),
  },
  mfa_factor_unenrolled_notification: {
    subject: 'A second factor was removed from your account',
    html: mail(
      'A second factor was removed from your account',
      '<p>A second factor ({{ .FactorType }}) of the account {{ .Email }} at {{ .SiteURL }} was removed.</p>',
      notMe,
    ),
  },
  passkey_added_notification: {
    subject: 'A passkey was added to your account',
    html: mail(
      'A passkey was added to your account',
      '<p>The passkey “{{ .PasskeyName }}” can now sign in to the account {{ .Email }} at {{ .SiteURL }}.</p>',
      notMe,
    ),
  },
  passkey_removed_notification: {
    subject: 'A passkey was removed from your account',
    html: mail(
      'A passkey was removed from your account',
      '<p>The passkey “{{ .PasskeyName }}” no longer signs in to the account {{ .Email }} at {{ .SiteURL }}.</p>',
      notMe,
    ),
  },
  existing_account: {
    subject: 'You already have an account',
    html: mail(
      'You already have an account',
      '<p>Someone tried to sign up at {{ .SiteURL }} with {{ .Email }}, which has an account already. ' +
        'Nothing has changed.</p>',
      '<p>If it was you, sign in instead, or reset your password if you have forgotten it. Otherwise ignore this mail.</p>',
    ),
  },
}
