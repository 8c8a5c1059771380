// Sign-in by mail with supabase-js, against a mail server of the test.
import { createHash, randomBytes } from 'node:crypto'
import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import t, { type Test } from 'tap'
import { startApplication } from '../support/application.ts'
import { askAuth, codeOf, newAddress, password } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { startMailSink } from '../support/mail-sink.ts'
import { signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const sink = await startMailSink(t)
const env = {
  GOTRUE_SITE_URL: 'https://app.test',
  GOTRUE_SMTP_HOST: '127.0.0.1',
  GOTRUE_SMTP_PORT: String(sink.port),
  GOTRUE_SMTP_ADMIN_EMAIL: 'admin@app.test',
  GOTRUE_SMTP_MAX_FREQUENCY: '0s',
  GOTRUE_RATE_LIMIT_EMAIL_SENT: '10000',
  SESSION_SECRETS: 's'.repeat(32),
}
const { url } = await startApplication(t, database.authenticatorUri, env)
const ask = askAuth(url)
const serviceToken = await signToken({ role: 'service_role' })

function client(
  options: { readonly flowType?: 'pkce' | 'implicit'; readonly key?: string } = {},
): ReturnType<typeof createClient> {
  const stored = new Map<string, string>()
  return createClient(url, options.key ?? 'anon', {
    // Node 20 has no WebSocket of its own.
    realtime: { transport: class {} as never },
    auth: {
      autoRefreshToken: false,
      detectSessionInUrl: false,
      flowType: options.flowType ?? 'implicit',
      storage: {
        getItem: (key: string) => stored.get(key) ?? null,
        setItem: (key: string, value: string) => void stored.set(key, value),
        removeItem: (key: string) => void stored.delete(key),
      },
    },
  })
}

/** Follows a link as a browser does, and returns where it leads. */
async function follow(link: string): Promise<URL> {
  const response = await fetch(link, { redirect: 'manual' })
  return new URL(response.headers.get('location') ?? 'about:blank')
}

const fragmentOf = ({ hash }: URL): Record<string, string> => Object.fromEntries(new URLSearchParams(hash.slice(1)))

/** Signs up and confirms the address. */
async function confirmedUser(
  supabase = client(),
): Promise<{ readonly supabase: SupabaseClient; readonly email: string }> {
  const email = newAddress()
  await supabase.auth.signUp({ email, password })
  const { code } = await sink.next(email)
  const { error } = await supabase.auth.verifyOtp({ type: 'signup', email, token: code })
  if (error) throw error
  return { supabase, email }
}

const fails = (t: Test, error: unknown, code: string, status: number): void => {
  t.match(error, { code, status })
}

t.test('sign-up is confirmed by the link', async (t) => {
  const supabase = client()
  const email = newAddress()
  const { data, error } = await supabase.auth.signUp({
    email,
    password,
    options: { emailRedirectTo: 'https://app.test/welcome?x=1' },
  })
  t.equal(error, null)
  t.equal(data.session, null)
  t.match(data.user, { email, confirmation_sent_at: String })
  const early = await supabase.auth.signInWithPassword({ email, password })
  fails(t, early.error, 'email_not_confirmed', 400)

  const mail = await sink.next(email)
  t.equal(mail.subject, 'Confirm your e-mail address')
  t.match(mail.link, /^http:\/\/127\.0\.0\.1:\d+\/auth\/v1\/verify\?token=[0-9a-f]{56}&type=signup&redirect_to=/)
  t.match(mail.code, /^\d{6}$/)
  const hash = createHash('sha224')
    .update(email + mail.code)
    .digest('hex')
  t.equal(new URL(mail.link).searchParams.get('token'), hash)

  for (let time = 0; time < 3; time += 1) {
    const head = await fetch(mail.link, { method: 'HEAD', redirect: 'manual' })
    t.equal(head.status, 200, 'HEAD is harmless')
  }
  const target = await follow(mail.link)
  t.equal(target.origin + target.pathname + target.search, 'https://app.test/welcome?x=1')
  t.match(fragmentOf(target), {
    access_token: String,
    refresh_token: String,
    token_type: 'bearer',
    type: 'signup',
    expires_in: '3600',
    expires_at: /^\d+$/,
    sb: '',
  })
  const again = await follow(mail.link)
  t.match(fragmentOf(again), {
    error: 'access_denied',
    error_code: 'otp_expired',
    error_description: 'Email link is invalid or has expired',
  })
  const { data: session } = await supabase.auth.signInWithPassword({ email, password })
  t.match(session.user, { email, email_confirmed_at: String, user_metadata: { email_verified: true } })
  t.match(session.user?.identities, [{ provider: 'email', identity_data: { email_verified: true } }])
})

t.test('sign-up is confirmed by code, or by the token of the link', async (t) => {
  for (const by of ['code', 'hash'] as const) {
    const supabase = client()
    const email = newAddress()
    await supabase.auth.signUp({ email, password })
    const mail = await sink.next(email)
    const wrong = await supabase.auth.verifyOtp({
      type: 'signup',
      email,
      token: mail.code === '000000' ? '1' : '000000',
    })
    fails(t, wrong.error, 'otp_expired', 403)
    const { data, error } = await supabase.auth.verifyOtp(
      by === 'code'
        ? { type: 'email', email: email.toUpperCase(), token: mail.code }
        : { type: 'email', token_hash: new URL(mail.link).searchParams.get('token') ?? '' },
    )
    t.equal(error, null, by)
    t.match(data.session, { access_token: String, user: { email } })
  }
})

t.test('a second sign-up with the address tells the owner only', async (t) => {
  const { email } = await confirmedUser()
  const { data, error } = await client().auth.signUp({ email, password: 'another password' })
  t.equal(error, null)
  t.match(data.user, { email, identities: [] })
  const mail = await sink.next(email)
  t.equal(mail.subject, 'You already have an account')
  t.equal(mail.link, '')
})

t.test('a magic link signs in, by link and by code', async (t) => {
  const { email } = await confirmedUser()
  const supabase = client()
  t.equal((await supabase.auth.signInWithOtp({ email })).error, null)
  const mail = await sink.next(email)
  t.equal(mail.subject, 'Sign in')
  const { access_token: token, refresh_token: refresh, type } = fragmentOf(await follow(mail.link))
  t.equal(type, 'magiclink')
  const { data } = await supabase.auth.setSession({ access_token: token ?? '', refresh_token: refresh ?? '' })
  t.equal(data.user?.email, email)

  await supabase.auth.signInWithOtp({ email })
  const { code } = await sink.next(email)
  const verified = await supabase.auth.verifyOtp({ type: 'email', email, token: code })
  t.match(verified.data.session, { user: { email } })
  fails(t, (await supabase.auth.verifyOtp({ type: 'email', email, token: code })).error, 'otp_expired', 403)
})

t.test('a code creates an account, unless none may be created', async (t) => {
  const supabase = client()
  const email = newAddress()
  const refused = await supabase.auth.signInWithOtp({ email, options: { shouldCreateUser: false } })
  fails(t, refused.error, 'otp_disabled', 422)
  t.equal((await supabase.auth.signInWithOtp({ email, options: { data: { full_name: 'Ada' } } })).error, null)
  const { code } = await sink.next(email)
  const { data } = await supabase.auth.verifyOtp({ type: 'email', email, token: code })
  t.match(data.user, { email, user_metadata: { full_name: 'Ada' }, app_metadata: { providers: ['email'] } })
})

t.test('a forgotten password is replaced', async (t) => {
  const { email } = await confirmedUser()
  const supabase = client()
  t.equal((await supabase.auth.resetPasswordForEmail(email)).error, null)
  const { code, subject } = await sink.next(email)
  t.equal(subject, 'Reset your password')
  t.equal((await supabase.auth.verifyOtp({ type: 'recovery', email, token: code })).error, null)
  t.equal((await supabase.auth.updateUser({ password: 'a new password' })).error, null)
  t.equal((await client().auth.signInWithPassword({ email, password: 'a new password' })).error, null)
  t.equal((await client().auth.resetPasswordForEmail('stranger@app.test')).error, null)
})

t.test('a changed password makes links invalid', async (t) => {
  const { supabase, email } = await confirmedUser()
  await client().auth.resetPasswordForEmail(email)
  const { link, code } = await sink.next(email)
  t.equal((await supabase.auth.updateUser({ password: 'a new password' })).error, null)
  t.match(fragmentOf(await follow(link)), { error_code: 'otp_expired' })
  fails(t, (await client().auth.verifyOtp({ type: 'recovery', email, token: code })).error, 'otp_expired', 403)
})

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

t.test('the mail of a sign-up is sent again', async (t) => {
  const supabase = client()
  const email = newAddress()
  await supabase.auth.signUp({ email, password })
  const first = await sink.next(email)
  t.equal((await supabase.auth.resend({ type: 'signup', email })).error, null)
  const second = await sink.next(email)
  t.not(first.id, second.id)
  fails(t, (await supabase.auth.verifyOtp({ type: 'signup', email, token: first.code })).error, 'otp_expired', 403)
  t.equal((await supabase.auth.verifyOtp({ type: 'signup', email, token: second.code })).error, null)
})

t.test('PKCE: the link leads to a code, and works with its token elsewhere', async (t) => {
  const { email } = await confirmedUser()
  const supabase = client({ flowType: 'pkce' })
  t.equal((await supabase.auth.signInWithOtp({ email })).error, null)
  const { link } = await sink.next(email)
  t.match(link, /token=pkce_[0-9a-f]{56}&/)
  const code = (await follow(link)).searchParams.get('code')
  t.match(code, /^[0-9a-f-]{36}$/)
  t.match(fragmentOf(await follow(link)), { error_code: 'otp_expired' })

  await supabase.auth.signInWithOtp({ email })
  const other = await sink.next(email)
  const byHash = { type: 'email' as const, token_hash: new URL(other.link).searchParams.get('token') ?? '' }
  t.equal((await client().auth.verifyOtp(byHash)).error, null, 'another device has no code verifier')
  await supabase.auth.signInWithOtp({ email })
  const { code: digits } = await sink.next(email)
  t.equal((await client().auth.verifyOtp({ type: 'email', email, token: digits })).error, null)
})

t.test('a code of a reauthentication is the nonce of a new password', async (t) => {
  const { supabase, email } = await confirmedUser()
  t.equal((await supabase.auth.reauthenticate()).error, null)
  const { subject, code } = await sink.next(email)
  t.equal(subject, `${code} is your code`)
  const strict = await startApplication(t, database.authenticatorUri, {
    ...env,
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

t.test('of two confirmations of one link, one wins', async (t) => {
  const { email } = await confirmedUser()
  await client().auth.signInWithOtp({ email })
  const { link, code } = await sink.next(email)
  const byLink = Array.from({ length: 10 }, async () => 'access_token' in fragmentOf(await follow(link)))
  const byCode = Array.from({ length: 10 }, async () => {
    const { status } = await ask('POST', '/verify', { body: { type: 'email', email, token: code } })
    return status === 200
  })
  const results = await Promise.all([...byLink, ...byCode])
  t.equal(results.filter((it) => it).length, 1)
})

t.test('a code has five tries, its link is not affected', async (t) => {
  const { email } = await confirmedUser()
  await client().auth.signInWithOtp({ email })
  const { link, code } = await sink.next(email)
  const guesses = Array.from({ length: 5 }, (_, index) =>
    String((Number(code) + index + 1) % 1_000_000).padStart(6, '0'),
  )
  await Promise.all(guesses.map((token) => ask('POST', '/verify', { body: { type: 'email', email, token } })))
  const right = await ask('POST', '/verify', { body: { type: 'email', email, token: code } })
  t.strictSame([right.status, codeOf(right)], [403, 'otp_expired'])
  t.ok('access_token' in fragmentOf(await follow(link)))
})

t.test('codes expire, belong to one address, and are not accepted from banned users', async (t) => {
  const { email } = await confirmedUser()
  const { email: other } = await confirmedUser()
  await client().auth.signInWithOtp({ email })
  const { code, link } = await sink.next(email)
  const foreign = await ask('POST', '/verify', { body: { type: 'email', email: other, token: code } })
  t.equal(codeOf(foreign), 'otp_expired')
  const wrongType = await ask('POST', '/verify', { body: { type: 'signup', email, token: code } })
  t.equal(codeOf(wrongType), 'otp_expired')
  await database.query(`update auth.users set banned_until = now() + interval '1 h' where email = '${email}'`)
  const banned = await ask('POST', '/verify', { body: { type: 'email', email, token: code } })
  t.strictSame([banned.status, codeOf(banned)], [403, 'user_banned'])
  await database.query(
    `update auth.users set banned_until = null, recovery_sent_at = now() - interval '2 days' where email = '${email}'`,
  )
  const late = await ask('POST', '/verify', { body: { type: 'email', email, token: code } })
  t.strictSame([late.status, codeOf(late)], [403, 'otp_expired'])
  t.match(fragmentOf(await follow(link)), { error_code: 'otp_expired' })
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

const errors: readonly (readonly [path: string, body: unknown, status: number, code: string, message: RegExp])[] = [
  ['/otp', {}, 400, 'validation_failed', /One of email or phone must be set/],
  ['/otp', { email: 'a@b.test', phone: '1234' }, 400, 'validation_failed', /Only an email address or phone/],
  ['/otp', { email: 'a@b.test', channel: 'sms' }, 400, 'validation_failed', /Channel should only/],
  ['/otp', { email: 'nobody' }, 400, 'validation_failed', /Unable to validate email address: invalid format/],
  ['/otp', { email: 'a@b.test\r\nBcc: c@d.test' }, 400, 'validation_failed', /invalid format/],
  ['/otp', { email: 'a@b.test', code_challenge: 'x' }, 400, 'validation_failed', /PKCE flow requires/],
  ['/otp', { phone: '15551234567' }, 400, 'phone_provider_disabled', /Unsupported phone provider/],
  ['/otp', { email: 1 }, 400, 'bad_json', /email/],
  ['/magiclink', {}, 422, 'validation_failed', /requires an email/],
  ['/recover', {}, 400, 'validation_failed', /Password recovery requires an email/],
  ['/recover', { email: 'x' }, 400, 'validation_failed', /invalid format/],
  ['/resend', { email: 'a@b.test' }, 400, 'validation_failed', /Missing one of these types/],
  ['/resend', { type: 'signup' }, 400, 'validation_failed', /requires an email address/],
  ['/resend', { type: 'sms' }, 400, 'validation_failed', /requires a phone number/],
  ['/resend', { type: 'email_change' }, 400, 'validation_failed', /Missing email address or phone number/],
  ['/resend', { type: 'sms', phone: '15551234567' }, 400, 'phone_provider_disabled', /Phone logins are disabled/],
  ['/verify', {}, 400, 'validation_failed', /requires a verification type/],
  ['/verify', { type: 'email' }, 400, 'validation_failed', /either a token or a token hash/],
  ['/verify', { type: 'email', token: '1', token_hash: '2' }, 400, 'validation_failed', /either a token/],
  ['/verify', { type: 'email', token: '1' }, 400, 'validation_failed', /Only an email address or phone number/],
  ['/verify', { type: 'email', token_hash: '1', email: 'a@b.test' }, 400, 'validation_failed', /Only the token_hash/],
  ['/verify', { type: 'sms', token_hash: '1' }, 400, 'validation_failed', /Invalid email verification type/],
  ['/verify', { type: 'email', token: '1', email: 'x' }, 422, 'validation_failed', /Invalid email format/],
  ['/verify', { type: 'email', token: '1', email: 'a@b.test' }, 403, 'otp_expired', /Token has expired or is invalid/],
  ['/verify', { type: 'email', token_hash: '1' }, 403, 'otp_expired', /Email link is invalid or has expired/],
  ['/verify', { type: 'nonsense', token: '1', email: 'a@b.test' }, 403, 'otp_expired', /Token has expired/],
  ['/invite', { email: 'a@b.test' }, 401, 'no_authorization', /./],
  ['/admin/generate_link', { email: 'a@b.test' }, 401, 'no_authorization', /./],
]

t.test('errors', async (t) => {
  for (const [path, body, status, code, message] of errors) {
    const answer = await ask('POST', path, { body })
    t.match(answer.body, { code: status, error_code: code, msg: message }, `${path} ${JSON.stringify(body)}`)
    t.equal(answer.status, status)
  }
  for (const query of ['', '?type=signup', '?token=x']) {
    t.match(await ask('GET', `/verify${query}`), { status: 400, body: { error_code: 'validation_failed' } })
  }
  t.match(await ask('GET', '/reauthenticate'), { status: 401, body: { error_code: 'no_authorization' } })
  const odd = await ask('GET', '/verify?type=sms&token=x')
  t.equal(odd.status, 303)
  t.match(odd.headers.get('location'), /^https:\/\/app\.test#error=invalid_request&error_code=validation_failed/)
  const wrong = { type: 'nonsense', email: newAddress() }
  t.match(await ask('POST', '/admin/generate_link', { body: wrong, token: serviceToken }), { status: 400 })
  t.equal((await ask('GET', '/dev/mailbox')).status, 404, 'the mailbox is for development only')
})

t.test('the limits are the same for strangers', async (t) => {
  const limited = await startApplication(t, database.authenticatorUri, { ...env, GOTRUE_SMTP_MAX_FREQUENCY: '1m' })
  const askLimited = askAuth(limited.url)
  const { email } = await confirmedUser()
  const stranger = newAddress()
  for (const path of ['/recover', '/resend']) {
    const body = path === '/resend' ? { type: 'signup' } : {}
    const answers = []
    for (const address of [email, stranger]) {
      const first = await askLimited('POST', path, { body: { ...body, email: address } })
      const second = await askLimited('POST', path, { body: { ...body, email: address } })
      answers.push([first.status, first.text, second.status, codeOf(second), second.headers.has('retry-after')])
      t.match(second.body.msg, /^For security purposes, you can only request this after \d+ seconds\.$/)
    }
    t.strictSame(answers[0], answers[1], path)
    t.strictSame(answers[0], [200, '{}', 429, 'over_email_send_rate_limit', true], path)
  }
  const phoned = await startApplication(t, database.authenticatorUri, { ...env, GOTRUE_EXTERNAL_PHONE_ENABLED: 'true' })
  for (const type of ['phone_change', 'phone_change', 'sms']) {
    const answer = await askAuth(phoned.url)('POST', '/resend', { body: { type, phone: '15550001111' } })
    t.match(answer, { status: 200, text: '{}' }, `${type}: there is nothing to send`)
  }
  const none = await startApplication(t, database.authenticatorUri, { ...env, GOTRUE_RATE_LIMIT_EMAIL_SENT: '0' })
  const refused = await askAuth(none.url)('POST', '/recover', { body: { email } })
  t.strictSame([refused.status, codeOf(refused)], [429, 'over_email_send_rate_limit'])
  t.match(refused.body.msg, /GOTRUE_RATE_LIMIT_EMAIL_SENT/)
})

t.test('with a button, opening the link uses up nothing', async (t) => {
  const buttoned = await startApplication(t, database.authenticatorUri, { ...env, GOTRUE_MAILER_VERIFY_BUTTON: 'true' })
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
  const phoned = await startApplication(t, database.authenticatorUri, {
    ...env,
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
