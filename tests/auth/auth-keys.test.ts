// Keys of `/auth/v1`: JSON Web Keys beside older secrets, rotation by a reload, and the limits of requests.
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { writeFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { askAuth, claimsOf, codeOf, newAddress, password, passwordGrant, sessionOf, signUp } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { signToken } from '../support/token.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const folder = await mkdtemp(join(tmpdir(), 'rowhouse-keys-'))
t.teardown(() => rm(folder, { recursive: true }))

const newKey = (...operations: string[]) => ({
  kid: randomUUID(),
  alg: 'ES256',
  key_ops: operations,
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
})

t.test('a key signs, others and the secret still verify, and a reload rotates', async (t) => {
  const file = join(folder, 'keys.json')
  const first = newKey('sign', 'verify')
  await writeFile(file, JSON.stringify([first]))
  const { url, call, service } = await startApplication(t, database.authenticatorUri, {
    GOTRUE_JWT_KEYS: `@${file}`,
    GOTRUE_JWT_EXP: '600',
    GOTRUE_JWT_AUD: 'people',
    GOTRUE_JWT_ISSUER: 'https://issuer.example',
    GOTRUE_MAILER_AUTOCONFIRM: 'true',
  })
  const ask = askAuth(url)
  const session = await signUp(ask)
  t.match(decodeProtectedHeader(session.access_token), { alg: 'ES256', typ: 'JWT', kid: first.kid })
  t.match(claimsOf(session), { aud: 'people', iss: 'https://issuer.example' })
  t.equal(session.expires_in, 600)
  const published = (await ask('GET', '/.well-known/jwks.json')).body.keys as readonly Record<string, unknown>[]
  t.match(published, [{ kid: first.kid, kty: 'EC', alg: 'ES256', use: 'sig', key_ops: ['verify'] }])
  t.notOk(
    published.some((key) => 'd' in key || key.kty === 'oct'),
    'nothing secret is published',
  )
  const jwks = createRemoteJWKSet(new URL(`${url}/auth/v1/.well-known/jwks.json`))
  t.equal((await jwtVerify(session.access_token, jwks)).payload.sub, session.user.id)
  const read = async (token: string) =>
    (await call('get', '/rest/v1/profiles?select=id', { headers: { Authorization: `Bearer ${token}` } })).status
  t.equal(await read(session.access_token), 200)
  const older = await signToken({ role: 'authenticated', sub: session.user.id, aud: 'people' })
  t.strictSame([await read(older), (await ask('GET', '/user', { token: older })).status], [200, 200])

  const second = newKey('sign', 'verify')
  await writeFile(file, JSON.stringify([second, { ...first, key_ops: ['verify'] }]))
  await service.engine.reloadSettings()
  await until(async () => {
    const { keys } = (await ask('GET', '/.well-known/jwks.json')).body
    return (keys as unknown[]).length === 2
  })
  const next = await signUp(ask)
  t.match(decodeProtectedHeader(next.access_token), { kid: second.kid })
  t.strictSame([await read(session.access_token), await read(next.access_token)], [200, 200], 'nobody is signed out')
  t.equal((await ask('GET', '/user', { token: session.access_token })).status, 200)

  await writeFile(file, JSON.stringify({ keys: [second] }))
  await service.engine.reloadSettings()
  await until(async () => (await ask('GET', '/user', { token: session.access_token })).status === 403)
  t.equal(codeOf(await ask('GET', '/user', { token: session.access_token })), 'bad_jwt', 'a removed key is refused')
  t.equal(await read(session.access_token), 401)
  // Signed by a key that is not ours, with the id of one that is.
  const { SignJWT, importJWK } = await import('jose')
  const forged = await new SignJWT({ sub: session.user.id, role: 'service_role' })
    .setProtectedHeader({ alg: 'ES256', kid: second.kid })
    .sign(await importJWK(newKey('sign'), 'ES256'))
  t.equal(codeOf(await ask('GET', '/user', { token: forged })), 'bad_jwt')
})

/** JSON leaves out the private part. */
const publicHalf = (key: ReturnType<typeof newKey>) => ({ ...key, d: undefined, key_ops: ['verify'] })

t.test("Supabase's pair of settings: each key is published once, and foreign ones only on demand", async (t) => {
  const signing = newKey('sign', 'verify')
  const standby = newKey('verify')
  const foreign = newKey('sign')
  const PGRST_JWT_SECRET = JSON.stringify({
    keys: [publicHalf(signing), { ...publicHalf(standby), kid: 'the same, by another name' }, publicHalf(foreign)],
  })
  // Another key that took the name of the one that signs.
  const impostor = { ...newKey('verify'), kid: signing.kid }
  const { url, call, reload } = await startApplication(t, database.authenticatorUri, {
    GOTRUE_JWT_KEYS: JSON.stringify([impostor, publicHalf(standby), signing]),
    PGRST_JWT_SECRET,
    GOTRUE_MAILER_AUTOCONFIRM: 'true',
  })
  const ask = askAuth(url)
  const session = await signUp(ask)
  const published = async () =>
    (await ask('GET', '/.well-known/jwks.json')).body.keys as readonly Record<string, unknown>[]
  t.strictSame(
    (await published()).map(({ kid }) => kid),
    [signing.kid, standby.kid],
  )
  const verify = async (token: string): Promise<unknown> => {
    const jwks = createRemoteJWKSet(new URL(`${url}/auth/v1/.well-known/jwks.json`))
    return (await jwtVerify(token, jwks)).payload.sub
  }
  t.equal(await verify(session.access_token), session.user.id)
  const { SignJWT, importJWK } = await import('jose')
  const ofOther = await new SignJWT({ sub: session.user.id, role: 'authenticated' })
    .setProtectedHeader({ alg: 'ES256', kid: foreign.kid })
    .sign(await importJWK(foreign, 'ES256'))
  const read = await call('get', '/rest/v1/profiles?select=id', { headers: { Authorization: `Bearer ${ofOther}` } })
  t.equal(read.status, 200, 'a foreign key verifies')
  await t.rejects(verify(ofOther), { code: 'ERR_JWKS_NO_MATCHING_KEY' })

  await reload({ GOTRUE_JWT_PUBLISH_VERIFICATION_KEYS: 'true' })
  t.ok(await until(async () => (await published()).length === 3))
  t.equal(await verify(ofOther), session.user.id)
  t.equal(await verify(session.access_token), session.user.id)
  const all = await published()
  for (const member of ['kid', 'x']) t.equal(new Set(all.map((key) => key[member])).size, 3, member)
  t.notOk(all.some((key) => 'd' in key))
})

t.test('the discovery document names nothing that is refused', async (t) => {
  for (const env of [{}, { GOTRUE_JWT_KEYS: JSON.stringify([newKey('sign')]) }]) {
    const { url } = await startApplication(t, database.authenticatorUri, env)
    const { body } = await askAuth(url)('GET', '/.well-known/openid-configuration')
    const algorithm = 'GOTRUE_JWT_KEYS' in env ? 'ES256' : 'HS256'
    t.match(body, { issuer: String, jwks_uri: String, id_token_signing_alg_values_supported: [algorithm] })
    const addresses = Object.entries(body).filter(([name]) => /_(?:endpoint|uri)$/.test(name))
    t.ok(addresses.length > 0)
    for (const [name, address] of addresses) {
      t.match(address, url)
      t.equal((await fetch(String(address))).status, 200, name)
    }
  }
})

t.test('X-JWT-AUD chooses among the audiences of the settings', async (t) => {
  const { url } = await startApplication(t, database.authenticatorUri, {
    GOTRUE_JWT_AUD: 'people',
    GOTRUE_JWT_ALLOWED_AUDIENCES: 'staff,robots',
    GOTRUE_MAILER_AUTOCONFIRM: 'true',
    GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  })
  const ask = askAuth(url)
  const email = newAddress()
  const requests = {
    'sign-up': ['/signup', { email, password }],
    anonymous: ['/signup', {}],
    'magic link': ['/otp', { email: newAddress() }],
    password: ['/token?grant_type=password', { email, password }],
  } as const
  for (const [name, [path, body]] of Object.entries(requests)) {
    for (const audience of ['authenticated', 'service_role', 'x'.repeat(300), 'people,staff', 'People']) {
      const answer = await ask('POST', path, { body, headers: { 'X-JWT-AUD': audience } })
      t.match(answer, { status: 400, body: { error_code: 'validation_failed' } }, `${name} ${audience.slice(0, 20)}`)
      const reason =
        audience.length > 255
          ? /^X-JWT-AUD must not have more than 255 characters/
          : /^X-JWT-AUD must be one of "people", "staff", "robots"/
      t.match(answer.body.msg, reason)
    }
  }
  const as = async (audience: string) => {
    const headers = { 'X-JWT-AUD': audience }
    const answer = await ask('POST', '/signup', { body: { email: newAddress(), password }, headers })
    return claimsOf(sessionOf(answer)).aud
  }
  t.strictSame([await as(''), await as('people'), await as('staff')], ['people', 'people', 'staff'])
  t.equal(claimsOf(await signUp(ask)).aud, 'people', 'without the header')
})

t.test('accepted algorithms', async (t) => {
  const { url } = await startApplication(t, database.authenticatorUri, {
    GOTRUE_JWT_KEYS: JSON.stringify([newKey('sign')]),
    GOTRUE_JWT_VALID_METHODS: 'ES256',
    GOTRUE_MAILER_AUTOCONFIRM: 'true',
  })
  const ask = askAuth(url)
  const session = await signUp(ask)
  t.equal((await ask('GET', '/user', { token: session.access_token })).status, 200)
  const older = await signToken({ role: 'authenticated', sub: session.user.id, aud: 'authenticated' })
  t.equal(codeOf(await ask('GET', '/user', { token: older })), 'bad_jwt')
})

t.test('limits of requests, per client and route', async (t) => {
  const { url } = await startApplication(t, database.authenticatorUri, {
    GOTRUE_RATE_LIMIT_HEADER: 'X-Client',
    GOTRUE_RATE_LIMIT_OTP: '2',
    GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '3',
    GOTRUE_RATE_LIMIT_ANONYMOUS_USERS: '1',
    GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    GOTRUE_MAILER_AUTOCONFIRM: 'true',
  })
  const ask = askAuth(url)
  const from = (client: string) => ({ headers: { 'X-Client': client } })
  const signUpFrom = (client: string) =>
    ask('POST', '/signup', { ...from(client), body: { email: newAddress(), password } })
  const statuses: number[] = []
  for (let time = 0; time < 3; time++) statuses.push((await signUpFrom('192.0.2.1')).status)
  t.strictSame(statuses, [200, 200, 429])
  const refused = await signUpFrom('192.0.2.1, 198.51.100.1')
  t.match(refused, { status: 429, body: { error_code: 'over_request_rate_limit', msg: /GOTRUE_RATE_LIMIT_OTP/ } })
  const seconds = Number(refused.headers.get('retry-after'))
  t.ok(seconds > 0 && seconds <= 300)
  t.equal((await signUpFrom('192.0.2.2')).status, 200, 'another client')
  const anonymous = () => ask('POST', '/signup', { ...from('192.0.2.1'), body: {} })
  t.strictSame([(await anonymous()).status, (await anonymous()).status], [200, 429])
  const refresh = () =>
    ask('POST', '/token?grant_type=refresh_token', { ...from('192.0.2.3'), body: { refresh_token: 'a'.repeat(12) } })
  t.strictSame(
    [await refresh(), await refresh(), await refresh(), await refresh()].map(({ status }) => status),
    [400, 400, 400, 429],
  )
})

t.test('wrong passwords lock an account at both doors', async (t) => {
  const { url, call } = await startApplication(t, database.authenticatorUri, {
    AUTH_ACCOUNT_LIMIT: '3',
    SESSION_SECRETS: 's'.repeat(32),
    GOTRUE_MAILER_AUTOCONFIRM: 'true',
  })
  const ask = askAuth(url)
  const { user } = await signUp(ask)
  const guess = (text: string) => passwordGrant(ask, user.email, text)
  t.equal((await guess('wrong')).status, 400)
  t.equal((await call('post', '/auth/signin', { body: { email: user.email, password: 'wrong' } })).status, 401)
  t.equal((await guess(password)).status, 200, 'a right password does not count')
  t.equal((await guess('wrong')).status, 400)
  const locked = await guess(password)
  t.match(locked, { status: 429, body: { error_code: 'over_request_rate_limit' } })
  t.ok(locked.headers.get('retry-after'))
  t.equal((await call('post', '/auth/signin', { body: { email: user.email, password } })).status, 429)
})

t.test('errors of triggers are passed on', async (t) => {
  await database.query(`
    create function public.only_example() returns trigger language plpgsql as $$
    begin
      if new.email like '%@blocked.example' then
        raise exception 'This domain is not welcome' using hint = 'Use another address', errcode = 'PT422';
      end if;
      if new.email like '%@forged.example' then
        raise sqlstate 'AU000' using message = (array[
          '{"status": 42, "code": "conflict", "message": "x"}', '{"status": "x", "code": "conflict", "message": "x"}',
          '{"status": 400, "code": "a\r\nb", "message": "x"}', '{"status": 400}', 'null', 'no JSON'
        ])[split_part(new.email, '@', 1)::int];
      end if;
      if new.email like '%@broken.example' then
        perform 1 from public.does_not_exist;
      end if;
      return new;
    end $$;
    create trigger only_example before insert on auth.users for each row execute function public.only_example()`)
  const { url } = await startApplication(t, database.authenticatorUri, { GOTRUE_MAILER_AUTOCONFIRM: 'true' })
  const ask = askAuth(url)
  t.match(await ask('POST', '/signup', { body: { email: 'a@blocked.example', password } }), {
    status: 422,
    body: {
      error_code: 'unexpected_failure',
      msg: 'This domain is not welcome',
      database: { code: 'PT422', hint: 'Use another address' },
    },
  })
  t.match(await ask('POST', '/signup', { body: { email: 'a@broken.example', password } }), {
    status: 500,
    body: { msg: /does_not_exist/, database: { code: '42P01' } },
  })
  for (const number of [1, 2, 3, 4, 5, 6]) {
    const forged = await ask('POST', '/signup', { body: { email: `${number}@forged.example`, password } })
    t.match(
      forged,
      { status: 500, body: { error_code: 'unexpected_failure' } },
      'an SQLSTATE of ours is no error of ours',
    )
  }
  t.equal((await ask('POST', '/signup', { body: { email: newAddress(), password } })).status, 200)
})
