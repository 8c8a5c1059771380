// Signatures of outgoing calls, as receivers check them.
import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { webhookHeaders, webhookKey, type WebhookKey } from '../../../server/services/outgoing/webhook-signature.ts'

const secretOf = (bytes: number): string => `whsec_${randomBytes(bytes).toString('base64')}`

const keyOf = (secret: string): WebhookKey => {
  const key = webhookKey(secret)
  if (!key) throw new Error(`not a secret: ${secret}`)
  return key
}

t.test('signs as the example of Standard Webhooks', (t) => {
  const key = keyOf('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1614265330, body: '{"test": 2432232314}' }
  t.strictSame(webhookHeaders(message, [key]), {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
  t.end()
})

t.test('receivers accept a call with the old and with the new secret, and with no other one', (t) => {
  const [older, newer] = [secretOf(24), secretOf(64)]
  for (const body of ['{"id":1}', '', '{"text":"Übergröße ✓ \\u0000"}']) {
    const message = { id: 'msg_1', timestamp: Math.floor(Date.now() / 1000), body }
    const headers = webhookHeaders(message, [keyOf(newer), keyOf(older)])
    for (const secret of [older, newer]) {
      const verified: unknown = new Webhook(secret).verify(body, { ...headers })
      t.strictSame(verified, body === '' ? undefined : JSON.parse(body))
      t.throws(() => new Webhook(secret).verify(`${body} `, { ...headers }), /No matching signature/)
      t.throws(() => new Webhook(secret).verify(body, { ...headers, 'webhook-id': 'msg_2' }), /No matching signature/)
    }
    t.throws(() => new Webhook(secretOf(24)).verify(body, { ...headers }), /No matching signature/)
  }
  t.end()
})

t.test('reads only secrets of the form whsec_<base64>, of 24 to 64 bytes', (t) => {
  const valid = secretOf(24)
  for (const text of ['', valid.slice(6), `v1,${valid}`, secretOf(23), secretOf(65), `${valid}!`, `${valid}\n`]) {
    t.equal(webhookKey(text), undefined, text)
  }
  for (const bytes of [24, 25, 32, 64]) t.equal(keyOf(secretOf(bytes)).length, bytes)
  t.end()
})
