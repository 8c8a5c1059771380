// Mails that tell the owner of an account that a way to sign in was added or removed, as GoTrue's notifications do.
import type { IncomingMessage } from 'node:http'
import { jsonObject } from '../../../text/json-members.ts'
import type { AuthUser } from '../auth-caller.ts'
import type { AuthContext } from '../auth-context.ts'
import { AuthError } from '../auth-error.ts'
import { redirectRules, redirectTo } from '../request-redirect.ts'
import type { AuthSettings } from '../settings.ts'

/** What has happened, by GoTrue's names; those of passkeys are of this server. */
export type Notice =
  | { readonly kind: 'mfa_factor_enrolled' | 'mfa_factor_unenrolled'; readonly factorType: string }
  | { readonly kind: 'passkey_added' | 'passkey_removed'; readonly passkeyName: string }

/** The setting that enables each. */
const settingOf = {
  mfa_factor_enrolled: 'authMailerNotificationsMfaFactorEnrolledEnabled',
  mfa_factor_unenrolled: 'authMailerNotificationsMfaFactorUnenrolledEnabled',
  passkey_added: 'authMailerNotificationsPasskeyAddedEnabled',
  passkey_removed: 'authMailerNotificationsPasskeyRemovedEnabled',
} as const satisfies Readonly<Record<Notice['kind'], keyof AuthSettings>>

/**
 * Sends a notice to the confirmed address of an account after the response, if the settings want it, or calls the hook that
 * replaces mails. It counts as a mail (GOTRUE_RATE_LIMIT_EMAIL_SENT). The change is done, so a mail that cannot be sent is
 * only logged.
 */
export function notify(
  context: AuthContext,
  request: IncomingMessage,
  { row: { email, email_confirmed: isConfirmed }, text: user }: Pick<AuthUser, 'row' | 'text'>,
  notice: Notice,
): void {
  if (!context.settings()[settingOf[notice.kind]] || email === null || email === '' || !isConfirmed) return
  const { siteUrl } = redirectRules(context, request)
  const payload = hookPayload(context, request, user, notice)
  const { kind } = notice
  context.background(async () => {
    try {
      const { sendEmail } = context.hooks
      await context.limits.countSent('email_sent')
      if (sendEmail) return await sendEmail(payload)
      const { user_metadata: data = {} } = JSON.parse(user) as { readonly user_metadata?: Record<string, unknown> }
      const subject = 'factorType' in notice ? { FactorType: notice.factorType } : { PasskeyName: notice.passkeyName }
      context.mailer.send(`${kind}_notification`, email, { SiteURL: siteUrl, Email: email, Data: data, ...subject })
    } catch (error) {
      if (!(error instanceof AuthError)) throw error
      context.warn(`A mail (${kind}_notification) is not sent: ${error.message}`)
    }
  })
}

/** The payload of GoTrue's hook, in which codes are empty. */
function hookPayload(context: AuthContext, request: IncomingMessage, user: string, notice: Notice): string {
  const data = {
    token: '',
    token_hash: '',
    redirect_to: redirectTo(context, request),
    email_action_type: `${notice.kind}_notification`,
    site_url: context.externalUrl(request),
    token_new: '',
    token_hash_new: '',
    old_email: '',
    old_phone: '',
    provider: '',
    factor_type: 'factorType' in notice ? notice.factorType : '',
    ...('passkeyName' in notice ? { passkey_name: notice.passkeyName } : {}),
  }
  return jsonObject({ user, email_data: JSON.stringify(data) })
}
