// What the pages of an application do with `supabase.auth`, in the order in which their users see them.
import t from 'tap'
import { decodeProtectedHeader } from 'jose'
import { newAddress, password } from '../support/auth.ts'
import { notesProject } from '../support/notes-project.ts'
import { dataOf, follow, fragmentOf } from '../support/page-client.ts'
import { site, startSignInService } from '../support/sign-in-page.ts'

const { ask, database, page, signedUp, sink, url } = await startSignInService(t, notesProject)
const invalid = { status: 400, code: 'invalid_credentials', message: 'Invalid login credentials' }
const expired = { status: 403, code: 'otp_expired', message: 'Token has expired or is invalid' }

t.test('what a page reads before sign-in', async (t) => {
  t.match((await ask('GET', '/health')).body, { version: String, name: 'GoTrue', description: String })
  const { body: settings } = await ask('GET', '/settings')
  t.match(settings, {
    external: { email: true, phone: true, anonymous_users: true, google: false },
    disable_signup: false,
    mailer_autoconfirm: false,
    phone_autoconfirm: false,
    saml_enabled: false,
  })
  const { body: keys } = await ask('GET', '/.well-known/jwks.json')
  t.match(keys, { keys: [{ kid: 'one', alg: 'ES256', kty: 'EC', crv: 'P-256', key_ops: ['verify'] }] })
  t.notMatch(JSON.stringify(keys), '"d"')
  const { body: document } = await ask('GET', '/.well-known/openid-configuration')
  t.match(document, { jwks_uri: `${url}/auth/v1/.well-known/jwks.json` })
  const { auth } = page()
  t.equal(dataOf(await auth.getSession()).session, null)
  t.match((await auth.getUser()).error, { name: 'AuthSessionMissingError' })
})

t.test('sign-up, confirmed by the link in the mail', async (t) => {
  const { auth } = page()
  const email = newAddress()
  t.match((await auth.signUp({ email, password: '12345' })).error, {
    status: 422,
    code: 'weak_password',
    reasons: ['length'],
  })
  t.match((await auth.signUp({ email: 'nobody', password })).error, { status: 400, code: 'validation_failed' })
  t.match((await auth.signUp({ email, password: 'x'.repeat(73) })).error, { status: 400, code: 'validation_failed' })
  const options = { emailRedirectTo: `${site}/welcome`, data: { full_name: 'Ada' } }
  const { user, session } = dataOf(await auth.signUp({ email: email.toUpperCase(), password, options }))
  t.equal(session, null)
  t.match(user, {
    aud: 'authenticated',
    role: 'authenticated',
    email,
    phone: '',
    confirmation_sent_at: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/,
    app_metadata: { provider: 'email', providers: ['email'] },
    identities: [{ id: user?.id, identity_id: String, user_id: user?.id, provider: 'email', email }],
    is_anonymous: false,
  })
  t.strictSame(user?.user_metadata, { full_name: 'Ada' })
  t.notOk(user?.email_confirmed_at)
  t.match((await auth.signInWithPassword({ email, password })).error, { status: 400, code: 'email_not_confirmed' })
  t.match((await auth.signInWithPassword({ email, password: 'wrong' })).error, invalid)
  const mail = await sink.next(email)
  t.match(mail.text, mail.code, 'the mail has the code, too')
  t.equal((await fetch(mail.link, { method: 'HEAD', redirect: 'manual' })).ok, true, 'HEAD uses up nothing')
  const target = await follow(mail.link)
  t.equal(`${target.origin}${target.pathname}`, `${site}/welcome`)
  const fragment = fragmentOf(target)
  t.match(fragment, { access_token: String, token_type: 'bearer', expires_in: '3600', type: 'signup' })
  const { access_token, refresh_token } = fragment as { access_token: string; refresh_token: string }
  t.match(dataOf(await auth.setSession({ access_token, refresh_token })).user, { email, email_confirmed_at: String })
  t.match(fragmentOf(await follow(mail.link)), { error: 'access_denied', error_code: 'otp_expired' })
  const { issuer } = (await ask('GET', '/.well-known/openid-configuration')).body
  t.match((await auth.getClaims()).data?.claims, {
    ...{ iss: String(issuer), sub: user?.id, aud: 'authenticated', role: 'authenticated', email, phone: '' },
    ...{ aal: 'aal1', amr: [{ method: 'otp', timestamp: Number }], is_anonymous: false, session_id: String },
    ...{ app_metadata: { provider: 'email' }, user_metadata: { full_name: 'Ada', email_verified: true } },
  })
  t.match(decodeProtectedHeader(access_token), { alg: 'ES256', kid: 'one', typ: 'JWT' })
  const { rows } = await database.query('select name from public.members where id = $1', [user?.id])
  t.strictSame(rows, [{ name: 'Ada' }], 'the trigger has run')

  const again = dataOf(await page().auth.signUp({ email, password: 'another password' }))
  t.strictSame(again.user?.identities, [])
  t.not(again.user?.id, user?.id)
  t.match(await sink.next(email), { to: email }, 'the owner gets a mail')
  t.match((await auth.signInWithPassword({ email, password: 'another password' })).error, invalid)
})

t.test('sign-up, confirmed by a code that was sent again', async (t) => {
  const { auth } = page()
  const email = newAddress()
  dataOf(await auth.signUp({ email, password }))
  const first = await sink.next(email)
  t.equal((await auth.resend({ type: 'signup', email })).error, null)
  const second = await sink.next(email)
  const outdated = first.code === second.code ? '000000' : first.code
  t.match((await auth.verifyOtp({ type: 'email', email, token: outdated })).error, expired)
  const events: string[] = []
  auth.onAuthStateChange((event) => void events.push(event))
  t.match(dataOf(await auth.verifyOtp({ type: 'signup', email, token: second.code })).session, {
    access_token: String,
    token_type: 'bearer',
    expires_in: 3600,
    expires_at: Number,
    refresh_token: /^[a-z0-9]{12}$/,
    user: { email },
  })
  t.equal(events.at(-1), 'SIGNED_IN')
  t.match((await auth.verifyOtp({ type: 'signup', email, token: second.code })).error, expired)
  t.equal((await auth.resend({ type: 'signup', email })).error, null, 'a confirmed address gets the same answer')
  t.equal((await auth.resend({ type: 'signup', email: newAddress() })).error, null, 'and an unknown one')
})

t.test('password, user, rows of the user, refresh, sign-out', async (t) => {
  const { page: first, email } = await signedUp()
  const second = page()
  const { session, user } = dataOf(await second.auth.signInWithPassword({ email: ` ${email}`.trim(), password }))
  t.match(user, { email, last_sign_in_at: String, identities: [{ provider: 'email' }] })
  t.match((await page().auth.signInWithPassword({ email: newAddress(), password })).error, invalid)
  t.equal((await second.from('notes').insert({ text: 'mine' })).error, null)
  t.strictSame((await first.from('notes').select('text')).data, [{ text: 'mine' }])
  const { page: stranger } = await signedUp()
  t.strictSame((await stranger.from('notes').select('text')).data, [])
  t.match((await page().from('notes').select('text')).error, { code: '42501' })

  const { user: updated } = dataOf(await second.auth.updateUser({ data: { theme: 'dark', list: [1], gone: 1 } }))
  t.match(updated.user_metadata, { theme: 'dark', list: [1], gone: 1 })
  const { user: merged } = dataOf(await second.auth.updateUser({ data: { theme: 'light', gone: null } }))
  t.match(merged.user_metadata, { theme: 'light', list: [1] })
  t.notOk('gone' in merged.user_metadata)
  const forged = await ask('PUT', '/user', { token: session.access_token, body: { app_metadata: { role: 'admin' } } })
  t.match(forged, { status: 403, body: { error_code: 'not_admin' } })

  const refreshed = dataOf(await second.auth.refreshSession()).session
  t.not(refreshed?.refresh_token, session.refresh_token)
  t.match(refreshed?.user, { user_metadata: { theme: 'light' } })
  const parent = dataOf(await page().auth.refreshSession({ refresh_token: session.refresh_token })).session
  t.equal(parent?.refresh_token, refreshed?.refresh_token, 'the parent of the active token gives the active one')
  t.match((await page().auth.refreshSession({ refresh_token: 'aaaaaaaaaaaa' })).error, {
    status: 400,
    code: 'refresh_token_not_found',
  })
  t.match(await ask('GET', '/user', { token: 'a.b.c' }), { status: 403, body: { error_code: 'bad_jwt' } })
  t.match(await ask('GET', '/user'), { status: 401, body: { error_code: 'no_authorization' } })

  t.equal((await second.auth.signOut({ scope: 'others' })).error, null)
  t.match((await first.auth.getUser()).error, { name: 'AuthSessionMissingError' })
  t.equal(dataOf(await second.auth.getUser()).user.email, email)
  dataOf(await first.auth.signInWithPassword({ email, password }))
  t.equal((await first.auth.signOut({ scope: 'local' })).error, null)
  t.equal(dataOf(await first.auth.getSession()).session, null)
  t.equal(dataOf(await second.auth.getUser()).user.email, email)
  const last = dataOf(await second.auth.getSession()).session
  t.equal((await second.auth.signOut()).error, null)
  t.match(await ask('GET', '/user', { token: last?.access_token }), {
    status: 403,
    body: { error_code: 'session_not_found' },
  })
  t.match((await page().auth.refreshSession({ refresh_token: last?.refresh_token ?? '' })).error, {
    code: 'refresh_token_not_found',
  })
})

t.test('a forgotten password, and a new one', async (t) => {
  const { page: other, email } = await signedUp()
  t.equal((await page().auth.resetPasswordForEmail(newAddress())).error, null, 'no stranger is revealed')
  const { auth } = page({ flowType: 'pkce' })
  dataOf(await auth.resetPasswordForEmail(email, { redirectTo: 'https://a.preview.test/new/password' }))
  const mail = await sink.next(email)
  t.match(mail.link, 'token=pkce_')
  const target = await follow(mail.link)
  t.match(target.href, /^https:\/\/a\.preview\.test\/new\/password\?code=[\w-]+$/)
  const code = target.searchParams.get('code') ?? ''
  t.match((await page({ flowType: 'pkce' }).auth.exchangeCodeForSession(code)).error, {
    name: 'AuthPKCECodeVerifierMissingError',
  })
  const stolen = { auth_code: code, code_verifier: 'v'.repeat(43) }
  t.match(await ask('POST', '/token?grant_type=pkce', { body: stolen }), {
    status: 400,
    body: { error_code: 'bad_code_verifier' },
  })
  const events: string[] = []
  auth.onAuthStateChange((event) => void events.push(event))
  t.equal(dataOf(await auth.exchangeCodeForSession(code)).user.email, email)
  t.equal(events.at(-1), 'PASSWORD_RECOVERY')
  const used = await ask('POST', '/token?grant_type=pkce', { body: stolen })
  t.match(used, { status: 404, body: { error_code: 'flow_state_not_found' } })
  t.match((await auth.updateUser({ password })).error, { status: 422, code: 'same_password' })
  t.match((await auth.updateUser({ password: '1' })).error, { status: 422, code: 'weak_password' })
  t.match(dataOf(await auth.updateUser({ password: 'a new password' })).user, { email })
  t.match((await other.auth.getUser()).error, { name: 'AuthSessionMissingError' }, 'other sessions have ended')
  t.match((await page().auth.signInWithPassword({ email, password })).error, invalid)
  dataOf(await page().auth.signInWithPassword({ email, password: 'a new password' }))
  t.equal((await auth.reauthenticate()).error, null)
  const nonce = (await sink.next(email)).code
  t.equal((await auth.updateUser({ password: 'a third password', nonce })).error, null)

  const device = page()
  dataOf(await auth.resetPasswordForEmail(email))
  const { code: otp } = await sink.next(email)
  t.equal(dataOf(await device.auth.verifyOtp({ type: 'recovery', email, token: otp })).user?.email, email)
  const outside = await page().auth.resetPasswordForEmail(email, { redirectTo: 'https://evil.test/' })
  t.equal(outside.error, null)
  t.equal((await follow((await sink.next(email)).link)).host, new URL(site).host, 'no redirect to other sites')
})

t.test('sign-in by code and by link', async (t) => {
  const { auth } = page()
  const email = newAddress()
  const never = { shouldCreateUser: false }
  t.match((await auth.signInWithOtp({ email, options: never })).error, { status: 422, code: 'otp_disabled' })
  const sent = dataOf(await auth.signInWithOtp({ email, options: { data: { full_name: 'Otto' } } }))
  t.match(sent, { user: null, session: null })
  const first = await sink.next(email)
  t.match((await auth.verifyOtp({ type: 'email', email, token: '12345' })).error, expired)
  const { user } = dataOf(await auth.verifyOtp({ type: 'email', email, token: first.code }))
  t.match(user, { email, email_confirmed_at: String, user_metadata: { full_name: 'Otto' } })
  dataOf(await auth.signInWithOtp({ email, options: { ...never, emailRedirectTo: `${site}/home?tab=1` } }))
  const target = await follow((await sink.next(email)).link)
  t.equal(`${target.origin}${target.pathname}${target.search}`, `${site}/home?tab=1`)
  t.match(fragmentOf(target), { access_token: String, refresh_token: String, type: 'magiclink' })
  dataOf(await auth.signInWithOtp({ email }))
  const { link } = await sink.next(email)
  const tokenHash = new URL(link).searchParams.get('token') ?? ''
  const byHash = await page().auth.verifyOtp({ type: 'email', token_hash: tokenHash })
  t.equal(dataOf(byHash).user?.id, user?.id)
  t.match((await page().auth.verifyOtp({ type: 'email', token_hash: tokenHash })).error, {
    ...expired,
    message: 'Email link is invalid or has expired',
  })
})
