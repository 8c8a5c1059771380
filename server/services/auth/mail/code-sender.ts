// Sends codes and links: by mail, or by the hooks that replace mail and message providers.
import type { IncomingMessage } from 'node:http'
import { jsonObject } from '../../../text/json-members.ts'
import { AuthError } from '../auth-error.ts'
import type { AuthResources } from '../auth-resources.ts'
import { redirectRules, redirectTo } from '../request-redirect.ts'
import type { CustomMailKind } from '../settings.ts'
import { actionLink } from './action-link.ts'
import type { MailVariables } from './mail-kind.ts'
import type { Mailer } from './mailer.ts'
import type { CodePurpose, IssuedCode, IssuedCodes } from './one-time-codes.ts'

/** What mails are for. */
export type MailPurpose = Exclude<CodePurpose, 'phone_confirmation' | 'phone_change' | 'phone_reauthentication'>

/** How each mail is called: its template, the type of its link, and the setting of its path. */
const mails: Readonly<Record<MailPurpose, { kind: CustomMailKind; type: string; path: CustomMailKind }>> = {
  confirmation: { kind: 'confirmation', type: 'signup', path: 'confirmation' },
  invite: { kind: 'invite', type: 'invite', path: 'invite' },
  recovery: { kind: 'recovery', type: 'recovery', path: 'recovery' },
  magiclink: { kind: 'magic_link', type: 'magiclink', path: 'recovery' },
  email_change: { kind: 'email_change', type: 'email_change', path: 'email_change' },
  reauthentication: { kind: 'reauthentication', type: 'reauthentication', path: 'confirmation' },
}

export type CodeSenderContext = Pick<
  AuthResources,
  'settings' | 'externalUrl' | 'hooks' | 'background' | 'isDevelopment' | 'warn'
>

export class CodeSender {
  readonly #contextNow: () => CodeSenderContext
  readonly #mailer: Pick<Mailer, 'send'>

  /** @param context is read at each call, because it is created together with this object */
  constructor(context: () => CodeSenderContext, mailer: Pick<Mailer, 'send'>) {
    this.#contextNow = context
    this.#mailer = mailer
  }

  get #context(): CodeSenderContext {
    return this.#contextNow()
  }

  /** The link with a code for a purpose. */
  link(purpose: MailPurpose, token: string, request: IncomingMessage, target: string): string {
    const { type, path } = mails[purpose]
    const urlPath = this.#context.settings().authMailContents.get(path)?.urlPath ?? null
    return actionLink({ externalUrl: this.#context.externalUrl(request), urlPath, token, type, redirectTo: target })
  }

  /**
   * Sends the mails of a code in the background, or calls the hook that replaces them.
   *
   * @throws AuthError as the hook says
   */
  async mail(purpose: MailPurpose, issued: IssuedCodes, request: IncomingMessage): Promise<void> {
    const { sendEmail } = this.#context.hooks
    if (sendEmail) {
      await sendEmail(this.#hookPayload(purpose, issued, request))
      return
    }
    for (const mail of issued.mails) {
      this.#mailer.send(mails[purpose].kind, mail.to, this.#variables(purpose, mail, issued, request))
    }
  }

  /** The same, where the response must not depend on whether there is an account. Errors of the hook are logged. */
  mailLater(purpose: MailPurpose, issued: IssuedCodes, request: IncomingMessage): void {
    if (this.#context.hooks.sendEmail) this.#context.background(() => this.mail(purpose, issued, request))
    else void this.mail(purpose, issued, request)
  }

  /**
   * Sends a message by the hook. Codes of test numbers (GOTRUE_SMS_TEST_OTP) are not sent.
   *
   * @returns the id of the message; undefined if it has none
   * @throws AuthError as the hook says, or 500 without a hook
   */
  async message({ mails: [sms], user }: IssuedCodes): Promise<string | undefined> {
    if (!sms) return undefined
    if (this.testCode(sms.to) !== undefined) return 'test-otp'
    const { sendSms } = this.#context.hooks
    if (!sendSms) {
      throw new AuthError(500, 'unexpected_failure', 'Unable to get SMS provider: enable the hook GOTRUE_HOOK_SEND_SMS')
    }
    await sendSms(jsonObject({ user, sms: JSON.stringify({ otp: sms.code, phone: sms.to }) }))
    return undefined
  }

  /** The fixed code of a test number. */
  testCode(phone: string): string | undefined {
    const entries = this.#context.settings().authSmsTestOtp.map((entry) => entry.split(/[=:]/))
    return entries.find(([number = '']) => number.trim().replace(/^\+/, '').replaceAll(' ', '') === phone)?.[1]?.trim()
  }

  #variables(
    purpose: MailPurpose,
    { to, code, token }: IssuedCode,
    issued: IssuedCodes,
    request: IncomingMessage,
  ): MailVariables {
    const target = redirectTo(this.#context, request)
    const { user_metadata: data } = JSON.parse(issued.user) as { readonly user_metadata?: Record<string, unknown> }
    const { siteUrl } = redirectRules(this.#context, request)
    return {
      SiteURL: siteUrl,
      Email: issued.email ?? '',
      Token: code,
      Data: data ?? {},
      ...(purpose === 'reauthentication'
        ? {}
        : { ConfirmationURL: this.link(purpose, token, request, target), TokenHash: token, RedirectTo: target }),
      ...(purpose === 'email_change' ? { NewEmail: issued.new_email ?? '', SendingTo: to } : {}),
    }
  }

  /**
   * The payload of GoTrue. Of a change that both mailboxes confirm, `token` belongs to the current one and `token_hash` to
   * the new one, and the other pair the other way round: https://supabase.com/docs/guides/auth/auth-hooks/send-email-hook
   */
  #hookPayload(purpose: MailPurpose, { mails: [first, current], user }: IssuedCodes, request: IncomingMessage): string {
    const data = {
      token: current?.code ?? first?.code ?? '',
      token_hash: first?.token ?? '',
      redirect_to: redirectTo(this.#context, request),
      email_action_type: mails[purpose].type,
      site_url: this.#context.externalUrl(request),
      token_new: current === undefined ? '' : (first?.code ?? ''),
      token_hash_new: current?.token ?? '',
      old_email: '',
      old_phone: '',
      provider: '',
      factor_type: '',
    }
    return jsonObject({ user, email_data: JSON.stringify(data) })
  }
}
