// Issues codes and sends them: what the routes and `Confirmations` have in common.
import type { IncomingMessage } from 'node:http'
import { AuthError, authErrors } from '../auth-error.ts'
import type { AuthResources } from '../auth-resources.ts'
import type { AuthDatabase } from '../auth-database.ts'
import type { CodeMacs } from '../code-macs.ts'
import type { PkceChallenge } from '../confirmations.ts'
import { originOf } from '../request-origin.ts'
import { CodeSender, type CodeSenderContext, type MailPurpose } from './code-sender.ts'
import type { Mailer } from './mailer.ts'
import {
  OneTimeCodes,
  type AccountKey,
  type CodePurpose,
  type CodeRequest,
  type Issued,
  type IssuedCodes,
} from './one-time-codes.ts'

export type CodeFlowsContext = CodeSenderContext & Pick<AuthResources, 'limits' | 'trustedProxies'>

export type FlowOptions = {
  /** Undefined for codes by phone that another request has led to. */
  readonly request: IncomingMessage | undefined
  readonly pkce?: PkceChallenge | undefined
  readonly only?: CodeRequest['only']
  readonly newAddress?: string
  /** Number of an account that is named by its id: it may be a test number. */
  readonly phone?: string
  readonly side?: CodeRequest['side']
  readonly passwordHash?: CodeRequest['passwordHash']
  readonly sessionId?: CodeRequest['sessionId']
  readonly audit?: CodeRequest['audit']
}

const isByPhone = (purpose: CodePurpose): boolean => purpose.startsWith('phone_')

/** 429 in GoTrue's words. */
function tooSoon(purpose: CodePurpose, seconds: number): AuthError {
  const code = isByPhone(purpose) ? 'over_sms_send_rate_limit' : 'over_email_send_rate_limit'
  // One less than `Retry-After`, also where only that is known.
  const left = Math.max(0, Math.ceil(seconds) - 1)
  return authErrors.overLimit(code, `For security purposes, you can only request this after ${left} seconds.`, seconds)
}

export class CodeFlows {
  readonly codes: OneTimeCodes
  readonly sender: CodeSender
  readonly #contextNow: () => CodeFlowsContext

  /** @param context is read at each call, because it is created together with this object */
  constructor(context: () => CodeFlowsContext, database: AuthDatabase, macs: CodeMacs, mailer: Pick<Mailer, 'send'>) {
    this.#contextNow = context
    this.codes = new OneTimeCodes(database, macs)
    this.sender = new CodeSender(context, mailer)
  }

  get #context(): CodeFlowsContext {
    return this.#contextNow()
  }

  /** The request for a code, with the settings of its kind. */
  request(purpose: CodePurpose, account: AccountKey, options: FlowOptions): CodeRequest {
    const { request, pkce, only, newAddress, side, passwordHash, sessionId, audit } = options
    const settings = this.#context.settings()
    const byPhone = isByPhone(purpose)
    const phone = newAddress ?? options.phone ?? ('phone' in account ? account.phone : undefined)
    return {
      purpose,
      account,
      length: byPhone ? settings.authSmsOtpLength : settings.authMailerOtpLength,
      frequency: byPhone ? settings.authSmsMaxFrequency : settings.authSmtpMaxFrequency,
      code: byPhone && phone !== undefined ? this.sender.testCode(phone) : undefined,
      secure: settings.authMailerSecureEmailChangeEnabled,
      pkce,
      ip: request ? originOf(request, this.#context).ip : null,
      ...(only === undefined ? {} : { only }),
      ...(newAddress === undefined ? {} : { newAddress }),
      ...(side === undefined ? {} : { side }),
      ...(passwordHash === undefined ? {} : { passwordHash }),
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(audit === undefined ? {} : { audit }),
    }
  }

  /** Issues a code. @throws AuthError 429 `over_email_send_rate_limit`, `over_sms_send_rate_limit` */
  async issue(purpose: CodePurpose, account: AccountKey, options: FlowOptions): Promise<Settled> {
    return this.counted(purpose, () => this.codes.issue(this.request(purpose, account, options)))
  }

  /**
   * Counts the mail or message of a code before the code is stored: one that cannot be sent must not replace an earlier one.
   *
   * @throws AuthError 429 when a mail or message was sent a moment ago, or too many of all users
   */
  async counted(purpose: CodePurpose, issue: () => Promise<Issued>): Promise<Settled> {
    const { limits, settings } = this.#context
    const { authSmsAutoconfirm, authMailerAutoconfirm, authRateLimitSmsSent, authRateLimitEmailSent } = settings()
    const byPhone = isByPhone(purpose)
    const limit = byPhone ? 'sms_sent' : 'email_sent'
    // As in GoTrue, there is no limit where addresses need no confirmation.
    const isUnlimited = byPhone ? authSmsAutoconfirm : authMailerAutoconfirm
    const { events } = byPhone ? authRateLimitSmsSent : authRateLimitEmailSent
    const counts = !isUnlimited || events === 0
    if (counts) await limits.countSent(limit)
    let issued: Issued | undefined
    try {
      issued = await issue()
    } finally {
      if (counts && issued?.status !== 'sent') await limits.takeBackSent(limit)
    }
    if (issued.status === 'wait') throw tooSoon(purpose, issued.retry_after)
    return issued
  }

  /**
   * Counts a request for which there is nothing to send. Repeated ones are refused like those for an account, so that the
   * responses do not reveal which accounts exist.
   *
   * @throws AuthError 429
   */
  async countStranger(purpose: CodePurpose, account: AccountKey, options: FlowOptions): Promise<void> {
    const { frequency } = this.request(purpose, account, options)
    try {
      if (frequency >= 1) {
        await this.#context.limits.countGuess(['mail', purpose, ...Object.values(account)], 1, frequency)
      }
    } catch (error) {
      if (!(error instanceof AuthError) || error.status !== 429) throw error
      throw tooSoon(purpose, Number(error.headers['Retry-After'] ?? frequency))
    }
  }

  /**
   * Counts a sign-up with the address of an account as one with a new address, although no code is sent.
   *
   * @throws AuthError 429
   */
  async countExisting(purpose: CodePurpose, account: AccountKey, options: FlowOptions): Promise<void> {
    await this.counted(purpose, async () => {
      await this.countStranger(purpose, account, options)
      return { status: 'sent', user: '{}', email: null, phone: null, new_email: null, mails: [] }
    })
  }

  /** Issues a code for a mail to someone who has an account, and sends it. */
  async mail(purpose: MailPurpose, account: AccountKey, options: MailOptions): Promise<Settled> {
    const issued = await this.issue(purpose, account, options)
    if (issued.status === 'sent') await this.sender.mail(purpose, issued, options.request)
    return issued
  }

  /** The same for an address that may be a stranger's: the response must not depend on it. */
  async mailToAnyone(purpose: MailPurpose, account: AccountKey, options: MailOptions): Promise<void> {
    const issued = await this.issue(purpose, account, options)
    if (issued.status === 'sent') this.sender.mailLater(purpose, issued, options.request)
    else await this.countStranger(purpose, account, options)
  }

  /** The same by phone. */
  async message(
    purpose: CodePurpose,
    account: AccountKey,
    options: FlowOptions,
  ): Promise<{ readonly issued: Settled; readonly messageId: string | undefined }> {
    const issued = await this.issue(purpose, account, options)
    const messageId = issued.status === 'sent' ? await this.sender.message(issued) : undefined
    return { issued, messageId }
  }
}

export type MailOptions = FlowOptions & { readonly request: IncomingMessage }

/** The outcome of an attempt to issue a code, apart from that to wait. */
export type Settled = Exclude<Issued, { readonly status: 'wait' }>

/** The codes of an issue that can have no other outcome, because the account has just been read. */
export function requireSent(issued: Settled): IssuedCodes {
  if (issued.status === 'sent') return issued
  if (issued.status === 'exists') throw authErrors.emailExists()
  throw authErrors.userNotFound()
}
