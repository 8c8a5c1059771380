// Signatures of the calls of HTTP hooks: Standard Webhooks, symmetric.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
import { createHmac } from 'node:crypto'

/** A key of `GOTRUE_HOOK_*_SECRETS`: the decoded part after `v1,whsec_`. */
export type WebhookKey = Buffer

const secretForm = /^v1,whsec_([A-Za-z0-9+/]{32,86}={0,2})$/

/** The key of a secret `v1,whsec_<base64>`; undefined for text of another form. */
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
 * The value of `webhook-signature`: one signature per key, separated by spaces, so that a receiver accepts the call during
 * a rotation with the old key or the new one.
 */
export function webhookSignature({ id, timestamp, body }: WebhookMessage, keys: readonly WebhookKey[]): string {
  return keys
    .map((key) => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`)
    .join(' ')
}
