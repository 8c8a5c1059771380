// Forged and confused tokens, and users who try to become another user.
import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { jwtSecret, startApplication } from '../support/application.ts'
import { askAuth, claimsOf, codeOf, newAddress, password, sessionOf, signUp, type Json } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const kid = 'key-of-the-service'
const keys = {
  GOTRUE_JWT_KEYS: JSON.stringify([
    { kid, alg: 'RS256', key_ops: ['sign', 'verify'], ...privateKey.export({ format: 'jwk' }) },
  ]),
}
const settings = { ...keys, GOTRUE_MAILER_AUTOCONFIRM: 'true' }
const { url, call } = await startApplication(t, database.authenticatorUri, settings)
const ask = askAuth(url)

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
/** A token with a signature by HMAC. */
function hmacToken(header: Json, claims: Json, secret: string | Buffer): string {
  const content = `${part(header)}.${part(claims)}`
  return `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`
}

t.test('forged tokens open no route of any door', async (t) => {
  const session = await signUp(ask)
  const claims = claimsOf(session)
  const admin = { ...claims, role: 'service_role' }
  const publicKey = createPublicKey(privateKey)
  const pem = publicKey.export({ type: 'spki', format: 'pem' })
  const [header = '', , signature = ''] = session.access_token.split('.')
  const tokens: Readonly<Record<string, string>> = {
    'alg none': `${part({ alg: 'none', typ: 'JWT' })}.${part(admin)}.`,
    'alg None with the old signature': `${part({ alg: 'None', typ: 'JWT' })}.${part(admin)}.${signature}`,
    'other claims under the signature': `${header}.${part(admin)}.${signature}`,
    'HMAC with the public key as PEM': hmacToken({ alg: 'HS256', kid }, admin, pem),
    'the same without its last line break': hmacToken({ alg: 'HS256', kid }, admin, pem.toString().trim()),
    'HMAC with the public key as DER': hmacToken(
      { alg: 'HS256' },
      admin,
      publicKey.export({ type: 'spki', format: 'der' }),
    ),
    'HMAC with the modulus': hmacToken({ alg: 'HS256' }, admin, String(publicKey.export({ format: 'jwk' }).n)),
    'HMAC with an empty secret': hmacToken({ alg: 'HS256' }, admin, ''),
    'HMAC with the name of the key': hmacToken({ alg: 'HS256', kid }, admin, kid),
    'the right secret under the name of another key': hmacToken({ alg: 'HS256', kid }, admin, jwtSecret),
    'a name that is a path': hmacToken({ alg: 'HS256', kid: '../../../../dev/null' }, admin, ''),
    'a name that is SQL': hmacToken({ alg: 'HS256', kid: "' or '1'='1" }, admin, ''),
    'a key in the header': hmacToken({ alg: 'HS256', jwk: { kty: 'oct', k: part('x') } }, admin, 'x'),
    'a critical extension': hmacToken({ alg: 'HS256', crit: ['b64'], b64: false }, admin, jwtSecret),
    'the refresh token': session.refresh_token,
    'two tokens': `${session.access_token}.${session.access_token}`,
    'a token that is not valid yet': await signToken({ ...admin, nbf: Math.floor(Date.now() / 1000) + 3600 }),
    'an expired token': await signToken({ ...admin, exp: Math.floor(Date.now() / 1000) - 3600 }),
    'a role that is no text': await signToken({ ...claims, role: ['service_role'] }),
    'a role in another case': await signToken({ ...claims, role: 'SERVICE_ROLE' }),
    'a role with a space': await signToken({ ...claims, role: 'service_role ' }),
  }
  for (const [label, token] of Object.entries(tokens)) {
    const admins = await ask('GET', '/admin/users', { token })
    t.match([admins.status, codeOf(admins)], [403, /^(?:bad_jwt|not_admin)$/], label)
    t.notOk('users' in admins.body, label)
    if (label.startsWith('a role')) continue
    t.match(await ask('GET', '/user', { token }), { status: 403, body: { error_code: 'bad_jwt' } }, label)
    const rest = await call('GET', '/rest/v1/profiles', { headers: { Authorization: `Bearer ${token}` } })
    t.equal(rest.status, 401, label)
  }
  t.equal((await ask('GET', '/user', { token: session.access_token })).status, 200, 'the true token works')
})

t.test('tokens with the right signature of another issuer or audience', async (t) => {
  const claims = claimsOf(await signUp(ask))
  const others = { iss: 'https://elsewhere.test', aud: 'others', both: ['authenticated', 'others'] }
  const rest = async (token: string, at = call) =>
    (await at('GET', '/rest/v1/profiles?select=id', { headers: { Authorization: `Bearer ${token}` } })).status
  // As in GoTrue: the key says who has issued a token, so the claim does not count.
  const foreign = await signToken({ ...claims, iss: others.iss })
  t.equal((await ask('GET', '/user', { token: foreign })).status, 200, 'issuer')
  t.equal(await rest(foreign), 200, 'issuer')
  // As in GoTrue and PostgREST: an audience is checked where a request or the setting asks for one.
  for (const aud of [others.aud, others.both]) {
    const token = await signToken({ ...claims, aud })
    t.equal((await ask('GET', '/user', { token })).status, 200, String(aud))
    const expected = { 'X-JWT-AUD': 'authenticated' }
    const refused = await ask('GET', '/user', { token, headers: expected })
    t.equal(refused.status, aud === others.aud ? 400 : 200, String(aud))
    if (aud === others.aud) t.match(refused.body, { error_code: 'validation_failed', msg: /audience/ })
    t.equal(await rest(token), 200, String(aud))
  }
  const strict = await startApplication(t, database.authenticatorUri, { ...keys, PGRST_JWT_AUD: 'authenticated' })
  const askStrict = askAuth(strict.url)
  const wrong = await signToken({ ...claims, aud: others.aud })
  t.equal(await rest(wrong, strict.call), 401)
  t.match(await askStrict('GET', '/user', { token: wrong }), { status: 403, body: { error_code: 'bad_jwt' } })
  const admin = await signToken({ role: 'service_role', aud: others.aud })
  t.match(await askStrict('GET', '/admin/users', { token: admin }), { status: 403, body: { error_code: 'bad_jwt' } })
  for (const aud of ['authenticated', others.both]) {
    const token = await signToken({ ...claims, aud })
    t.equal((await askStrict('GET', '/user', { token })).status, 200, String(aud))
    t.equal(await rest(token, strict.call), 200, String(aud))
  }
})

t.test('keys of the project are not users, and users are not administrators', async (t) => {
  const session = await signUp(ask)
  const { id } = session.user
  const anon = await signToken({ role: 'anon' })
  const service = await signToken({ role: 'service_role' })
  for (const token of [anon, service]) {
    for (const [method, path, body] of [
      ['GET', '/user', undefined],
      ['PUT', '/user', { password: 'battery staple' }],
      ['POST', '/logout', undefined],
      ['POST', '/factors', { factor_type: 'totp' }],
      ['GET', '/reauthenticate', undefined],
      ['GET', '/user/identities/authorize?provider=google', undefined],
    ] as const) {
      const refused = await ask(method, path, { token, ...(body === undefined ? {} : { body }) })
      t.match([refused.status, codeOf(refused)], [403, 'bad_jwt'], `${method} ${path}`)
    }
  }
  for (const token of [session.access_token, anon, undefined]) {
    for (const [method, path, body] of [
      ['GET', '/admin/users', undefined],
      ['POST', '/admin/users', { email: newAddress() }],
      ['GET', `/admin/users/${id}`, undefined],
      ['PUT', `/admin/users/${id}`, { role: 'service_role' }],
      ['DELETE', `/admin/users/${id}`, {}],
      ['POST', '/admin/generate_link', { type: 'magiclink', email: session.user.email }],
      ['GET', '/admin/audit', undefined],
      ['GET', `/admin/users/${id}/factors`, undefined],
      ['POST', '/invite', { email: newAddress() }],
    ] as const) {
      const refused = await ask(method, path, {
        token,
        headers: { apikey: anon },
        ...(body === undefined ? {} : { body }),
      })
      const expected = token === undefined ? [401, 'no_authorization'] : [403, 'not_admin']
      t.match([refused.status, codeOf(refused)], expected, `${method} ${path}`)
    }
  }
})

const wanted = {
  role: 'service_role',
  aud: 'admins',
  app_role: 'admin',
  is_super_admin: true,
  is_sso_user: true,
  id: '11111111-2222-4333-8444-555555555555',
  app_metadata: { role: 'admin', provider: 'x' },
  raw_app_meta_data: { role: 'admin' },
  email_confirm: true,
  email_confirmed_at: '2020-01-01T00:00:00Z',
  password_hash: '$2a$10$abc',
  encrypted_password: 'x',
  ban_duration: 'none',
  is_anonymous: true,
  confirmed_at: '2020-01-01T00:00:00Z',
}

t.test('a user gets no rights by members that are for others', async (t) => {
  const body = { email: newAddress(), password, data: wanted, ...wanted }
  const session = sessionOf(await ask('POST', '/signup', { body }))
  const { user } = session
  t.match(claimsOf(session), { role: 'authenticated', aud: 'authenticated', aal: 'aal1', is_anonymous: false })
  t.notOk('app_role' in claimsOf(session))
  t.strictSame(user.app_metadata, { provider: 'email', providers: ['email'] })
  t.not(user.id, wanted.id)

  const others = { ...wanted, app_metadata: null }
  const changed = await ask('PUT', '/user', {
    token: session.access_token,
    body: { ...others, data: { ...wanted, sub: 'x' } },
  })
  t.equal(changed.status, 200)
  const refused = await ask('PUT', '/user', { token: session.access_token, body: { app_metadata: { role: 'admin' } } })
  t.match([refused.status, codeOf(refused)], [403, 'not_admin'])
  const refreshed = sessionOf(
    await ask('POST', '/token?grant_type=refresh_token', { body: { refresh_token: session.refresh_token, ...wanted } }),
  )
  t.match(claimsOf(refreshed), { sub: user.id, role: 'authenticated', aud: 'authenticated', aal: 'aal1' })
  const { rows } = await database.query(
    'select role, aud, app_role, is_super_admin, is_sso_user, is_anonymous, raw_app_meta_data from auth.users where id = $1',
    [user.id],
  )
  t.match(rows, [
    {
      role: 'authenticated',
      aud: 'authenticated',
      app_role: null,
      is_sso_user: false,
      is_anonymous: false,
      raw_app_meta_data: { provider: 'email', providers: ['email'] },
    },
  ])
  t.not(rows[0]?.is_super_admin, true)
  const read = await call('GET', '/rest/v1/profiles?select=id', {
    headers: { Authorization: `Bearer ${refreshed.access_token}` },
  })
  t.strictSame(read.body, [{ id: user.id }], 'row-level security shows no other row')
})

t.test('the role of the service is no role of a user', async (t) => {
  const service = await signToken({ role: 'service_role' })
  for (const role of ['supabase_auth_admin', 'authenticator', 'postgres']) {
    const token = await signToken({ role, sub: '11111111-2222-4333-8444-555555555555' })
    for (const path of ['/rest/v1/users', '/rest/v1/profiles', '/rest/v1/rpc/find_caller']) {
      const answer = await call('GET', path, {
        headers: { Authorization: `Bearer ${token}`, 'Accept-Profile': 'auth' },
      })
      t.ok(answer.status >= 400, `${role} ${path}: ${answer.status}`)
    }
    const admins = await ask('GET', '/admin/users', { token })
    t.match([admins.status, codeOf(admins)], [403, 'not_admin'])
  }
  t.equal((await ask('GET', '/admin/users', { token: service })).status, 200)
})

t.test('metadata that attacks the server', async (t) => {
  const session = await signUp(ask)
  const put = (text: string) => ask('PUT', '/user', { token: session.access_token, text })
  const polluted = await put(
    '{"data": {"__proto__": {"role": "admin"}, "constructor": {"prototype": {"role": "admin"}}}}',
  )
  t.equal(polluted.status, 200)
  t.notOk('role' in {}, 'nothing has a new property')
  t.equal((await put('{"__proto__": {"app_metadata": {"role": "admin"}, "password": "x"}, "data": {}}')).status, 200)
  t.match(await put('{"data": {"a": 1}, "data": {"a": 2}}'), { status: 400, body: { error_code: 'bad_json' } })
  t.match(await put('{"data": {"a": 1, "\\u0061": 2}}'), { status: 400, body: { error_code: 'bad_json' } })
  const depth = 400_000
  t.match(await put(`{"data": {"a": ${'['.repeat(depth)}${']'.repeat(depth)}}}`), { status: 400 })
  t.match(await put(`{"data": ${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`), { status: 400 })
  t.match(await put(`{"data": {"a": "${'x'.repeat(1024 * 1024)}"}}`), { status: 413 })
  t.match(await put('{"data": {"a": "\\ud800"}}'), { status: 400 }, 'half of a character')
  t.match(await put('{"data": {"a": "\\udc00\\ud800"}}'), { status: 400 }, 'halves in the wrong order')
  t.match(
    await put('{"data": {"a": "\\ud83d\\ude00 \\\\ud800"}}'),
    { status: 200 },
    'a pair, and text that is no escape',
  )
  t.match(await put('{"data": {"\\u0000": 1}}'), { status: 400 })
  t.match(await put('{"data": [1]}'), { status: 400 })
  t.match(await put('{"data": {"a": 1e400}}'), { status: /^(?:200|400)$/ })
  const many = JSON.stringify({ data: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i])) })
  const filled = await put(many)
  t.ok(filled.status < 500, `many members: ${filled.status}`)
  t.equal((await ask('GET', '/user', { token: session.access_token })).status, 200, 'the server lives')
})

t.test('addresses and passwords that attack the server', async (t) => {
  const rows: readonly (readonly [string, Json, number])[] = [
    ['NUL in the address', { email: 'a\0b@example.org', password }, 400],
    ['line breaks in the address', { email: 'a@example.org\r\nBcc: b@example.org', password }, 400],
    ['another address in the address', { email: 'a@example.org,b@example.org', password }, 400],
    ['a name before the address', { email: '"x" <a@example.org>', password }, 400],
    ['letters that look alike', { email: 'аdmin@example.org', password }, 400],
    ['a letter whose lower case is ASCII', { email: '\u212Aate@example.org', password }, 400],
    ['73 characters', { email: newAddress(), password: 'a'.repeat(73) }, 400],
    ['a megabyte of password', { email: newAddress(), password: 'a'.repeat(900_000) }, 400],
  ]
  for (const [label, body, status] of rows) t.equal((await ask('POST', '/signup', { body })).status, status, label)
  const email = newAddress()
  const wide = '\u{1F600}'.repeat(18)
  t.equal((await ask('POST', '/signup', { body: { email, password: wide } })).status, 200, '72 bytes')
  const signIn = async (body: Json) => (await ask('POST', '/token?grant_type=password', { body })).status
  t.equal(await signIn({ email: email.toUpperCase(), password: wide }), 200)
  t.equal(await signIn({ email, password: `${wide.slice(0, 34)}\u{1F601}` }), 400, 'all bytes count')
  t.equal((await ask('POST', '/signup', { body: { email: newAddress(), password: `${wide}\u{1F600}` } })).status, 400)
  t.equal(await signIn({ email, password: `${wide}\0` }), 400)
  t.equal(await signIn({ email: `${email}\0`, password: wide }), 400)
  t.equal(await signIn({ email: `${'x'.repeat(500_000)}@example.org`, password }), 400)
  t.equal(await signIn({ email, password: 'x'.repeat(900_000) }), 400)
  t.equal((await ask('POST', '/signup', { body: { email: email.toUpperCase(), password } })).status, 422, 'one account')
})
