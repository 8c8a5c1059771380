// What a way of sending mails has to do.
import type { MailMessage } from './mail-message.ts'

/** A mail that was not sent. */
export class DeliveryError extends Error {
  /** @param isTemporary Whether the mail has certainly not been sent, and another attempt may succeed. */
  constructor(
    message: string,
    readonly isTemporary: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

export type MailDelivery = {
  /** Attempts to send a mail once. @throws {DeliveryError} If it was not sent, or if that is uncertain. */
  readonly deliver: (message: MailMessage) => Promise<void>
  /**
   * Checks at the start whether mails can be sent.
   *
   * @returns a sentence that says why not
   */
  readonly check: () => Promise<string | undefined>
  readonly close: () => void
}
