// `/auth/v1`: sign-up, sign-in with a password, refresh, user and sign-out, request by request.
import { hash as bcryptHash } from '@node-rs/bcrypt'
import t from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { startApplication } from '../support/application.ts'
import {
  askAuth,
  claimsOf,
  codeOf,
  newAddress,
  password,
  passwordGrant,
  refreshGrant,
  sessionOf,
  signUp,
  type Json,
} from '../support/auth.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { url, call, logged } = await startApplication(t, database.authenticatorUri, {
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_SMS_AUTOCONFIRM: 'true',
  GOTRUE_EXTERNAL_PHONE_ENABLED: 'true',
  GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  API_EXTERNAL_URL: 'https://example.org/auth/v1',
  SESSION_SECRETS: 's'.repeat(32),
  GOTRUE_PASSWORD_REQUIRED_CHARACTERS: 'abcdefghijklmnopqrstuvwxyz',
})
const ask = askAuth(url)
const later = '2024-01-01'

t.test('sign-up returns a session with the claims of the contract', async (t) => {
  const email = newAddress()
  const session = await signUp(ask, email.toUpperCase(), { full_name: 'Ada Lovelace', big: 1 })
  const { user } = session
  t.match(session, { token_type: 'bearer', expires_in: 3600, refresh_token: /^[a-z0-9]{12}$/ })
  t.match(user, {
    aud: 'authenticated',
    role: 'authenticated',
    email,
    phone: '',
    email_confirmed_at: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/,
    confirmed_at: String,
    last_sign_in_at: String,
    app_metadata: { provider: 'email', providers: ['email'] },
    user_metadata: { full_name: 'Ada Lovelace', email_verified: true },
    identities: [{ provider: 'email', id: user.id, user_id: user.id, email, identity_data: { email, sub: user.id } }],
    is_anonymous: false,
  })
  t.notOk('factors' in user)
  const claims = claimsOf(session)
  t.strictSame(Object.keys(claims), [
    ...['iss', 'sub', 'aud', 'exp', 'iat', 'email', 'phone', 'app_metadata', 'user_metadata', 'role', 'aal', 'amr'],
    ...['session_id', 'is_anonymous'],
  ])
  t.match(claims, {
    iss: 'https://example.org/auth/v1',
    sub: user.id,
    aud: 'authenticated',
    email,
    phone: '',
    role: 'authenticated',
    aal: 'aal1',
    amr: [{ method: 'password', timestamp: Number }],
    is_anonymous: false,
  })
  t.equal((claims.exp ?? 0) - (claims.iat ?? 0), 3600)
  t.equal(claims.exp, session.expires_at)
  const { rows } = await database.query('select encrypted_password, aud from auth.users where id = $1', [user.id])
  t.match(rows[0], { encrypted_password: /^\$argon2id\$/, aud: 'authenticated' })
})

t.test('bodies that are refused', async (t) => {
  const email = newAddress()
  await signUp(ask, email)
  const rows: readonly (readonly [string, string, Json | string, number, string, RegExp])[] = [
    ['POST', '/signup', { email, password }, 422, 'user_already_exists', /already registered/],
    ['POST', '/signup', { email: 'x@example.org' }, 400, 'validation_failed', /requires a valid password/],
    ['POST', '/signup', { email: 'x@example.org', password: 'a1' }, 422, 'weak_password', /at least 6/],
    ['POST', '/signup', { email: 'x@example.org', password: '123456' }, 422, 'weak_password', /each/],
    [
      'POST',
      '/signup',
      { email: 'x@example.org', password: 'x'.repeat(73) },
      400,
      'validation_failed',
      /longer than 72/,
    ],
    ['POST', '/signup', { email: 'no address', password }, 400, 'validation_failed', /invalid format/],
    ['POST', '/signup', { email: `${'x'.repeat(250)}@example.org`, password }, 400, 'validation_failed', /too long/],
    ['POST', '/signup', { phone: '12 x', password }, 400, 'validation_failed', /E\.164/],
    ['POST', '/signup', { phone: '+1555000', password, channel: 'fax' }, 400, 'validation_failed', /channel/],
    ['POST', '/signup', { email, phone: '15550001', password }, 400, 'validation_failed', /Only an email/],
    ['POST', '/signup', { email, password, code_challenge: 'x' }, 400, 'validation_failed', /PKCE/],
    ['POST', '/signup', '{"email": 1, "password": "x"}', 400, 'bad_json', /JSON/],
    ['POST', '/signup', '{"email": ', 400, 'bad_json', /JSON/],
    ['POST', '/signup', '[]', 400, 'bad_json', /JSON/],
    ['POST', '/signup', '{"data": {"a": "\\u0000"}}', 400, 'validation_failed', /NUL/],
    ['POST', '/token?grant_type=password', { email, password: 'wrong' }, 400, 'invalid_credentials', /^Invalid login/],
    [
      'POST',
      '/token?grant_type=password',
      { email: 'who@example.org', password },
      400,
      'invalid_credentials',
      /^Invalid/,
    ],
    ['POST', '/token?grant_type=password', { password }, 400, 'validation_failed', /missing email or phone/],
    ['POST', '/token?grant_type=password', { email, phone: '1', password }, 400, 'validation_failed', /Only an email/],
    ['POST', '/token?grant_type=refresh_token', { refresh_token: 'short' }, 400, 'validation_failed', /not valid/],
    ['POST', '/token?grant_type=refresh_token', {}, 400, 'validation_failed', /not valid/],
    [
      'POST',
      '/token?grant_type=refresh_token',
      { refresh_token: 'a'.repeat(12) },
      400,
      'refresh_token_not_found',
      /Not Found/,
    ],
    ['POST', '/token?grant_type=web3', {}, 422, 'web3_provider_disabled', /disabled/],
    ['POST', '/token?grant_type=magic', {}, 400, 'invalid_credentials', /unsupported_grant_type/],
    ['POST', '/token', {}, 400, 'invalid_credentials', /unsupported_grant_type/],
    ['POST', '/passkeys/authentication/options', {}, 404, 'passkey_disabled', /disabled/],
    ['POST', '/sso', {}, 404, 'saml_provider_disabled', /disabled/],
    ['GET', '/oauth/authorize', '', 404, 'feature_disabled', /disabled/],
  ]
  for (const [method, path, body, status, code, message] of rows) {
    const sent = method === 'GET' ? {} : typeof body === 'string' ? { text: body } : { body }
    const label = `${path} ${JSON.stringify(body).slice(0, 60)}`
    const older = await ask(method, path, sent)
    t.match(older, { status, body: { code: status, error_code: code, msg: message } }, label)
    t.equal(older.headers.get('x-sb-error-code'), code, label)
    t.equal(older.headers.get('x-supabase-api-version'), null)
    const newer = await ask(method, path, { ...sent, headers: { 'X-Supabase-Api-Version': later } })
    t.match(newer, { status, body: { code, message } }, label)
    t.equal(newer.headers.get('x-supabase-api-version'), later)
  }
  const weak = await ask('POST', '/signup', { body: { email: newAddress(), password: '1' } })
  t.match(weak.body, { weak_password: { reasons: ['length', 'characters'] } })
})

t.test('large bodies, unknown paths and methods', async (t) => {
  const large = await ask('POST', '/signup', { text: JSON.stringify({ email: 'x', more: 'x'.repeat(1024 * 1024) }) })
  t.match(large, { status: 413, body: { error_code: 'request_entity_too_large' } })
  t.match(await ask('GET', '/nowhere'), { status: 404, body: { code: 404, msg: 'Not Found' } })
  const method = await ask('GET', '/signup')
  t.match(method, { status: 405, body: { code: 405 } })
  t.equal(method.headers.get('allow'), 'POST')
  const preflight = await fetch(`${url}/auth/v1/token`, {
    method: 'OPTIONS',
    headers: { Origin: 'https://app.example', 'Access-Control-Request-Method': 'POST' },
  })
  t.equal(preflight.status, 204)
  t.equal(preflight.headers.get('access-control-allow-origin'), '*')
  t.match(preflight.headers.get('access-control-allow-headers'), /apikey.*X-Supabase-Api-Version/)
  t.equal((await call('get', '/auth/me')).status, 401, 'the cookie door is still there')
})

t.test('sign-in with a password, and the same account at the cookie door', async (t) => {
  const email = newAddress()
  const { user } = await signUp(ask, email)
  const session = sessionOf(await passwordGrant(ask, email.toUpperCase()))
  t.equal(session.user.id, user.id)
  t.notOk('weak_password' in session)
  const door = await call('post', '/auth/signin', { body: { email, password } })
  t.match(door, { status: 200, body: { details: { id: user.id, email } } })
  const phone = sessionOf(await ask('POST', '/signup', { body: { phone: '+1 555 0002', password } }))
  t.match(phone.user, { phone: '15550002', email: '', phone_confirmed_at: String, app_metadata: { provider: 'phone' } })
  const again = sessionOf(await ask('POST', '/token?grant_type=password', { body: { phone: '15550002', password } }))
  t.equal(again.user.id, phone.user.id)
})

t.test('hashes of seeds verify, and are replaced by ours; rules that came later are told', async (t) => {
  const email = newAddress()
  // As crypt(…, gen_salt('bf')) does it, in a seed with NULL tokens and no instance_id.
  const seeded = (await bcryptHash('12345', 4)).replace('$2b$', '$2a$')
  await database.query(
    `insert into auth.users (id, aud, role, email, encrypted_password, email_confirmed_at, created_at, updated_at,
       raw_app_meta_data, raw_user_meta_data)
     values (gen_random_uuid(), 'authenticated', 'authenticated', $1, $2, now(), now(), now(), null, null)`,
    [email, seeded],
  )
  const body = { email, password: '12345' }
  const answers = await Promise.all([1, 2, 3].map(() => ask('POST', '/token?grant_type=password', { body })))
  t.strictSame(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  t.match(answers[0]?.body, { weak_password: { reasons: ['length', 'characters'], message: String } })
  t.match(answers[0]?.body, { user: { app_metadata: {}, user_metadata: {}, identities: [] } })
  const { rows } = await database.query('select encrypted_password from auth.users where email = $1', [email])
  t.match(rows[0]?.encrypted_password, /^\$argon2id\$/)
})

t.test('anonymous sign-in', async (t) => {
  const session = sessionOf(await ask('POST', '/signup', { body: { data: { theme: 'dark' } } }))
  t.match(session.user, {
    is_anonymous: true,
    email: '',
    phone: '',
    app_metadata: {},
    user_metadata: { theme: 'dark' },
    identities: [],
  })
  t.match(claimsOf(session), { is_anonymous: true, amr: [{ method: 'anonymous' }], role: 'authenticated' })
  const token = session.access_token
  t.match(await ask('PUT', '/user', { token, body: { password } }), {
    status: 422,
    body: { error_code: 'validation_failed' },
  })
  const email = newAddress()
  const kept = await ask('PUT', '/user', { token, body: { email, password } })
  t.match(kept, {
    status: 200,
    body: {
      id: session.user.id,
      email,
      is_anonymous: false,
      app_metadata: { provider: 'email', providers: ['email'] },
    },
  })
  t.match(kept.body.identities, [{ provider: 'email', email }])
  const back = sessionOf(await passwordGrant(ask, email))
  t.equal(back.user.id, session.user.id)
})

t.test('GET /user: who gets which answer', async (t) => {
  const session = await signUp(ask)
  const { user } = session
  const stranger = '11111111-2222-4333-8444-555555555555'
  const { session_id: sessionId } = claimsOf(session)
  const own = { aud: 'authenticated', role: 'authenticated' }
  const publishable = await withClient(
    database.adminUri,
    async (client) => (await createApiKey(client, { role: 'anon', label: 'x' })).key,
  )
  const rows: readonly (readonly [string, string | undefined, number, string | undefined])[] = [
    ['a valid token', session.access_token, 200, undefined],
    ['without a session claim', await signToken({ ...own, sub: user.id }), 200, undefined],
    ['no token', undefined, 401, 'no_authorization'],
    ['an empty token', '', 401, 'no_authorization'],
    ['not a token', 'x', 403, 'bad_jwt'],
    ['a forged token', `${session.access_token.slice(0, -4)}AAAA`, 403, 'bad_jwt'],
    ['an expired token', await signToken({ ...own, sub: user.id, exp: 1 }), 403, 'bad_jwt'],
    ['no sub', await signToken(own), 403, 'bad_jwt'],
    ['a sub that is not a UUID', await signToken({ ...own, sub: 'x' }), 400, 'bad_jwt'],
    ['a session that is not a UUID', await signToken({ ...own, sub: user.id, session_id: 'x' }), 403, 'bad_jwt'],
    ['an unknown user', await signToken({ ...own, sub: stranger }), 403, 'user_not_found'],
    ['an unknown session', await signToken({ ...own, sub: user.id, session_id: stranger }), 403, 'session_not_found'],
    [
      "another user's session",
      await signToken({ ...own, sub: (await signUp(ask)).user.id, session_id: sessionId }),
      403,
      'session_not_found',
    ],
    ['a publishable key', publishable, 403, 'bad_jwt'],
  ]
  for (const [label, token, status, code] of rows) {
    const answer = await ask('GET', '/user', { token })
    t.equal(answer.status, status, label)
    if (code === undefined) t.equal(answer.body.id, user.id, label)
    else t.equal(codeOf(answer), code, label)
  }
  const token = session.access_token
  t.equal((await ask('GET', '/user', { token, headers: { 'X-JWT-AUD': 'other' } })).status, 400)
  await database.query("update auth.users set banned_until = now() + interval '1 hour' where id = $1", [user.id])
  t.match(await ask('GET', '/user', { token }), { status: 403, body: { error_code: 'user_banned' } })
  const refresh = { body: { refresh_token: session.refresh_token } }
  t.match(await ask('POST', '/token?grant_type=refresh_token', refresh), {
    status: 400,
    body: { error_code: 'user_banned' },
  })
  const signIn = { body: { email: user.email, password } }
  t.match(await ask('POST', '/token?grant_type=password', signIn), { status: 400, body: { error_code: 'user_banned' } })
  const wrong = { body: { email: user.email, password: 'wrong' } }
  t.match(await ask('POST', '/token?grant_type=password', wrong), { body: { error_code: 'invalid_credentials' } })
})

t.test('PUT /user', async (t) => {
  const session = await signUp(ask, newAddress(), { a: 1, b: { c: 2 } })
  const token = session.access_token
  const other = sessionOf(await passwordGrant(ask, session.user.email))
  const change = (body: Json) => ask('PUT', '/user', { token, body })
  const merged = await ask('PUT', '/user', {
    token,
    text: '{"data": {"a": null, "b": 12345678901234567890, "d": "x"}}',
  })
  t.equal(merged.status, 200)
  t.match(merged.text, /"b": ?12345678901234567890/, 'numbers keep their digits')
  t.strictSame(Object.keys(merged.body.user_metadata as Json).sort(), ['b', 'd', 'email_verified'])
  t.match(await change({ app_metadata: { x: 1 } }), { status: 403, body: { error_code: 'not_admin' } })
  t.match(await change({ email: 'nothing' }), { status: 400, body: { error_code: 'validation_failed' } })
  t.match(await change({ email: other.user.email }), { status: 200 }, 'the same address changes nothing')
  t.match(await change({ email: (await signUp(ask)).user.email }), {
    status: 422,
    body: { error_code: 'email_exists' },
  })
  await ask('POST', '/signup', { body: { phone: '15550009', password } })
  t.match(await change({ phone: '15550009' }), { status: 422, body: { error_code: 'phone_exists' } })
  t.match(await change({ phone: '+15550010' }), {
    status: 200,
    body: { phone: '15550010', app_metadata: { providers: ['email', 'phone'] } },
  })
  t.match(await change({ password: 'x' }), { status: 422, body: { error_code: 'weak_password' } })
  t.match(await change({ password: '' }), { status: 422, body: { error_code: 'weak_password' } })
  t.match(await change({ password }), { status: 422, body: { error_code: 'same_password' } })
  t.equal((await ask('GET', '/user', { token: other.access_token })).status, 200)
  t.equal((await change({ password: 'another password' })).status, 200)
  t.equal((await ask('GET', '/user', { token })).status, 200, 'the session of the request stays')
  t.match(await ask('GET', '/user', { token: other.access_token }), {
    status: 403,
    body: { error_code: 'session_not_found' },
  })
  const signIn = (text: string) => passwordGrant(ask, session.user.email, text)
  t.equal((await signIn(password)).status, 400)
  t.equal((await signIn('another password')).status, 200)
})

t.test('sign-out scopes, and a user who was deleted', async (t) => {
  const email = newAddress()
  const first = await signUp(ask, email)
  const signIn = async () => sessionOf(await passwordGrant(ask, email))
  const status = async (session: { readonly access_token: string }) =>
    (await ask('GET', '/user', { token: session.access_token })).status
  const second = await signIn()
  const third = await signIn()
  const out = (token: string, scope?: string) =>
    ask('POST', `/logout${scope === undefined ? '' : `?scope=${scope}`}`, { token })
  t.match(await out(first.access_token, 'all'), { status: 400, body: { error_code: 'validation_failed' } })
  t.equal((await out(second.access_token, 'local')).status, 204)
  t.strictSame(await Promise.all([first, second, third].map(status)), [200, 403, 200])
  t.match(await refreshGrant(ask, second.refresh_token), {
    status: 400,
    body: { error_code: 'refresh_token_not_found' },
  })
  t.equal((await out(third.access_token, 'others')).status, 204)
  t.strictSame(await Promise.all([first, third].map(status)), [403, 200])
  const fourth = await signIn()
  t.equal((await out(third.access_token)).status, 204)
  t.strictSame(await Promise.all([third, fourth].map(status)), [403, 403])
  t.match(await out(third.access_token), { status: 403, body: { error_code: 'session_not_found' } })
  const fifth = await signIn()
  await database.query('delete from auth.users where id = $1', [first.user.id])
  t.equal((await out(fifth.access_token)).status, 204)
  t.equal((await ask('POST', '/logout')).status, 401)
})

t.test('/rest/v1 accepts the tokens, until the session has ended', async (t) => {
  const session = await signUp(ask)
  const headers = { Authorization: `Bearer ${session.access_token}` }
  const read = () => call('get', '/rest/v1/profiles?select=id', { headers })
  t.match(await read(), { status: 200, body: [{ id: session.user.id }] })
  await ask('POST', '/logout', { token: session.access_token })
  t.equal((await read()).status, 401)
})

t.test('health, settings, keys', async (t) => {
  t.match((await ask('GET', '/health')).body, { version: String, name: String, description: String })
  t.match((await ask('GET', '/settings')).body, {
    external: { email: true, phone: true, anonymous_users: true, google: false },
    disable_signup: false,
    mailer_autoconfirm: true,
    phone_autoconfirm: true,
    sms_provider: '',
    saml_enabled: false,
    passkeys_enabled: false,
  })
  const keys = await ask('GET', '/.well-known/jwks.json')
  t.strictSame(keys.body, { keys: [] }, 'a secret is not published')
  t.equal(keys.headers.get('cache-control'), 'public, max-age=600')
  t.match((await ask('GET', '/.well-known/openid-configuration')).body, {
    issuer: 'https://example.org/auth/v1',
    jwks_uri: 'https://example.org/auth/v1/.well-known/jwks.json',
  })
  t.strictSame(
    logged().filter(({ level }) => level === 'error'),
    [],
  )
})
