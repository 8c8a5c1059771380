// Mails that tell the owner of an account what has changed of the ways into it, as GoTrue's notifications do.
import type { IncomingMessage } from 'node:http'
import { jsonObject } from '../../../text/json-members.ts'
import type { AuthContext } from '../auth-context.ts'
import { AuthError } from '../auth-error.ts'
import { redirectRules, redirectTo } from '../request-redirect.ts'
import type { AuthSettings } from '../settings.ts'
import { storedUser } from '../user-object.ts'
import type { MailVariables } from './mail-kind.ts'

/** What has happened, by GoTrue's names; those of passkeys are of this server. */
export type Notice =
  | { readonly kind: 'password_changed' }
  | { readonly kind: 'email_changed'; readonly oldEmail: string }
  | { readonly kind: 'phone_changed'; readonly oldPhone: string }
  | { readonly kind: 'identity_linked' | 'identity_unlinked'; readonly provider: string }
  | { readonly kind: 'mfa_factor_enrolled' | 'mfa_factor_unenrolled'; readonly factorType: string }
  | { readonly kind: 'passkey_added' | 'passkey_removed'; readonly passkeyName: string }

/** The setting that enables each. */
const settingOf = {
  password_changed: 'authMailerNotificationsPasswordChangedEnabled',
  email_changed: 'authMailerNotificationsEmailChangedEnabled',
  phone_changed: 'authMailerNotificationsPhoneChangedEnabled',
  identity_linked: 'authMailerNotificationsIdentityLinkedEnabled',
  identity_unlinked: 'authMailerNotificationsIdentityUnlinkedEnabled',
  mfa_factor_enrolled: 'authMailerNotificationsMfaFactorEnrolledEnabled',
  mfa_factor_unenrolled: 'authMailerNotificationsMfaFactorUnenrolledEnabled',
  passkey_added: 'authMailerNotificationsPasskeyAddedEnabled',
  passkey_removed: 'authMailerNotificationsPasskeyRemovedEnabled',
} as const satisfies Readonly<Record<Notice['kind'], keyof AuthSettings>>

/** Whether the settings want a notice. */
export const isNoticed = ({ settings }: Pick<AuthContext, 'settings'>, kind: Notice['kind']): boolean =>
  settings()[settingOf[kind]]

/** The members of a user object that notices use. */
type UserObject = {
  readonly id: string
  readonly email?: string | null
  readonly email_confirmed_at?: string | null
  readonly phone?: string | null
  readonly user_metadata?: Record<string, unknown>
}

const userOf = (text: string): UserObject => JSON.parse(text) as UserObject

/**
 * The address of a user that is confirmed; undefined without one.
 *
 * @param text the user object as JSON text
 */
export function confirmedAddress(text: string): string | undefined {
  const { email, email_confirmed_at: confirmedAt } = userOf(text)
  return email && confirmedAt ? email : undefined
}

export type NoticedContext = Pick<
  AuthContext,
  'settings' | 'hooks' | 'limits' | 'mailer' | 'externalUrl' | 'background' | 'warn' | 'isDevelopment'
>

/**
 * Sends a notice to the confirmed address of an account after the response, if the settings want it, or calls the hook that
 * replaces mails. It counts as a notice (GOTRUE_RATE_LIMIT_EMAIL_SENT). The change is done, so a mail that cannot be sent is
 * only logged.
 *
 * @param user the user object as JSON text
 * @param known the confirmed address that the account had before the change, undefined for none; by default that of the user
 */
export function notify(
  context: NoticedContext,
  request: IncomingMessage,
  user: string,
  notice: Notice,
  known?: { readonly to: string | undefined },
): void {
  if (!isNoticed(context, notice.kind)) return
  const to = known ? known.to : confirmedAddress(user)
  if (to === undefined) return
  const { siteUrl } = redirectRules(context, request)
  const payload = hookPayload(context, request, user, notice)
  const { kind } = notice
  context.background(async () => {
    try {
      const { sendEmail } = context.hooks
      const { id, email, phone, user_metadata: data = {} } = userOf(user)
      await context.limits.countNotice(id)
      if (sendEmail) return await sendEmail(payload)
      const variables = { SiteURL: siteUrl, Email: email ?? '', Data: data, ...variablesOf(notice, phone ?? '') }
      context.mailer.send(`${kind}_notification`, to, variables)
    } catch (error) {
      if (!(error instanceof AuthError)) throw error
      context.warn(`A mail (${kind}_notification) is not sent: ${error.message}`)
    }
  })
}

/** The same for an account whose user object is not known yet, such as that which an administrator changes. */
export function notifyOwner(
  context: NoticedContext & Pick<AuthContext, 'database'>,
  request: IncomingMessage,
  userId: string,
  notice: Notice,
): void {
  if (!isNoticed(context, notice.kind)) return
  context.background(async () => {
    const user = await storedUser(context.database, userId)
    if (user !== undefined) notify(context, request, user, notice)
  })
}

function variablesOf(notice: Notice, phone: string): Partial<MailVariables> {
  switch (notice.kind) {
    case 'password_changed':
      return {}
    case 'email_changed':
      return { OldEmail: notice.oldEmail }
    case 'phone_changed':
      return { Phone: phone, OldPhone: notice.oldPhone }
    case 'identity_linked':
    case 'identity_unlinked':
      return { Provider: notice.provider }
    case 'mfa_factor_enrolled':
    case 'mfa_factor_unenrolled':
      return { FactorType: notice.factorType }
    case 'passkey_added':
    case 'passkey_removed':
      return { PasskeyName: notice.passkeyName }
    default:
      return notice satisfies never
  }
}

/** The payload of GoTrue's hook, in which codes are empty. */
function hookPayload(context: NoticedContext, request: IncomingMessage, user: string, notice: Notice): string {
  const data = {
    token: '',
    token_hash: '',
    redirect_to: redirectTo(context, request),
    email_action_type: `${notice.kind}_notification`,
    site_url: context.externalUrl(request),
    token_new: '',
    token_hash_new: '',
    old_email: 'oldEmail' in notice ? notice.oldEmail : '',
    old_phone: 'oldPhone' in notice ? notice.oldPhone : '',
    provider: 'provider' in notice ? notice.provider : '',
    factor_type: 'factorType' in notice ? notice.factorType : '',
    ...('passkeyName' in notice ? { passkey_name: notice.passkeyName } : {}),
  }
  return jsonObject({ user, email_data: JSON.stringify(data) })
}
