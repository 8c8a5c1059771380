// Floods of changes whose owners get mails about them: no account uses up the mails of others, and no change waits for a mail.
import t from 'tap'
import { codeOf, newAddress } from '../support/auth.ts'
import { startMailingService } from '../support/mailing-service.ts'
import { register } from '../support/passkey.ts'
import { SoftAuthenticator } from '../support/soft-authenticator.ts'
import { until } from '../support/until.ts'

// Of notices, one account gets so many.
const [limit, share, changes] = [10, 3, 20] as const
const { ask, call, sink, signInByMail, logged, reload } = await startMailingService(t, {
  GOTRUE_PASSKEY_ENABLED: 'true',
  GOTRUE_PASSKEY_MAX_PASSKEYS_PER_USER: '1000',
  GOTRUE_RATE_LIMIT_PASSKEY: '100000',
  GOTRUE_RATE_LIMIT_EMAIL_SENT: `${limit}/24h`,
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

/** Adds and removes passkeys, half of them one after the other, half at once: two mails for each. */
async function flood(token: string): Promise<readonly (readonly number[])[]> {
  const answers: (readonly number[])[] = []
  for (let time = 0; time < changes / 2; time++) answers.push(await change(token))
  return [...answers, ...(await Promise.all(Array.from({ length: changes / 2 }, () => change(token))))]
}

const done = Array.from({ length: changes }, () => [200, 204])

t.test('a flood of changes sends few mails, all changes are made, and other users get theirs', async (t) => {
  const other = newAddress()
  const { access_token: otherToken } = await signInByMail(other)
  const email = newAddress()
  const { access_token: token } = await signInByMail(email)
  t.strictSame(await flood(token), done)
  t.ok(await until(() => refusals().length === 2 * changes - share), 'each mail that is not sent is logged once')
  t.ok(await until(() => sink.countTo(email) === 1 + share))
  t.match(refusals()[0], {
    level: 'warn',
    msg: /GOTRUE_RATE_LIMIT_EMAIL_SENT allows 3 in 24 hours about changes of one/,
  })
  t.notOk(
    refusals().some(({ msg }) => String(msg).includes(email)),
    'without the address',
  )
  t.strictSame((await ask('GET', '/passkeys', { token })).body, [])

  // The mails to sign in are counted apart, and the other user's notices belong to another account.
  await signInByMail(newAddress())
  t.strictSame(await change(otherToken), [200, 204])
  t.ok(await until(() => sink.countTo(other) === 3), 'two notices after the code')
})

t.test(
  'accounts of one person that flood together use up neither the sign-in mails of others nor their own changes',
  async (t) => {
    const tokens = await Promise.all(
      Array.from({ length: 4 }, async () => (await signInByMail(newAddress())).access_token),
    )
    const before = sink.received.length
    t.strictSame(
      await Promise.all(tokens.map(flood)),
      Array.from({ length: 4 }, () => done),
    )
    t.ok(
      await until(() =>
        refusals().some(({ msg }) => String(msg).endsWith('GOTRUE_RATE_LIMIT_EMAIL_SENT allows 10 in 24 hours')),
      ),
    )
    // Those of the test before count, too: the three of its flood and the two of the other user.
    t.ok(await until(() => sink.received.length === before + limit - share - 2))
    await signInByMail(newAddress())

    // What clients see of the limit of codes is GoTrue's.
    for (;;) {
      const code = await ask('POST', '/otp', { body: { email: newAddress() } })
      if (code.status === 200) continue
      t.strictSame([code.status, codeOf(code)], [429, 'over_email_send_rate_limit'])
      t.ok(Number(code.headers.get('retry-after')) > 0)
      break
    }
    t.equal((await call('GET', '/health')).status, 200)
    const [first = ''] = tokens
    await reload({ GOTRUE_RATE_LIMIT_EMAIL_SENT: '10000' })
    const received = sink.received.length
    t.strictSame(await change(first), [200, 204])
    t.ok(await until(() => sink.received.length === received + 2), 'with another limit, mails are sent again')
  },
)

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
