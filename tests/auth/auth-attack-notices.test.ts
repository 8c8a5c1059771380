// A flood of changes whose owner gets mails about them: GOTRUE_RATE_LIMIT_EMAIL_SENT holds, and no change waits for a mail.
import t from 'tap'
import { codeOf, newAddress, password, passwordGrant, signUp } from '../support/auth.ts'
import { startMailingService } from '../support/mailing-service.ts'
import { register } from '../support/passkey.ts'
import { SoftAuthenticator } from '../support/soft-authenticator.ts'
import { until } from '../support/until.ts'

const [limit, changes] = [10, 20] as const
const { ask, call, sink, signInByMail, startAnother, logged, reload } = await startMailingService(t, {
  GOTRUE_PASSKEY_ENABLED: 'true',
  GOTRUE_PASSKEY_MAX_PASSKEYS_PER_USER: '1000',
  GOTRUE_RATE_LIMIT_PASSKEY: '100000',
  GOTRUE_RATE_LIMIT_EMAIL_SENT: String(limit),
  GOTRUE_MAILER_NOTIFICATIONS_PASSKEY_ADDED_ENABLED: 'true',
  GOTRUE_MAILER_NOTIFICATIONS_PASSKEY_REMOVED_ENABLED: 'true',
})
const refusals = () => logged().filter(({ msg }) => /^A mail \(passkey_\w+\) is not sent: /.test(String(msg)))
const newKey = () => new SoftAuthenticator({ origin: 'https://app.test' })

/** Adds and removes a passkey: two mails. */
async function change(token: string): Promise<readonly number[]> {
  const { status, body } = await register(ask, token, newKey())
  return [status, (await ask('DELETE', `/passkeys/${String(body.id)}`, { token })).status]
}

t.test('a flood of changes sends no more mails than the limit, and all changes are made', async (t) => {
  // One whose address needs no mail, before the limit is used up.
  const { ask: confirming } = await startAnother({ GOTRUE_MAILER_AUTOCONFIRM: 'true' })
  const other = newAddress()
  await signUp(confirming, other)

  const email = newAddress()
  const { access_token: token } = await signInByMail(email)
  const before = sink.received.length
  t.equal(before, 1)
  // Half of them one after the other, half at once.
  const answers: (readonly number[])[] = []
  for (let time = 0; time < changes / 2; time++) answers.push(await change(token))
  answers.push(...(await Promise.all(Array.from({ length: changes / 2 }, () => change(token)))))
  t.strictSame(
    answers,
    Array.from({ length: changes }, () => [200, 204]),
  )
  const refused = 2 * changes - (limit - before)
  t.ok(await until(() => refusals().length === refused), 'each mail that is not sent is logged once')
  t.ok(await until(() => sink.received.length === limit))
  t.match(refusals()[0], { level: 'warn', msg: /GOTRUE_RATE_LIMIT_EMAIL_SENT/ })
  t.notOk(
    refusals().some(({ msg }) => String(msg).includes(email)),
    'without the address',
  )
  t.strictSame((await ask('GET', '/passkeys', { token })).body, [])

  // The limit is that of all mails, as in GoTrue: what needs one is refused, and all else works.
  const code = await ask('POST', '/otp', { body: { email: other } })
  t.strictSame([code.status, codeOf(code)], [429, 'over_email_send_rate_limit'])
  t.ok(Number(code.headers.get('retry-after')) > 0)
  t.equal((await passwordGrant(ask, other, password)).status, 200)
  t.equal((await call('GET', '/health')).status, 200)

  await reload({ GOTRUE_RATE_LIMIT_EMAIL_SENT: '10000' })
  t.strictSame(await change(token), [200, 204])
  t.ok(await until(() => sink.received.length === limit + 2), 'with another limit, mails are sent again')
  t.equal(sink.countTo(email), limit + 2)
  t.equal(refusals().length, refused)
})

t.test('a mail server that is slow or refuses delays no change', async (t) => {
  await reload({ GOTRUE_RATE_LIMIT_EMAIL_SENT: '10000' })
  const { access_token: token } = await signInByMail(newAddress())
  const release = sink.delayReplies()
  const answers = await Promise.all(Array.from({ length: changes }, () => change(token)))
  t.strictSame(
    answers,
    Array.from({ length: changes }, () => [200, 204]),
    'no mail has been accepted meanwhile',
  )
  t.equal((await call('GET', '/health')).status, 200)
  sink.refuse(...Array.from({ length: 5 }, () => ({ code: 550, at: 'recipient' }) as const))
  release()
  t.strictSame(await change(token), [200, 204])
})
