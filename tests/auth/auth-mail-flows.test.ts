// Sign-in by mail with supabase-js, against a mail server of the test: sign-up, links, codes, forgotten passwords.
import t, { type Test } from 'tap'
import { newAddress, password } from '../support/auth.ts'
import { cookieSettings, startMailingService } from '../support/mailing-service.ts'
import { follow, fragmentOf, pageClient, signUpByMail, type FlowType } from '../support/page-client.ts'

const { sink, url } = await startMailingService(t, cookieSettings)

const client = ({ flowType }: { readonly flowType?: FlowType } = {}) => pageClient(url, 'anon', flowType)

/** Signs up and confirms the address. */
const confirmedUser = async (supabase = client()) => ({ supabase, email: await signUpByMail(supabase, sink) })

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

t.test('only the owner learns of a second sign-up with the address', async (t) => {
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
