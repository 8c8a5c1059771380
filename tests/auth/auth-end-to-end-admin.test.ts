// `supabase.auth.admin` from a server, services that confirm addresses at once or refuse sign-ups, and what GoTrue
// refuses unless it is enabled.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { newAddress, password } from '../support/auth.ts'
import { codeOfApp } from '../support/second-factor.ts'
import { dataOf, follow, fragmentOf } from '../support/page-client.ts'
import { site, startSignInService } from '../support/sign-in-page.ts'

const service = await startSignInService(t, '')
const { ask, page, server, signedUp, sink, start } = service
const { admin } = server.auth

const listOf = async (pageNumber: number, perPage: number): Promise<{ users: unknown[]; total: number }> => {
  const data = dataOf(await admin.listUsers({ page: pageNumber, perPage }))
  return { users: data.users, total: 'total' in data ? data.total : 0 }
}

t.test('users: create, find, change, ban, delete', async (t) => {
  const email = newAddress()
  const { user } = dataOf(
    await admin.createUser({
      email,
      password,
      email_confirm: true,
      user_metadata: { full_name: 'Eve' },
      app_metadata: { plan: 'pro' },
    }),
  )
  t.match(user, {
    email,
    email_confirmed_at: String,
    user_metadata: { full_name: 'Eve' },
    app_metadata: { plan: 'pro', provider: 'email', providers: ['email'] },
    identities: [{ provider: 'email', email }],
  })
  t.match((await admin.createUser({ email, password })).error, { status: 422, code: 'email_exists' })
  t.match((await admin.createUser({})).error, { status: 400, code: 'validation_failed' })
  const own = page()
  dataOf(await own.auth.signInWithPassword({ email, password }))
  t.match((await own.auth.getClaims()).data?.claims.app_metadata, { plan: 'pro' })
  t.match(dataOf(await admin.getUserById(user.id)).user, { id: user.id, email })
  const nobody = await admin.getUserById(crypto.randomUUID())
  t.match(nobody.error, { status: 404, code: 'user_not_found' })
  const { users, total } = await listOf(1, 1)
  t.equal(users.length, 1)
  t.ok(total >= 1)
  const filtered = await ask('GET', `/admin/users?filter=${encodeURIComponent(email)}`, { token: service.secretKey })
  t.match(filtered.body, { users: [{ id: user.id }], aud: 'authenticated' })

  const changed = {
    user_metadata: { full_name: null, lang: 'en' },
    app_metadata: { plan: 'free' },
    role: 'authenticated',
  }
  const after = dataOf(await admin.updateUserById(user.id, changed)).user
  t.match(after, { user_metadata: { lang: 'en' }, app_metadata: { plan: 'free', provider: 'email' } })
  t.notOk('full_name' in after.user_metadata)
  const next = newAddress()
  t.match(dataOf(await admin.updateUserById(user.id, { email: next })).user, { email: next })
  t.match(dataOf(await admin.updateUserById(user.id, { password: 'set by the admin' })).user, { email: next })
  t.match((await own.auth.getUser()).error, { name: 'AuthSessionMissingError' }, 'all sessions have ended')
  dataOf(await own.auth.signInWithPassword({ email: next, password: 'set by the admin' }))

  t.match(dataOf(await admin.updateUserById(user.id, { ban_duration: '24h' })).user, { banned_until: String })
  const banned = { code: 'user_banned' }
  t.match((await page().auth.signInWithPassword({ email: next, password: 'set by the admin' })).error, banned)
  t.match((await own.auth.getUser()).error, { status: 403, ...banned })
  t.match((await own.auth.refreshSession()).error, { status: 400, ...banned })
  dataOf(await admin.updateUserById(user.id, { ban_duration: 'none' }))
  const session = dataOf(await page().auth.signInWithPassword({ email: next, password: 'set by the admin' })).session
  t.equal((await admin.signOut(session.access_token)).error, null)
  t.match((await page().auth.refreshSession({ refresh_token: session.refresh_token })).error, { status: 400 })

  t.match((await own.auth.admin.listUsers()).error, { name: 'AuthApiError' }, 'a page is not an administrator')
  t.match(await ask('GET', '/admin/users', { token: session.access_token }), { status: 403 })
  t.match(await ask('GET', '/admin/users'), { status: 401, body: { error_code: 'no_authorization' } })
  t.equal((await admin.deleteUser(user.id)).error, null)
  t.match((await admin.getUserById(user.id)).error, { code: 'user_not_found' })
  t.match((await admin.deleteUser(user.id)).error, { status: 404 })
  const { user: soft } = dataOf(await admin.createUser({ email, password, email_confirm: true }))
  t.equal((await admin.deleteUser(soft.id, true)).error, null)
  t.match(dataOf(await admin.getUserById(soft.id)).user, { deleted_at: String })
  t.notMatch(JSON.stringify(dataOf(await admin.getUserById(soft.id))), email)
  dataOf(await page().auth.signUp({ email, password }))
})

t.test('invitations and links', async (t) => {
  const invited = newAddress()
  const options = { data: { team: 'a' }, redirectTo: `${site}/join` }
  const { user } = dataOf(await admin.inviteUserByEmail(invited, options))
  t.match(user, { email: invited, invited_at: String, user_metadata: { team: 'a' } })
  const target = await follow((await sink.next(invited)).link)
  t.equal(`${target.origin}${target.pathname}`, `${site}/join`)
  const { access_token, refresh_token } = fragmentOf(target) as { access_token: string; refresh_token: string }
  const guest = page()
  dataOf(await guest.auth.setSession({ access_token, refresh_token }))
  dataOf(await guest.auth.updateUser({ password }))
  dataOf(await page().auth.signInWithPassword({ email: invited, password }))
  t.match((await admin.inviteUserByEmail(invited)).error, { status: 422, code: 'email_exists' })

  const email = newAddress()
  const signUp = dataOf(await admin.generateLink({ type: 'signup', email, password, options: { data: { a: 1 } } }))
  t.match(signUp.properties, {
    action_link: new RegExp(`^${service.url}/auth/v1/verify\\?token=\\w+&type=signup&redirect_to=`),
    email_otp: /^\d{6}$/,
    hashed_token: /^[0-9a-f]{56}$/,
    redirect_to: site,
    verification_type: 'signup',
  })
  t.match(signUp.user, { email, user_metadata: { a: 1 } })
  t.equal(sink.countTo(email), 0, 'no mail is sent')
  dataOf(await page().auth.verifyOtp({ type: 'signup', email, token: signUp.properties.email_otp }))
  for (const type of ['magiclink', 'recovery'] as const) {
    const { properties } = dataOf(await admin.generateLink({ type, email, options: { redirectTo: `${site}/${type}` } }))
    t.match(properties, { verification_type: type, redirect_to: `${site}/${type}` })
    t.match(fragmentOf(await follow(properties.action_link)), { access_token: String, type })
  }
  const recovery = dataOf(await admin.generateLink({ type: 'recovery', email })).properties
  const own = page()
  dataOf(await own.auth.verifyOtp({ type: 'recovery', token_hash: recovery.hashed_token }))
  const invite = dataOf(await admin.generateLink({ type: 'invite', email: newAddress() })).properties
  t.match(fragmentOf(await follow(invite.action_link)), { access_token: String, type: 'invite' })
  const newEmail = newAddress()
  const current = dataOf(await admin.generateLink({ type: 'email_change_current', email, newEmail })).properties
  const other = dataOf(await admin.generateLink({ type: 'email_change_new', email, newEmail })).properties
  t.equal(other.verification_type, 'email_change_new')
  const half = await own.auth.verifyOtp({ type: 'email_change', token_hash: current.hashed_token })
  t.equal(half.error, null)
  const { user: moved } = dataOf(await own.auth.verifyOtp({ type: 'email_change', token_hash: other.hashed_token }))
  t.equal(moved?.email, newEmail)
  t.match((await admin.generateLink({ type: 'recovery', email: newAddress() })).error, {
    status: 404,
    code: 'user_not_found',
  })
  t.match((await admin.generateLink({ type: 'signup', email: newEmail, password })).error, {
    status: 422,
    code: 'email_exists',
  })
})

t.test('the factors of users', async (t) => {
  const { page: own } = await signedUp()
  const { user } = dataOf(await own.auth.getUser())
  const factor = dataOf(await own.auth.mfa.enroll({ factorType: 'totp' }))
  dataOf(await own.auth.mfa.challengeAndVerify({ factorId: factor.id, code: codeOfApp(factor.totp) }))
  const { factors } = dataOf(await admin.mfa.listFactors({ userId: user.id }))
  t.match(factors, [{ id: factor.id, factor_type: 'totp', status: 'verified' }])
  t.equal((await admin.mfa.deleteFactor({ userId: user.id, id: factor.id })).error, null)
  t.strictSame(dataOf(await admin.mfa.listFactors({ userId: user.id })).factors, [])
})

t.test('where addresses are confirmed at once', async (t) => {
  const { url } = await start({ GOTRUE_MAILER_AUTOCONFIRM: 'true', GOTRUE_SMS_AUTOCONFIRM: 'true' })
  const own = page({ url })
  const email = newAddress()
  const { session, user } = dataOf(await own.auth.signUp({ email, password }))
  t.match(session, { access_token: String, refresh_token: String, user: { email, email_confirmed_at: String } })
  t.match((await own.auth.getClaims()).data?.claims.amr, [{ method: 'password' }])
  t.match((await page({ url }).auth.signUp({ email, password })).error, { status: 422, code: 'user_already_exists' })
  const next = newAddress()
  t.match(dataOf(await own.auth.updateUser({ email: next })).user, { email, new_email: next })
  const phone = '15557770001'
  t.match(dataOf(await page({ url }).auth.signUp({ phone, password })).session?.user, { phone })
  t.equal(dataOf(await page({ url }).auth.signInWithPassword({ phone, password })).user.phone, phone)
  const guest = page({ url })
  const anonymous = dataOf(await guest.auth.signInAnonymously()).user
  const permanent = newAddress()
  t.match(dataOf(await guest.auth.updateUser({ email: permanent, password })).user, {
    id: anonymous?.id,
    is_anonymous: false,
    app_metadata: { provider: 'email', providers: ['email'] },
    identities: [{ provider: 'email', email: permanent }],
  })
  const many = await Promise.all(
    Array.from({ length: 10 }, () =>
      page({ url }).auth.refreshSession({ refresh_token: session?.refresh_token ?? '' }),
    ),
  )
  t.equal(new Set(many.map(({ data }) => data.session?.refresh_token)).size, 1, 'concurrent refreshes give one token')
  t.ok(user)
})

t.test('where sign-up is disabled', async (t) => {
  const { url } = await start({ GOTRUE_DISABLE_SIGNUP: 'true', GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'false' })
  const { auth } = page({ url })
  const refused = { status: 422, code: 'signup_disabled', message: 'Signups not allowed for this instance' }
  t.match((await auth.signUp({ email: newAddress(), password })).error, refused)
  t.match((await auth.signInWithOtp({ email: newAddress() })).error, { status: 422, code: 'signup_disabled' })
  t.match((await auth.signInAnonymously()).error, { status: 422 })
})

t.test('what is not there', async (t) => {
  const { page: own } = await signedUp()
  t.match((await own.auth.signInWithSSO({ domain: 'x.test' })).error, { status: 404, code: 'saml_provider_disabled' })
  t.match(await ask('POST', '/passkeys/authentication/options'), {
    status: 404,
    body: { error_code: 'passkey_disabled' },
  })
  for (const [path, code] of [
    ['/admin/oauth/clients', 'feature_disabled'],
    ['/admin/custom-providers', 'feature_disabled'],
    ['/admin/sso/providers', 'saml_provider_disabled'],
    [`/admin/users/${randomUUID()}/passkeys`, 'user_not_found'],
  ] as const) {
    t.match(await ask('GET', path, { token: service.secretKey }), { status: 404, body: { error_code: code } })
    t.match(await ask('GET', path), { status: 401, body: { error_code: 'no_authorization' } })
  }
  t.match(await ask('GET', '/user/oauth/grants'), { status: 401, body: { error_code: 'no_authorization' } })
  t.match(await ask('POST', '/token?grant_type=web3', { body: { chain: 'solana', message: 'm', signature: 's' } }), {
    body: { error_code: 'web3_provider_disabled' },
  })
  t.match(await ask('POST', '/token?grant_type=magic', { body: {} }), { status: 400, body: { msg: /grant_type/ } })
  t.match(await ask('POST', '/signup', { text: '{' }), { status: 400, body: { error_code: 'bad_json' } })
  const large = JSON.stringify({ email: 'x'.repeat(1_100_000) })
  t.match(await ask('POST', '/signup', { text: large }), {
    status: 413,
    body: { error_code: 'request_entity_too_large' },
  })
  const headers = { 'X-Supabase-Api-Version': '2024-01-01' }
  const versioned = await ask('GET', '/user', { headers })
  t.strictSame(Object.keys(versioned.body).sort(), ['code', 'message'])
  t.equal(versioned.headers.get('x-supabase-api-version'), '2024-01-01')
  t.equal(versioned.headers.get('x-sb-error-code'), 'no_authorization')
})
