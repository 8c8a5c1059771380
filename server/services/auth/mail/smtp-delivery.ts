// Sends mails by SMTP.
import { Readable } from 'node:stream'
import type { Transporter } from 'nodemailer'
import { isLoopbackHost } from '../../../text/loopback-host.ts'
import { DeliveryError, type MailDelivery } from './mail-delivery.ts'
import type { MailMessage } from './mail-message.ts'

export type SmtpSettings = {
  readonly host: string
  readonly port: number
  readonly user: string | null
  readonly password: string | null
  /** Address of the sender, for the envelope. */
  readonly sender: string
}

/** Milliseconds. */
const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000, dnsTimeout: 10_000 }

/** How nodemailer describes an error. */
type SmtpError = Error & {
  readonly code?: string
  readonly command?: string
  /** The server's reply, if the error is one. */
  readonly responseCode?: number
}

/**
 * Uses TLS from the start on port 465, and STARTTLS on other ports if the server offers it. The certificate must be
 * valid, except on the same machine. Logs in if there is a user and the server offers it.
 */
export function createSmtpDelivery({ host, port, user, password, sender }: SmtpSettings): MailDelivery {
  const options = {
    host,
    port,
    secure: port === 465,
    ...(user === null ? {} : { auth: { user, pass: password ?? '' } }),
    ...(isLoopbackHost(host) ? { tls: { rejectUnauthorized: false } } : {}),
    ...timeouts,
  }
  let created: Transporter | undefined
  /** nodemailer is loaded at first use, which takes more than 100 ms. */
  const transport = async (): Promise<Transporter> => {
    const { createTransport } = await import('nodemailer')
    return (created ??= createTransport(options))
  }
  const place = `${host}:${String(port)}`
  return {
    deliver: async (message) => {
      const content = await contentOf(message)
      let isHandedOver = false
      const raw = Readable.from([content])
      raw.once('end', () => (isHandedOver = true))
      try {
        await (await transport()).sendMail({ envelope: { from: sender, to: message.to }, raw })
      } catch (error) {
        throw deliveryError(error as SmtpError, isHandedOver, place, user)
      } finally {
        raw.destroy()
      }
    },
    check: async () => {
      try {
        await (await transport()).verify()
        return undefined
      } catch (error) {
        return explain(error as SmtpError, place, user)
      }
    },
    close: () => {
      created?.close()
    },
  }
}

/** The complete message, which is the same for every attempt. */
async function contentOf({ id, from, to, subject, html, text, createdAt }: MailMessage): Promise<Buffer> {
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
  const composer = new MailComposer({ messageId: id, date: createdAt, from, to, subject, html, text })
  return composer.compile().build()
}

/**
 * The server has received the whole mail when the connection breaks after that: it may have accepted it, so it must not
 * be sent again. A reply of the server is certain.
 */
function deliveryError(error: SmtpError, isHandedOver: boolean, place: string, user: string | null): DeliveryError {
  const { responseCode } = error
  const isTemporary = responseCode === undefined ? !isHandedOver : responseCode >= 400 && responseCode < 500
  const message =
    responseCode === undefined && isHandedOver
      ? `The connection to the mail server ${place} broke before it confirmed the mail (${error.message}).`
      : explain(error, place, user)
  return new DeliveryError(message, isTemporary && error.code !== 'EAUTH', { cause: error })
}

const certificateError = /certificate|self[- ]signed|altname|TLS|SSL/i

/** A sentence that says what is wrong, and which setting may be. */
function explain(error: SmtpError, place: string, user: string | null): string {
  const reason = error.message.replace(/\s+/g, ' ').trim()
  const { code } = error
  if (code === 'EAUTH') {
    return `The mail server ${place} refuses the login of ${user ?? ''} (GOTRUE_SMTP_USER, GOTRUE_SMTP_PASS): ${reason}`
  }
  if (code === 'EDNS' || /ENOTFOUND|EAI_AGAIN/.test(reason)) {
    return `The mail server ${place} has no address (GOTRUE_SMTP_HOST): ${reason}`
  }
  if (code === 'ETLS' || certificateError.test(reason)) {
    return `The certificate of the mail server ${place} is not accepted, or TLS fails: ${reason}`
  }
  if (code === 'ETIMEDOUT')
    return `The mail server ${place} does not respond (GOTRUE_SMTP_HOST, GOTRUE_SMTP_PORT): ${reason}`
  if (code === 'ESOCKET' || code === 'ECONNECTION') {
    return `The mail server ${place} cannot be reached (GOTRUE_SMTP_HOST, GOTRUE_SMTP_PORT): ${reason}`
  }
  return `The mail server ${place} refuses the mail: ${reason}`
}
