// One account, two doors: the cookie of /auth and the tokens of /auth/v1.
import t from 'tap'
import { decodeJwt } from 'jose'
import { createValidator } from '../../server/validation/validator.ts'
import { detailsOf, password, signIn, signUp } from '../support/account.ts'
import { startApplication } from '../support/application.ts'
import type { Answer } from '../support/call.ts'
import { askAuth } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { codeOfApp, enroll, raise, verify } from '../support/second-factor.ts'

const page = 'https://page.example'
const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { call, url } = await startApplication(t, database.authenticatorUri, {
  SESSION_SECRETS: 's'.repeat(32),
  SECURE_COOKIES: 'false',
  PGRST_SERVER_CORS_ALLOWED_ORIGINS: page,
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  AUTH_ADDRESS_LIMIT: '100000',
  GOTRUE_RATE_LIMIT_OTP: '100000',
})
const { forDto } = await createValidator()

type Tokens = { access_token: string; refresh_token: string; user: { id: string; identities?: object[] } }

const tokensOf = ({ body }: Answer): Tokens => body as Tokens
const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } })
const grant = (type: string, body: object): Promise<Answer> =>
  call('POST', `/auth/v1/token?grant_type=${type}`, { body })
const cookieOf = ({ cookie }: Answer) => ({ headers: { Cookie: cookie ?? '' } })

t.test('an account of one door signs in at the other', async (t) => {
  const ann = await signUp(call, 'ann@example.org')
  const signedIn = await grant('password', { email: 'ann@example.org', password })
  t.equal(signedIn.status, 200, signedIn.text)
  t.equal(tokensOf(signedIn).user.id, ann.id)
  t.match(tokensOf(signedIn).user, {
    email_confirmed_at: String,
    identities: [{ provider: 'email', identity_data: { email: 'ann@example.org', sub: ann.id } }],
    app_metadata: { provider: 'email', providers: ['email'] },
    user_metadata: { first_name: 'Test', full_name: 'Test' },
  })

  const body = { email: 'Bob@example.org', password, data: { first_name: 'Bob', last_name: 'Ross' } }
  const registered = await call('POST', '/auth/v1/signup', { body })
  t.equal(registered.status, 200, registered.text)
  const bob = await call('POST', '/auth/signin', { body: { email: 'bob@example.org', password } })
  t.strictSame(detailsOf(bob), {
    id: tokensOf(registered).user.id,
    email: 'bob@example.org',
    firstName: 'Bob',
    lastName: 'Ross',
    fullName: 'Bob Ross',
  })
  const profile = await database.query('select full_name, display_name from public.profiles where id = $1', [
    detailsOf(bob).id,
  ])
  t.strictSame(profile.rows, [{ full_name: 'Bob Ross', display_name: null }])

  const taken = { email: 'ann@example.org', password, firstName: 'X' }
  t.equal((await call('POST', '/auth/v1/signup', { body: taken })).status, 422)
  t.equal((await call('POST', '/auth/signup', { body: { ...taken, email: 'BOB@example.org' } })).status, 409)
})

t.test('sign-ins of an imported account at once all succeed, at both doors', async (t) => {
  const imported = 'imported password'
  for (const door of ['cookie', 'tokens'] as const) {
    const email = `imported-${door}@example.org`
    await signUp(call, email)
    const set =
      "update auth.users set encrypted_password = extensions.crypt($2, extensions.gen_salt('bf', 4)) where email = $1"
    await database.query(set, [email, imported])
    const body = { email, password: imported }
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        door === 'cookie' ? call('POST', '/auth/signin', { body }) : grant('password', body),
      ),
    )
    t.strictSame(
      answers.map(({ status }) => status),
      answers.map(() => 200),
      door,
    )
    const { rows } = await database.query('select encrypted_password from auth.users where email = $1', [email])
    t.match(rows[0], { encrypted_password: /^\$argon2id\$/ })
  }
})

t.test('sessions of both kinds are listed and ended at both doors', async (t) => {
  const cleo = await signUp(call, 'cleo@example.org')
  const tokens = tokensOf(await grant('password', { email: 'cleo@example.org', password }))
  const { session_id: id } = decodeJwt(tokens.access_token)
  type Listed = { id: string; hasCookie: boolean; expiresAt: string | null; current: boolean }
  const sessions = detailsOf<Listed[]>(await cleo.call('GET', '/auth/sessions'))
  for (const session of sessions) t.strictSame(forDto('urn:rowhouse:SessionDto')({ ...session }), [])
  t.strictSame(
    sessions.map(({ hasCookie, expiresAt, current }) => [hasCookie, expiresAt === null, current]),
    [
      [false, true, false],
      [true, false, true],
    ],
  )
  t.equal((await cleo.call('DELETE', `/auth/sessions/${String(id)}`)).status, 200)
  t.equal((await call('GET', '/auth/v1/user', bearer(tokens.access_token))).status, 403)
  t.equal((await grant('refresh_token', { refresh_token: tokens.refresh_token })).status, 400)

  const again = tokensOf(await grant('password', { email: 'cleo@example.org', password }))
  t.equal((await call('POST', '/auth/v1/logout?scope=global', bearer(again.access_token))).status, 204)
  t.equal((await cleo.call('GET', '/auth/me')).status, 401, 'the cookie is of a session that has ended')
})

t.test('a new password at one door ends the sessions of the other', async (t) => {
  const dan = await signUp(call, 'dan@example.org')
  const tokens = tokensOf(await grant('password', { email: 'dan@example.org', password }))
  const body = { currentPassword: password, password: 'battery staple' }
  t.equal((await dan.call('PATCH', '/auth/me', { body })).status, 200)
  t.equal((await grant('refresh_token', { refresh_token: tokens.refresh_token })).status, 400)
  const other = tokensOf(await grant('password', { email: 'dan@example.org', password: 'battery staple' }))
  const changed = await call('PUT', '/auth/v1/user', {
    ...bearer(other.access_token),
    body: { password: 'horse battery' },
  })
  t.equal(changed.status, 200, changed.text)
  t.equal((await dan.call('GET', '/auth/me')).status, 401)
  await signIn(call, 'dan@example.org', 'horse battery')
})

t.test('a page with the cookie gets tokens of the same session', async (t) => {
  const eve = await signUp(call, 'eve@example.org')
  const given = await eve.call('POST', '/auth/tokens')
  t.equal(given.status, 200, given.text)
  const tokens = detailsOf<Tokens>(given)
  t.strictSame(forDto('urn:rowhouse:TokenSessionDto')({ ...tokens }), [])
  t.match(decodeJwt(tokens.access_token), {
    sub: eve.id,
    role: 'authenticated',
    aal: 'aal1',
    amr: [{ method: 'password' }],
    email: 'eve@example.org',
  })
  const user = await call('GET', '/auth/v1/user', bearer(tokens.access_token))
  t.equal((user.body as { id: string }).id, eve.id)
  t.equal((await call('GET', '/rest/v1/profiles', bearer(tokens.access_token))).status, 200)

  const again = await Promise.all(Array.from({ length: 10 }, () => eve.call('POST', '/auth/tokens')))
  t.strictSame(new Set(again.map((answer) => detailsOf<Tokens>(answer).refresh_token)), new Set([tokens.refresh_token]))
  const refreshed = await grant('refresh_token', { refresh_token: tokens.refresh_token })
  t.equal(refreshed.status, 200, refreshed.text)
  t.equal(detailsOf<Tokens>(await eve.call('POST', '/auth/tokens')).refresh_token, tokensOf(refreshed).refresh_token)
  t.equal(detailsOf<object[]>(await eve.call('GET', '/auth/sessions')).length, 1, 'it is one session')

  t.equal((await eve.call('POST', '/auth/signout')).status, 200)
  t.equal((await grant('refresh_token', { refresh_token: tokensOf(refreshed).refresh_token })).status, 400)
  t.equal((await eve.call('POST', '/auth/tokens')).status, 401)
})

t.test('a page with tokens gets a cookie of the same session', async (t) => {
  await signUp(call, 'fay@example.org')
  const tokens = tokensOf(await grant('password', { email: 'fay@example.org', password }))
  const given = await call('POST', '/auth/session', bearer(tokens.access_token))
  t.equal(given.status, 201, given.text)
  t.strictSame(detailsOf(given), { id: tokens.user.id, email: 'fay@example.org', firstName: 'Test' })
  t.equal((await call('GET', '/auth/me', cookieOf(given))).status, 200)
  t.equal((await call('GET', '/report', cookieOf(given))).status, 200)

  const second = await call('POST', '/auth/session', {
    headers: { Authorization: `Bearer ${tokens.access_token}`, Cookie: given.cookie ?? '' },
  })
  t.equal(second.status, 201)
  t.equal((await call('GET', '/auth/me', cookieOf(second))).status, 200, 'its own session is not ended')
  t.equal((await call('GET', '/auth/me', cookieOf(given))).status, 401, 'the new cookie replaces the old one')

  const other = await signUp(call, 'other@example.org')
  const third = await call('POST', '/auth/session', {
    headers: { Authorization: `Bearer ${tokens.access_token}`, Cookie: other.cookie },
  })
  t.equal(third.status, 201)
  t.equal((await other.call('GET', '/auth/me')).status, 401, 'the session of another account is ended')

  t.equal((await call('POST', '/auth/v1/logout?scope=local', bearer(tokens.access_token))).status, 204)
  t.equal((await call('GET', '/auth/me', cookieOf(third))).status, 401)
  t.equal((await call('POST', '/auth/session', bearer(tokens.access_token))).status, 401)
})

t.test('who gets no cookie for a token', async (t) => {
  const anonymous = tokensOf(await call('POST', '/auth/v1/signup', { body: {} }))
  await signUp(call, 'gus@example.org')
  const gus = tokensOf(await grant('password', { email: 'gus@example.org', password }))
  const [head = '', payload = '', signature = ''] = gus.access_token.split('.')
  const claims = { ...decodeJwt(gus.access_token), sub: anonymous.user.id }
  const forged = [head, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.')
  const unsigned = [Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url'), payload, ''].join('.')
  for (const [name, headers, status] of [
    ['anonymous', bearer(anonymous.access_token).headers, 403],
    ['no token', {}, 401],
    ['a forged token', bearer(forged).headers, 401],
    ['an unsigned token', bearer(unsigned).headers, 401],
    ['another scheme', { Authorization: 'Basic YTpi' }, 401],
    ['a page of another site', { ...bearer(gus.access_token).headers, Origin: 'https://evil.example' }, 403],
  ] as const) {
    const given = await call('POST', '/auth/session', { headers })
    t.equal(given.status, status, `${name}: ${given.text}`)
    t.equal(given.cookie, undefined, name)
  }
  const mallory = await signUp(call, 'mallory@example.org')
  const evil = { headers: { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' } }
  t.equal((await mallory.call('POST', '/auth/tokens', evil)).status, 403)
  t.equal((await call('POST', '/auth/tokens')).status, 401)

  await database.query("update auth.users set banned_until = now() + interval '1 hour' where id = $1", [gus.user.id])
  t.equal((await call('POST', '/auth/session', bearer(gus.access_token))).status, 401, 'banned')
})

t.test('a second factor counts at both doors', async (t) => {
  const ask = askAuth(url)
  const kay = await signUp(call, 'kay@example.org')
  const tokens = detailsOf<Tokens>(await kay.call('POST', '/auth/tokens'))
  const factor = await enroll(ask, tokens.access_token)
  const levelOf = ({ access_token: token }: Tokens) => decodeJwt(token).aal
  t.equal((await verify(ask, tokens.access_token, factor, codeOfApp(factor))).status, 200)
  const raised = detailsOf<Tokens>(await kay.call('POST', '/auth/tokens'))
  t.match(decodeJwt(raised.access_token), { aal: 'aal2', amr: [{ method: 'totp' }, { method: 'password' }] })
  t.match(decodeJwt(detailsOf<Tokens>(await kay.call('POST', '/auth/token')).access_token), { aal: 'aal2' })

  // The password alone gives a session without the factor, which may not change or delete the account.
  const again = await signIn(call, kay.email)
  const low = detailsOf<Tokens>(await again.call('POST', '/auth/tokens'))
  t.equal(levelOf(low), 'aal1')
  const changes = [
    ['PATCH', { currentPassword: password, password: 'another password' }],
    ['PATCH', { currentPassword: password, email: 'mallory@evil.example' }],
    ['DELETE', { password }],
  ] as const
  for (const [method, body] of changes) {
    const refused = await again.call(method, '/auth/me', { body })
    t.match(refused, { status: 403, body: { message: /second factor/ } }, `${method} ${refused.text}`)
  }
  const atTokens = await ask('PUT', '/user', { token: low.access_token, body: { password: 'another password' } })
  t.match(atTokens, { status: 401, body: { error_code: 'insufficient_aal' } }, 'as at the other door')

  // A cookie for a token has the level of its session, and follows it.
  const given = await call('POST', '/auth/session', bearer(low.access_token))
  const cookie = cookieOf(given)
  t.equal(levelOf(detailsOf<Tokens>(await call('POST', '/auth/tokens', cookie))), 'aal1')
  await database.query('update auth.mfa_factors set last_totp_step = null')
  t.equal((await verify(ask, low.access_token, factor, codeOfApp(factor))).status, 200)
  t.equal(levelOf(detailsOf<Tokens>(await call('POST', '/auth/tokens', cookie))), 'aal2')
  const changed = await call('PATCH', '/auth/me', {
    ...cookie,
    body: { currentPassword: password, password: 'another password' },
  })
  t.equal(changed.status, 200, changed.text)

  const current = detailsOf<Tokens>(await call('POST', '/auth/tokens', cookie))
  t.equal((await ask('DELETE', `/factors/${factor.id}`, { token: current.access_token })).status, 200)
  t.equal(levelOf(detailsOf<Tokens>(await call('POST', '/auth/tokens', cookie))), 'aal1', 'it falls back at both')
  t.equal((await raise(ask, current.access_token)).session.user.id, kay.id)
  t.equal((await call('DELETE', '/auth/me', { ...cookie, body: { password: 'another password' } })).status, 200)
})

t.test('a page of an allowed origin may use both exchanges', async (t) => {
  const preflight = await call('OPTIONS', '/auth/session', {
    headers: {
      Origin: page,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization',
    },
  })
  t.equal(preflight.status, 204)
  t.match(preflight.headers.get('access-control-allow-headers'), /Authorization/)
})

t.test('both doors write the audit log', async (t) => {
  const ivy = await signUp(call, 'ivy@example.org')
  await grant('password', { email: 'ivy@example.org', password })
  await ivy.call('POST', '/auth/signout')
  const { rows } = await database.query(
    `select payload ->> 'action' as action, payload ->> 'log_type' as type, ip_address <> '' as has_address
     from auth.audit_log_entries where payload ->> 'actor_username' = 'ivy@example.org' order by created_at, action`,
  )
  t.strictSame(
    rows.map(({ action, type }) => `${String(type)} ${String(action)}`),
    ['team user_signedup', 'account login', 'account login', 'account logout'],
  )
  t.ok(rows.every(({ has_address: has }) => has === true))
})
