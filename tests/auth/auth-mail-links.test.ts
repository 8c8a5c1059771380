// Links and codes for changes of an account, of invitations and of administrators, with supabase-js.
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { askAuth, codeOf, newAddress, password } from '../support/auth.ts'
import { cookieSettings, startMailingService } from '../support/mailing-service.ts'
import { follow, fragmentOf, pageClient, signUpByMail } from '../support/page-client.ts'
import { signToken } from '../support/token.ts'

const { ask, database, sink, startAnother, url } = await startMailingService(t, cookieSettings)
const serviceToken = await signToken({ role: 'service_role' })

const client = ({ key = 'anon' } = {}) => pageClient(url, key)

/** Signs up and confirms the address. */
const confirmedUser = async (supabase = client()) => ({ supabase, email: await signUpByMail(supabase, sink) })

const fails = (t: Test, error: unknown, code: string, status: number): void => {
  t.match(error, { code, status })
}

for (const order of ['current first', 'new first'] as const) {
  void t.test(`an address is changed from both mailboxes, ${order}`, async (t) => {
    const { supabase, email } = await confirmedUser()
    const next = newAddress()
    const { data, error } = await supabase.auth.updateUser({ email: next })
    t.equal(error, null)
    t.match(data.user, { email, new_email: next })
    const addresses = order === 'new first' ? [next, email] : [email, next]
    const [first, second] = [await sink.next(addresses[0] ?? ''), await sink.next(addresses[1] ?? '')]
    t.match(fragmentOf(await follow(first.link)), { message: /proceed to confirm link sent to the other email/ })
    t.match(fragmentOf(await follow(first.link)), { error_code: 'otp_expired' }, 'each link counts once')
    t.equal((await supabase.auth.getUser()).data.user?.email, email)
    const verified = await client().auth.verifyOtp({ type: 'email_change', email: second.to, token: second.code })
    t.equal(verified.error, null)
    t.match(verified.data.user, { email: next, identities: [{ identity_data: { email: next } }] })
    t.notOk(verified.data.user?.new_email)
    t.equal((await client().auth.signInWithPassword({ email: next, password })).error, null)
  })
}

t.test('the first half of a change by code', async (t) => {
  const { supabase, email } = await confirmedUser()
  const next = newAddress()
  await supabase.auth.updateUser({ email: next })
  const { code } = await sink.next(email)
  const half = await ask('POST', '/verify', { body: { type: 'email_change', email, token: code } })
  t.strictSame([half.status, half.body.code], [200, '200'])
  t.match(half.body.msg, /Confirmation link accepted/)
  t.match(await ask('POST', '/resend', { body: { type: 'email_change', email } }), { status: 200, text: '{}' })
})

t.test('an address that was taken meanwhile', async (t) => {
  const { supabase, email } = await confirmedUser()
  const next = newAddress()
  await supabase.auth.updateUser({ email: next })
  const [current, pending] = [await sink.next(email), await sink.next(next)]
  await client().auth.signUp({ email: next, password })
  await follow(current.link)
  t.match(fragmentOf(await follow(pending.link)), { error_code: 'email_exists' })
  const taken = await supabase.auth.updateUser({ email: (await confirmedUser()).email })
  fails(t, taken.error, 'email_exists', 422)
})

t.test('an invitation', async (t) => {
  const email = newAddress()
  const admin = client({ key: serviceToken })
  const { data, error } = await admin.auth.admin.inviteUserByEmail(email, { data: { team: 1 } })
  t.equal(error, null)
  t.match(data.user, { email, invited_at: String, user_metadata: { team: 1 } })
  const mail = await sink.next(email)
  t.equal(mail.subject, 'You are invited')
  const supabase = client()
  const { access_token: token, refresh_token: refresh, type } = fragmentOf(await follow(mail.link))
  t.equal(type, 'invite')
  await supabase.auth.setSession({ access_token: token ?? '', refresh_token: refresh ?? '' })
  t.equal((await supabase.auth.updateUser({ password })).error, null)
  t.equal((await client().auth.signInWithPassword({ email, password })).error, null)
  fails(t, (await admin.auth.admin.inviteUserByEmail(email)).error, 'email_exists', 422)
  const denied = await ask('POST', '/invite', { body: { email } })
  t.equal(denied.status, 401)
})

t.test('generated links', async (t) => {
  const admin = client({ key: serviceToken }).auth.admin
  const email = newAddress()
  const before = sink.received.length
  const signUp = await admin.generateLink({ type: 'signup', email, password })
  t.equal(signUp.error, null)
  t.match(signUp.data.properties, {
    verification_type: 'signup',
    email_otp: /^\d{6}$/,
    redirect_to: 'https://app.test',
  })
  t.match(fragmentOf(await follow(signUp.data.properties?.action_link ?? '')), { type: 'signup', access_token: String })
  for (const type of ['magiclink', 'recovery'] as const) {
    const { data } = await admin.generateLink({ type, email })
    const used = await client().auth.verifyOtp({ type, token_hash: data.properties?.hashed_token ?? '' })
    t.equal(used.error, null, type)
  }
  const newEmail = newAddress()
  const current = await admin.generateLink({ type: 'email_change_current', email, newEmail })
  const next = await admin.generateLink({ type: 'email_change_new', email, newEmail })
  for (const { data } of [next, current]) {
    const used = await ask('POST', '/verify', {
      body: { type: 'email_change', token_hash: data.properties?.hashed_token },
    })
    t.equal(used.status, 200, String(data.properties?.verification_type))
  }
  t.equal((await client().auth.signInWithPassword({ email: newEmail, password })).error, null)
  const stranger = await admin.generateLink({ type: 'recovery', email: newAddress() })
  fails(t, stranger.error, 'user_not_found', 404)
  const created = await admin.generateLink({ type: 'magiclink', email: newAddress() })
  t.equal(created.data.properties?.verification_type, 'signup')
  const invited = await admin.generateLink({ type: 'invite', email: newAddress() })
  t.equal(invited.data.properties?.verification_type, 'invite')
  t.equal(sink.received.length, before, 'sends nothing')
})

t.test('a code of a reauthentication is the nonce of a new password', async (t) => {
  const { supabase, email } = await confirmedUser()
  t.equal((await supabase.auth.reauthenticate()).error, null)
  const { subject, code } = await sink.next(email)
  t.equal(subject, `${code} is your code`)
  const strict = await startAnother({
    GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
  })
  await database.query(`update auth.sessions set created_at = now() - interval '2 days'
    where user_id = (select id from auth.users where email = '${email}')`)
  const token = (await supabase.auth.getSession()).data.session?.access_token
  const change = (body: object) => askAuth(strict.url)('PUT', '/user', { body, token })
  t.equal(codeOf(await change({ password: 'a new password' })), 'reauthentication_needed')
  const wrong = await change({ password: 'a new password', nonce: code === '000000' ? '000001' : '000000' })
  t.strictSame([wrong.status, codeOf(wrong)], [422, 'reauthentication_not_valid'])
  t.equal((await change({ password: 'a new password', nonce: code })).status, 200)
  const again = await change({ password: 'a newer password', nonce: code })
  t.strictSame([again.status, codeOf(again)], [422, 'reauthentication_not_valid'], 'a nonce counts once')
})

t.test('links lead to allowed pages only', async (t) => {
  const email = newAddress()
  const path = `/otp?redirect_to=${encodeURIComponent('https://evil.test/')}`
  t.equal((await ask('POST', path, { body: { email } })).status, 200)
  const { link } = await sink.next(email)
  t.equal(new URL(link).searchParams.get('redirect_to'), 'https://app.test')
  const forged = new URL(link)
  forged.searchParams.set('redirect_to', 'https://app.test@evil.test/')
  t.equal((await follow(forged.href)).origin, 'https://app.test')
})

t.test('with a button, opening the link uses up nothing', async (t) => {
  const buttoned = await startAnother({ GOTRUE_MAILER_VERIFY_BUTTON: 'true' })
  const email = newAddress()
  await askAuth(buttoned.url)('POST', '/otp', { body: { email } })
  const { link } = await sink.next(email)
  for (let time = 0; time < 2; time += 1) {
    const page = await fetch(link, { redirect: 'manual' })
    t.equal(page.status, 200)
    t.match(page.headers.get('content-type'), 'text/html')
    const html = await page.text()
    const action = /action="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? ''
    if (time === 0) continue
    const pressed = await fetch(new URL(action, link), { method: 'POST', redirect: 'manual' })
    t.equal(pressed.status, 303)
    t.match(pressed.headers.get('location'), /^https:\/\/app\.test#access_token=/)
  }
})

t.test('phone codes of test numbers', async (t) => {
  const phone = `1555${String(randomBytes(4).readUInt32BE()).padStart(10, '0').slice(0, 7)}`
  const phoned = await startAnother({
    GOTRUE_EXTERNAL_PHONE_ENABLED: 'true',
    GOTRUE_SMS_TEST_OTP: `${phone}=123456`,
    GOTRUE_SMS_MAX_FREQUENCY: '0s',
  })
  const askPhone = askAuth(phoned.url)
  t.equal((await askPhone('POST', '/otp', { body: { phone: `+${phone}` } })).status, 200)
  const session = await askPhone('POST', '/verify', { body: { type: 'sms', phone, token: '123456' } })
  t.match(session.body, { access_token: String, user: { phone, app_metadata: { providers: ['phone'] } } })
  t.match(await askPhone('POST', '/otp', { body: { phone } }), { status: 200, body: { message_id: 'test-otp' } })
  const other = await askPhone('POST', '/otp', { body: { phone: '15559876543' } })
  t.equal(other.status, 500, 'there is no way to send a message')
})
