// The mails of sign-in: rendered and sent in the background.
import type { AuthSettings, CustomMailKind } from '../settings.ts'
import { createSmtpDelivery } from './smtp-delivery.ts'
import type { MailDelivery } from './mail-delivery.ts'
import type { MailKind, MailVariables } from './mail-kind.ts'
import { isMailbox, newMessageId, type MailMessage } from './mail-message.ts'
import { Mailbox } from './mailbox.ts'
import { MailTemplates, type RenderedMail, type TemplateSources } from './mail-templates.ts'
import { Outbox } from './outbox.ts'

export type MailerSettings = Pick<AuthSettings, (typeof serverKeys)[number] | 'authSmtpSenderName'> & {
  readonly authMailContents: ReadonlyMap<CustomMailKind, TemplateSources>
}

export type MailerOptions = {
  /** The current settings. A changed mail server takes effect with the next mail. */
  readonly settings: () => MailerSettings
  /** Whether mails are printed and kept if there is no mail server. */
  readonly isDevelopment: boolean
  /** Writes a block of several lines for people to read. */
  readonly print: (block: string) => void
  /** Logs a warning: a complete sentence. */
  readonly warn: (message: string) => void
  readonly outbox?: { readonly pauses?: readonly number[] }
}

const serverKeys = [
  'authSmtpHost',
  'authSmtpPort',
  'authSmtpUser',
  'authSmtpPass',
  'authSmtpAdminEmail',
] as const satisfies readonly (keyof AuthSettings)[]

export class Mailer {
  readonly templates: MailTemplates
  /** The mails of the development mode; undefined if the server is not for development. */
  readonly mailbox: Mailbox | undefined
  readonly #options: MailerOptions
  readonly #outbox: Outbox
  #server: { readonly key: string; readonly delivery: MailDelivery } | undefined

  constructor(options: MailerOptions) {
    const { settings, isDevelopment, print, warn, outbox } = options
    this.#options = options
    this.templates = new MailTemplates({ contents: () => settings().authMailContents, onProblem: warn })
    this.mailbox = isDevelopment ? new Mailbox({ print }) : undefined
    this.#outbox = new Outbox({
      deliver: (message) => this.#delivery().deliver(message),
      onProblem: warn,
      ...outbox,
    })
  }

  /** Whether mails are sent, or kept for development. */
  get delivers(): boolean {
    return this.#options.settings().authSmtpHost !== null || this.mailbox !== undefined
  }

  /** Checks mail server and templates, and reports problems. Never rejects. */
  async check(): Promise<void> {
    const { authSmtpHost, authSmtpAdminEmail } = this.#options.settings()
    await this.templates.load()
    if (authSmtpHost === null) {
      if (!this.mailbox) this.#options.warn('No mails are sent: there is no mail server (GOTRUE_SMTP_HOST).')
      return
    }
    if (authSmtpAdminEmail === null) {
      this.#options.warn('Mails have the sender noreply@localhost: set GOTRUE_SMTP_ADMIN_EMAIL.')
    }
    const problem = await this.#delivery().check()
    if (problem !== undefined) this.#options.warn(`No mails can be sent at the moment. ${problem}`)
  }

  /**
   * Sends a mail in the background, at most once. Never throws: failures are reported. Mails to addresses that are no
   * mailboxes are discarded.
   */
  send(kind: MailKind, to: string, variables: MailVariables): void {
    if (!isMailbox(to)) {
      this.#options.warn(`A mail (${kind}) is discarded: its address is not a mailbox.`)
      return
    }
    this.#outbox.add(to, async () => this.#message(kind, to, variables, await this.templates.render(kind, variables)))
  }

  /** Waits until all mails are sent, at most for `timeout` milliseconds, and closes the connections. */
  async stop(timeout: number): Promise<void> {
    await this.#outbox.drain(timeout)
    this.#server?.delivery.close()
  }

  #message(kind: MailKind, to: string, { ConfirmationURL, Token }: MailVariables, mail: RenderedMail): MailMessage {
    const { authSmtpSenderName } = this.#options.settings()
    const sender = this.#sender()
    const name = (authSmtpSenderName ?? '').replace(/["\\]/g, ' ')
    return {
      id: newMessageId(sender.slice(sender.lastIndexOf('@') + 1)),
      kind,
      from: name === '' ? sender : `"${name}" <${sender}>`,
      to,
      ...mail,
      link: ConfirmationURL,
      code: Token,
      createdAt: new Date(),
    }
  }

  #sender(): string {
    return this.#options.settings().authSmtpAdminEmail ?? 'noreply@localhost'
  }

  #delivery(): MailDelivery {
    const settings = this.#options.settings()
    const { authSmtpHost: host, authSmtpPort: port, authSmtpUser: user, authSmtpPass: password } = settings
    if (host === null) return this.mailbox ?? discard
    const key = JSON.stringify(serverKeys.map((name) => settings[name]))
    if (this.#server?.key !== key) {
      this.#server?.delivery.close()
      this.#server = { key, delivery: createSmtpDelivery({ host, port, user, password, sender: this.#sender() }) }
    }
    return this.#server.delivery
  }
}

/** Without a mail server. The start has reported it. */
const discard: MailDelivery = {
  deliver: () => Promise.resolve(),
  check: () => Promise.resolve(undefined),
  close: () => undefined,
}
