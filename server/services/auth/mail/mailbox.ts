// The mails of the development mode, where there is no mail server: they are printed and kept.
import type { MailDelivery } from './mail-delivery.ts'
import type { MailMessage } from './mail-message.ts'

export type MailboxOptions = {
  /** Writes a block of several lines for people to read. */
  readonly print: (block: string) => void
  /** Maximum number of mails; the oldest ones are discarded. */
  readonly capacity?: number
}

export class Mailbox implements MailDelivery {
  readonly #print: (block: string) => void
  readonly #capacity: number
  #messages: readonly MailMessage[] = []

  constructor({ print, capacity = 100 }: MailboxOptions) {
    this.#print = print
    this.#capacity = capacity
  }

  /** Newest first. */
  get messages(): readonly MailMessage[] {
    return this.#messages
  }

  readonly deliver = (message: MailMessage): Promise<void> => {
    this.#messages = [message, ...this.#messages].slice(0, this.#capacity)
    this.#print(printed(message))
    return Promise.resolve()
  }

  readonly check = (): Promise<undefined> => Promise.resolve(undefined)

  readonly close = (): void => undefined
}

/** `+-- Mail to … --`: a block that is easy to find among log lines, with the link on a line of its own. */
function printed({ to, subject, link, code }: MailMessage): string {
  const lines = [
    `+-- Mail to ${to}`,
    `|   ${subject}`,
    ...(code === undefined ? [] : [`|   Code: ${code}`]),
    ...(link === undefined ? [] : ['|   Link:', link]),
    '+--',
  ]
  return `${lines.join('\n')}\n`
}
