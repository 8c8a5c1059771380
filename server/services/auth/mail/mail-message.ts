// One mail, ready to be sent.
import { randomUUID } from 'node:crypto'
import type { MailKind } from './mail-kind.ts'

export type MailMessage = {
  /** The header `Message-ID`, with angle brackets. All attempts to send the mail use the same. */
  readonly id: string
  readonly kind: MailKind
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly html: string
  readonly text: string
  /** For the log and the mailbox of the development mode. */
  readonly link: string | undefined
  readonly code: string | undefined
  readonly createdAt: Date
}

/** @param domain Of the sender. */
export const newMessageId = (domain: string): string => `<${randomUUID()}@${domain}>`

/** Line breaks would end a header, and control characters have no place in one. */
export const headerText = (text: string): string =>
  // eslint-disable-next-line no-control-regex -- These are the characters to be replaced.
  text.replace(/[\u0000-\u001f\u007f\u0085\u2028\u2029]+/g, ' ').trim()

/**
 * Whether a mail can go to the address: exactly one mailbox, without a display name, comments, or characters that mean
 * something in a header or an SMTP command.
 */
export const isMailbox = (address: string): boolean =>
  address.length <= 255 && /^[^\s"<>()[\]:;,@\\\p{C}]+@[^\s"<>()[\]:;,@\\\p{C}]+$/u.test(address)
