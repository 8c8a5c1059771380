// GOTRUE_RATE_LIMIT_EMAIL_SENT counts what is sent, and a refused request changes nothing.
import t from 'tap'
import { codeOf, newAddress, password } from '../support/auth.ts'
import { startMailingService } from '../support/mailing-service.ts'

const { ask, database, sink } = await startMailingService(t, { GOTRUE_RATE_LIMIT_EMAIL_SENT: '3' })

t.test('a mail that cannot be sent leaves the earlier code valid, and creates no account', async (t) => {
  const email = newAddress()
  for (let time = 0; time < 5; time += 1) {
    t.equal(
      (await ask('POST', '/recover', { body: { email: newAddress() } })).status,
      200,
      'nothing is sent to strangers',
    )
  }
  t.equal((await ask('POST', '/signup', { body: { email, password } })).status, 200)
  const { code: first } = await sink.next(email)
  t.equal((await ask('POST', '/verify', { body: { type: 'signup', email, token: first } })).status, 200)
  t.equal((await ask('POST', '/otp', { body: { email } })).status, 200)
  await sink.next(email)
  t.equal((await ask('POST', '/otp', { body: { email } })).status, 200)
  const { code } = await sink.next(email)
  for (const path of ['/otp', '/recover']) {
    const refused = await ask('POST', path, { body: { email } })
    t.strictSame([refused.status, codeOf(refused)], [429, 'over_email_send_rate_limit'], path)
    t.ok(Number(refused.headers.get('retry-after')) > 0)
  }
  const stranger = newAddress()
  t.equal((await ask('POST', '/otp', { body: { email: stranger } })).status, 429)
  const { rowCount } = await database.query('select from auth.users where email = $1', [stranger])
  t.equal(rowCount, 0)
  const used = await ask('POST', '/verify', { body: { type: 'email', email, token: code } })
  t.equal(used.status, 200, used.text)
})
