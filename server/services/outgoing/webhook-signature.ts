// Signatures of outgoing calls: Standard Webhooks, symmetric.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
import { createHmac } from 'node:crypto'

/** The decoded part of a secret after `whsec_`. */
export type WebhookKey = Buffer

/** 24 to 64 bytes, as the specification says. */
const secretForm = /^whsec_([A-Za-z0-9+/]{32,86}={0,2})$/

/** The key of a secret `whsec_<base64>`; undefined for text of another form. */
export function webhookKey(secret: string): WebhookKey | undefined {
  const [, encoded] = secretForm.exec(secret) ?? []
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64')
}

/** What is signed: the bytes of the body, with an id and a time that the receiver checks against replays. */
export type WebhookMessage = {
  readonly id: string
  /** Seconds since 1970. */
  readonly timestamp: number
  readonly body: string
}

/**
 * The headers that identify a call and sign it. `webhook-signature` has one signature per key, separated by spaces, so that a
 * receiver accepts the call during a rotation with the old key or the new one.
 */
export const webhookHeaders = (
  message: WebhookMessage,
  keys: readonly WebhookKey[],
): Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> => ({
  'webhook-id': message.id,
  'webhook-timestamp': String(message.timestamp),
  'webhook-signature': keys.map((key) => signature(message, key)).join(' '),
})

const signature = ({ id, timestamp, body }: WebhookMessage, key: WebhookKey): string =>
  `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
