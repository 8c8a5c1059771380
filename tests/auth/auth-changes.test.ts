// Changes of addresses and numbers, conversions of anonymous users, and codes that are sent again.
import t from 'tap'
import { codeOf, newAddress, password, passwordGrant, sessionOf, signUp } from '../support/auth.ts'
import { startMailingService } from '../support/mailing-service.ts'

const numbers = ['15550000001', '15550000002', '15550000003', '15550000004', '15550000005']
const { ask, database, sink, startAnother } = await startMailingService(t, {
  GOTRUE_SMS_MAX_FREQUENCY: '0s',
  GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  GOTRUE_EXTERNAL_PHONE_ENABLED: 'true',
  GOTRUE_SMS_TEST_OTP: numbers.map((number) => `${number}=123456`).join(),
  GOTRUE_MAILER_SECURE_EMAIL_CHANGE_ENABLED: 'false',
})
const { ask: auto } = await startAnother({ GOTRUE_MAILER_AUTOCONFIRM: 'true' })

t.test('a simple change of the address is confirmed from the new mailbox alone', async (t) => {
  const { access_token: token, user } = await signUp(auto)
  const email = newAddress()
  t.match((await ask('PUT', '/user', { token, body: { email } })).body, { email: user.email, new_email: email })
  await sink.next(email)
  t.match(await ask('POST', '/resend', { body: { type: 'email_change', email: user.email } }), { status: 200 })
  const { code } = await sink.next(email)
  const verified = await ask('POST', '/verify', { body: { type: 'email_change', email, token: code } })
  t.match(verified, { status: 200, body: { user: { email } } }, verified.text)
  t.notOk(
    sink.received.some(({ to }) => to === user.email),
    'the old mailbox gets nothing',
  )
})

for (const by of ['mail', 'autoconfirm'] as const) {
  void t.test(`an anonymous user gets an address by ${by}`, async (t) => {
    const { access_token: token, user } = sessionOf(await ask('POST', '/signup', { body: {} }))
    t.strictSame(user.app_metadata, {})
    const email = newAddress()
    const asked = await (by === 'mail' ? ask : auto)('PUT', '/user', { token, body: { email } })
    t.equal(asked.status, 200, asked.text)
    if (by === 'mail') {
      t.match(asked.body, { new_email: email, is_anonymous: true })
      const { code } = await sink.next(email)
      t.equal((await ask('POST', '/verify', { body: { type: 'email_change', email, token: code } })).status, 200)
    }
    t.match((await ask('GET', '/user', { token })).body, {
      id: user.id,
      email,
      email_confirmed_at: String,
      is_anonymous: false,
      app_metadata: { provider: 'email', providers: ['email'] },
      identities: [{ provider: 'email', identity_data: { email } }],
    })
    t.equal((await ask('PUT', '/user', { token, body: { password } })).status, 200)
    t.equal((await passwordGrant(ask, email)).status, 200)
  })
}

t.test('a phone number: sign-up, resend, change and reauthentication', async (t) => {
  const [first = '', second = '', unknown = ''] = numbers
  t.equal((await ask('POST', '/signup', { body: { phone: first, password } })).status, 200)
  t.match(await ask('POST', '/resend', { body: { type: 'sms', phone: first } }), { body: { message_id: 'test-otp' } })
  t.match(await ask('POST', '/resend', { body: { type: 'sms', phone: unknown } }), { status: 200 }, 'as for strangers')
  const { access_token: token } = sessionOf(
    await ask('POST', '/verify', { body: { type: 'sms', phone: first, token: '123456' } }),
  )
  t.match((await ask('PUT', '/user', { token, body: { phone: second } })).body, { phone: first, new_phone: second })
  const again = await ask('POST', '/resend', { body: { type: 'phone_change', phone: first } })
  t.match(again, { status: 200, body: { message_id: 'test-otp' } })
  const wrong = await ask('POST', '/verify', { body: { type: 'phone_change', phone: second, token: '654321' } })
  t.equal(codeOf(wrong), 'otp_expired')
  const changed = await ask('POST', '/verify', { body: { type: 'phone_change', phone: second, token: '123456' } })
  t.match(changed, { status: 200, body: { user: { phone: second, app_metadata: { providers: ['phone'] } } } })
  t.match(await ask('GET', '/reauthenticate', { token }), { status: 200, body: { message_id: 'test-otp' } })
  t.equal((await ask('POST', '/token?grant_type=password', { body: { phone: second, password } })).status, 200)
})

t.test('a code sent to a phone is the nonce of a new password', async (t) => {
  const [own = '', other = ''] = ['15550000004', '15550000005']
  const strict = { GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true' }
  const { ask } = await startAnother(strict)
  const signedUp = async (phone: string) => {
    await ask('POST', '/signup', { body: { phone, password } })
    const session = sessionOf(await ask('POST', '/verify', { body: { type: 'sms', phone, token: '123456' } }))
    await database.query("update auth.sessions set created_at = now() - interval '2 days' where user_id = $1", [
      session.user.id,
    ])
    return session.access_token
  }
  const [token, stranger] = [await signedUp(own), await signedUp(other)]
  const change = (secret: string, nonce?: string, by = token) =>
    ask('PUT', '/user', { token: by, body: { password: secret, ...(nonce === undefined ? {} : { nonce }) } })
  const invalid = { status: 422, body: { error_code: 'reauthentication_not_valid' } }
  t.match(await change('a new password'), { status: 400, body: { error_code: 'reauthentication_needed' } })
  t.match(await change('a new password', '123456'), invalid, 'the code of the sign-up is not accepted')
  t.match(await ask('GET', '/reauthenticate', { token }), { status: 200, body: { message_id: 'test-otp' } })
  t.match(await change('a new password', '123456', stranger), invalid, 'it belongs to the user')
  t.match(await change('a new password', '654321'), invalid)
  const asLogin = await ask('POST', '/verify', { body: { type: 'sms', phone: own, token: '123456' } })
  t.equal(codeOf(asLogin), 'otp_expired', 'it does not sign in')
  t.equal((await change('a new password', '123456')).status, 200)
  t.match(await change('a newer password', '123456'), invalid, 'it counts once')
  const grant = (secret: string) =>
    ask('POST', '/token?grant_type=password', { body: { phone: own, password: secret } })
  t.strictSame([(await grant('a new password')).status, (await grant(password)).status], [200, 400])
  await ask('GET', '/reauthenticate', { token })
  await Promise.all(Array.from({ length: 5 }, () => change('a newer password', '654321')))
  t.match(await change('a newer password', '123456'), invalid, 'five wrong codes end it')
})

t.test('a code where addresses need no confirmation', async (t) => {
  const email = newAddress()
  t.equal((await auto('POST', '/otp', { body: { email } })).status, 200)
  const { code, subject } = await sink.next(email)
  t.equal(subject, 'Sign in')
  t.match(await auto('POST', '/verify', { body: { type: 'email', email, token: code } }), { body: { user: { email } } })
})

t.test('the link of a mail with PKCE, up to the session', async (t) => {
  const { user } = await signUp(auto)
  const [verifier, email] = ['v'.repeat(43), String(user.email)]
  const challenge = { code_challenge: verifier, code_challenge_method: 'plain' }
  await ask('POST', '/recover', { body: { email, ...challenge } })
  const { headers } = await fetch((await sink.next(email)).link, { redirect: 'manual' })
  const code = new URL(headers.get('location') ?? '').searchParams.get('code')
  const exchange = (secret: string) =>
    ask('POST', '/token?grant_type=pkce', { body: { auth_code: code, code_verifier: secret } })
  t.equal(codeOf(await exchange('w'.repeat(43))), 'bad_code_verifier')
  t.match(await exchange(verifier), { status: 200, body: { user: { id: user.id } } })
  t.equal(codeOf(await exchange(verifier)), 'flow_state_not_found')
})
