// The grant `id_token`, discovery of providers, and hooks of both kinds, at a running service.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient } from '@supabase/supabase-js'
import { generateKeyPair } from 'jose'
import t, { type Test } from 'tap'
import { startApplication } from '../support/application.ts'
import {
  askAuth,
  claimsOf,
  newAddress,
  password,
  passwordGrant,
  refreshGrant,
  sessionOf,
  signUp,
  type AuthAnswer,
} from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { accessTokenHash, nonceHash, startIssuer } from '../support/id-token-issuer.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const google = await startIssuer(t)
const acme = await startIssuer(t)
const allowed = await startIssuer(t)
const withoutClients = await startIssuer(t)
const settings = {
  ...{ GOTRUE_EXTERNAL_GOOGLE_ENABLED: 'true', GOTRUE_EXTERNAL_GOOGLE_CLIENT_ID: 'app,phone' },
  ...{ GOTRUE_EXTERNAL_GOOGLE_URL: google.issuer, GOTRUE_EXTERNAL_ACME_ENABLED: 'true' },
  ...{ GOTRUE_EXTERNAL_ACME_CLIENT_ID: 'app', GOTRUE_EXTERNAL_ACME_URL: acme.issuer },
  GOTRUE_EXTERNAL_ACME_SKIP_NONCE_CHECK: 'true',
  GOTRUE_EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS: `${allowed.issuer},${withoutClients.issuer}`,
  ...{ GOTRUE_EXTERNAL_NATIVE_URL: allowed.issuer, GOTRUE_EXTERNAL_NATIVE_CLIENT_ID: 'app,watch' },
  ...{ GOTRUE_MAILER_AUTOCONFIRM: 'true', GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'true' },
  GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '100000',
  GOTRUE_RATE_LIMIT_OTP: '100000',
}
const { url, logged } = await startApplication(t, database.authenticatorUri, settings)
const ask = askAuth(url)
type Ask = typeof ask

const user = (sub = crypto.randomUUID()) => ({ sub, email: `${sub}@example.org`, email_verified: true, name: 'Ann' })
const grant = (body: object, { of = ask, token }: { of?: Ask; token?: string } = {}): Promise<AuthAnswer> =>
  of('POST', '/token?grant_type=id_token', { body, token })

function refused(t: Test, { status, body }: AuthAnswer, message: string, error = 'invalid request'): void {
  t.equal(status, 400, message)
  t.match(body, { error, error_description: message, msg: message })
}

t.test('signInWithIdToken', async (t) => {
  const client = createClient(url, 'key', {
    auth: { autoRefreshToken: false, persistSession: false },
    // Node 20 has no WebSocket, and the test does not need one.
    realtime: { transport: class {} as never },
  })
  const ann = user()
  const token = await google.sign({ ...ann, hd: 'example.org', nonce: nonceHash('n') })
  const { data, error } = await client.auth.signInWithIdToken({ provider: 'google', token, nonce: 'n' })
  t.equal(error, null)
  t.match(data.user, {
    email: ann.email,
    app_metadata: { provider: 'google', providers: ['google'] },
    user_metadata: { full_name: 'Ann', custom_claims: { hd: 'example.org' }, iss: google.issuer },
    identities: [{ provider: 'google', id: ann.sub }],
  })
  const again = sessionOf(await grant({ provider: 'google', id_token: await google.sign({ ...ann, aud: 'phone' }) }))
  t.equal(again.user.id, data.user?.id, 'a token for another client id of the provider, too')
  t.match(claimsOf(again), { amr: [{ method: 'oauth' }] })
  const bob = sessionOf(await grant({ provider: 'google', id_token: await google.sign(user()) }))
  t.not(bob.user.id, again.user.id)
  const sameSubject = sessionOf(await grant({ provider: 'acme', id_token: await acme.sign(user(ann.sub)) }))
  t.equal(sameSubject.user.id, data.user?.id, 'another provider that has verified the address')
})

t.test('refuses ID tokens that are not for this service', async (t) => {
  const ann = user()
  const { privateKey: foreign } = await generateKeyPair('ES256')
  const good = await google.sign(ann)
  const [head = '', , signature = ''] = good.split('.')
  const forged = Buffer.from(JSON.stringify({ ...ann, iss: google.issuer, aud: 'app', exp: 9e9, iat: 1 })).toString(
    'base64url',
  )
  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${forged}.`
  for (const [name, token] of [
    ['another key', await google.sign(ann, foreign)],
    ['another issuer', await google.sign({ ...ann, iss: 'https://accounts.google.com' })],
    ['a token of another provider', await acme.sign(ann)],
    ['expired', await google.sign({ ...ann, exp: 1000 })],
    ['changed', `${head}.${forged}.${signature}`],
    ['unsigned', unsigned],
    ['not a token', 'x'],
  ] as const) {
    const answer = await grant({ provider: 'google', id_token: token })
    t.equal(answer.status, 400, name)
    refused(t, answer, 'Bad ID token')
  }
  refused(
    t,
    await grant({ provider: 'google', id_token: await google.sign({ ...ann, aud: ['evil', 'other'] }) }),
    'Unacceptable audience in id_token: [evil other]',
  )
  refused(
    t,
    await grant({ provider: 'google', id_token: await google.sign({ email: 'a@b.c' }) }),
    'Missing sub claim in id_token',
  )
  refused(t, await grant({ provider: 'google' }), 'id_token required')
  refused(t, await grant({ id_token: good }), 'provider or client_id and issuer required')
})

t.test('signs in by a sub that is a text only', async (t) => {
  const subject = (value: unknown) => ({ ...user(), sub: value as string })
  for (const sub of [5, 6, 7.5, true, {}, { a: 1 }, ['x'], 'a\0b', '\0', '\ud800x', 'x\udfff', 'x'.repeat(3000)]) {
    const answer = await grant({ provider: 'google', id_token: await google.sign(subject(sub)) })
    refused(t, answer, `Unacceptable sub claim in id_token: ${JSON.stringify(sub)} (must be a text)`)
  }
  const account = async (sub: unknown): Promise<string> =>
    sessionOf(await grant({ provider: 'google', id_token: await google.sign(subject(sub)) })).user.id
  const subjects = ['5', ' 5', 'x', 'X', '\ufffdx', 'x'.repeat(255)]
  const ids = await Promise.all(subjects.map(account))
  t.equal(new Set(ids).size, subjects.length, 'each text is a user of its own')
})

t.test('answers 400 for claims of unexpected types', async (t) => {
  const sign = (claims: object) => google.sign({ ...user(), ...claims })
  for (const aud of [{ app: 1 }, { length: 1 }, [['app']], [5], [null]]) {
    const message = `Unacceptable audience in id_token: [${(Array.isArray(aud) ? aud : [aud]).map((it) => JSON.stringify(it)).join(' ')}]`
    refused(t, await grant({ provider: 'google', id_token: await sign({ aud }) }), message)
  }
  for (const email of [
    'a\ud800@example.org',
    'a@example.org\r\nBcc: b@example.org',
    ' a@example.org',
    'a@example.org ',
    'a',
  ]) {
    const session = sessionOf(await grant({ provider: 'google', id_token: await sign({ email }) }))
    t.equal(session.user.email, '', `no address is stored: ${JSON.stringify(email)}`)
  }
  const international = `\u00fc${newAddress()}`
  t.equal(
    sessionOf(await grant({ provider: 'google', id_token: await sign({ email: international }) })).user.email,
    international,
  )
  const named = sessionOf(await grant({ provider: 'google', id_token: await sign({ name: 'a\ud800' }) }))
  t.notHas(named.user.user_metadata, { full_name: String })
})

t.test('binds ID tokens to nonces and access tokens', async (t) => {
  const ann = user()
  const both = 'Passed nonce and nonce in id_token should either both exist or not.'
  const withNonce = await google.sign({ ...ann, nonce: nonceHash('n') })
  refused(t, await grant({ provider: 'google', id_token: withNonce }), both)
  refused(t, await grant({ provider: 'google', id_token: await google.sign(ann), nonce: 'n' }), both)
  refused(t, await grant({ provider: 'google', id_token: withNonce, nonce: 'm' }), 'Nonces mismatch', 'invalid nonce')
  const raw = await google.sign({ ...ann, nonce: 'n' })
  refused(t, await grant({ provider: 'google', id_token: raw, nonce: 'n' }), 'Nonces mismatch', 'invalid nonce')
  const skipped = await acme.sign({ ...ann, nonce: 'whatever' })
  t.equal((await grant({ provider: 'acme', id_token: skipped })).status, 200, 'unless the check is switched off')
  const bound = await google.sign({ ...ann, at_hash: accessTokenHash('access') })
  refused(t, await grant({ provider: 'google', id_token: bound, access_token: 'other' }), 'Bad ID token')
  t.equal((await grant({ provider: 'google', id_token: bound, access_token: 'access' })).status, 200)
})

t.test('refuses other providers', async (t) => {
  const token = await allowed.sign(user())
  const disabled = await grant({ provider: 'apple', id_token: token })
  t.match(disabled, { status: 400, body: { error_code: 'provider_disabled' } })
  const unknown = await grant({ provider: 'nope', id_token: token })
  t.match(unknown.body, { error_code: 'validation_failed', msg: 'Custom OIDC provider "nope" not allowed' })
  const issuer = await grant({ issuer: 'http://127.0.0.1:9', client_id: 'app', id_token: token })
  t.match(issuer.body, { error_code: 'validation_failed', msg: 'Custom OIDC provider "" not allowed' })
  const byIssuer = await grant({ issuer: acme.issuer, client_id: 'anything', id_token: await acme.sign(user()) })
  t.match(sessionOf(byIssuer).user.app_metadata, { provider: 'acme' })
})

t.test('trusts an issuer only together with the client ids of the settings', async (t) => {
  const refusedIds: readonly (readonly [issuer: typeof allowed, aud: string | string[]])[] = [
    [allowed, 'another-app'],
    [allowed, ['another-app', 'third-app']],
    [allowed, ''],
    [acme, 'another-app'],
  ]
  for (const [issuer, aud] of refusedIds) {
    const token = await issuer.sign({ ...user(), aud })
    for (const id of ['another-app', 'app', 'third-app']) {
      const answer = await grant({ issuer: issuer.issuer, client_id: id, id_token: token })
      t.match(
        answer,
        { status: 400, body: { error_description: /^Unacceptable audience in id_token/ } },
        `${String(aud)} ${id}`,
      )
    }
  }
  for (const aud of ['app', 'watch', ['app', 'another-app']]) {
    const token = await allowed.sign({ ...user(), aud })
    for (const id of ['app', 'another-app']) {
      const answer = await grant({ issuer: allowed.issuer, client_id: id, id_token: token })
      t.match(sessionOf(answer).user.app_metadata, { provider: allowed.issuer }, `${String(aud)} ${id}`)
    }
  }
  t.match(await grant({ provider: 'native', id_token: await allowed.sign(user()) }), {
    ...{ status: 400, body: { error_code: 'provider_disabled' } },
  })

  // No client id of the settings belongs to this issuer: it is not trusted, whatever the caller says.
  const token = await withoutClients.sign({ ...user(), aud: 'another-app' })
  const answer = await grant({ issuer: withoutClients.issuer, client_id: 'another-app', id_token: token })
  t.match(answer, { status: 400, body: { msg: 'Custom OIDC provider "" not allowed' } })
  const warnings = logged().flatMap(({ event, msg }) => (event === 'warning' ? [String(msg)] : []))
  t.strictSame(
    warnings
      .filter((text) => text.includes('ALLOWED_ID_TOKEN_ISSUERS'))
      .map((text) => text.includes(withoutClients.issuer)),
    [true],
  )
})

t.test('trusts no issuer by default', async (t) => {
  const { url } = await startApplication(t, database.authenticatorUri, {})
  for (const issuer of ['https://accounts.google.com', 'https://appleid.apple.com']) {
    const token = await google.sign({ ...user(), iss: issuer })
    const answer = await grant({ issuer, client_id: 'app', id_token: token }, { of: askAuth(url) })
    t.match(answer, { status: 400, body: { msg: 'Custom OIDC provider "" not allowed' } }, issuer)
  }
})

t.test('a token that names several applications must have been issued to this one', async (t) => {
  const signInWith = async (claims: object): Promise<AuthAnswer> =>
    grant({ provider: 'google', id_token: await google.sign({ ...user(), ...claims }) })
  refused(
    t,
    await signInWith({ aud: ['another-app', 'app'], azp: 'another-app' }),
    'Unacceptable authorized party in id_token: "another-app"',
  )
  t.equal((await signInWith({ aud: ['another-app', 'app'], azp: 1 })).status, 400)
  t.equal((await signInWith({ aud: ['another-app', 'app'], azp: 'phone' })).status, 200)
  t.equal((await signInWith({ aud: 'app', azp: 'android-client' })).status, 200, 'as Google has it on Android')
})

t.test('links an identity to the account of the caller', async (t) => {
  const session = await signUp(ask)
  const ann = user()
  const body = { provider: 'google', id_token: await google.sign(ann), link_identity: true }
  refused(t, await grant(body), 'Linking requires a valid user access token in Authorization')
  t.match(await grant(body, { token: 'x' }), { status: 403, body: { error_code: 'bad_jwt' } })
  const linked = sessionOf(await grant(body, { token: session.access_token }))
  t.equal(linked.user.id, session.user.id)
  t.match(linked.user.app_metadata, { provider: 'email', providers: ['email', 'google'] })
  t.match(await grant(body, { token: session.access_token }), {
    status: 422,
    body: { error_code: 'identity_already_exists' },
  })
  const other = await signUp(ask)
  t.match(await grant(body, { token: other.access_token }), {
    ...{ status: 422, body: { msg: 'Identity is already linked to another user' } },
  })
  const service = await startApplication(t, database.authenticatorUri, {
    ...settings,
    GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'false',
  })
  const disabled = await grant(body, { of: askAuth(service.url), token: other.access_token })
  t.match(disabled, { status: 404, body: { error_code: 'manual_linking_disabled' } })
})

t.test('a provider is discovered once, and again after a failure', async (t) => {
  const issuer = await startIssuer(t)
  const service = await startApplication(t, database.authenticatorUri, {
    ...{
      GOTRUE_EXTERNAL_NEW_ENABLED: 'true',
      GOTRUE_EXTERNAL_NEW_CLIENT_ID: 'app',
      GOTRUE_EXTERNAL_NEW_URL: issuer.issuer,
    },
  })
  const of = askAuth(service.url)
  issuer.failures.remaining = 2
  const token = await issuer.sign(user())
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => grant({ provider: 'new', id_token: token }, { of })),
  )
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([200]))
  t.equal(new Set(answers.map((answer) => sessionOf(answer).user.id)).size, 1)
  t.equal(issuer.requests.get('/.well-known/openid-configuration'), 3, 'two failures and one success')
  t.equal(issuer.requests.get('/jwks'), 1)
})

/** Postgres functions as hooks, as people write them. */
await database.query(`
  create schema hooks;
  grant usage on schema hooks to supabase_auth_admin;
  create function hooks.claims(event jsonb) returns jsonb language sql as $$
    select jsonb_build_object('claims', (event -> 'claims')
      || jsonb_build_object('tenant', event ->> 'authentication_method', 'hook_role', current_user, 'big', 12345678901234567890))
  $$;
  create function hooks.drop_sub(event jsonb) returns jsonb language sql as $$
    select jsonb_build_object('claims', (event -> 'claims') - 'sub')
  $$;
  create function hooks.refuse(event jsonb) returns jsonb language sql as $$
    select case when event -> 'user' ->> 'email' like 'refused%' then
      jsonb_build_object('error', jsonb_build_object('http_code', 403, 'message', 'not you, ' || (event -> 'metadata' ->> 'name')))
      else '{}' end
  $$;
  create function hooks.slow(event jsonb) returns jsonb language plpgsql as $$ begin perform pg_sleep(60); return '{}'; end $$;
  create function hooks.broken(event jsonb) returns jsonb language plpgsql as $$ begin raise exception 'secret detail'; end $$;
  create function hooks.reject(event jsonb) returns jsonb language sql as $$
    select case when (event ->> 'valid')::boolean then '{"decision": "continue"}'::jsonb
      else '{"decision": "reject", "message": "too often", "should_logout_user": true}' end
  $$;
  revoke execute on all functions in schema hooks from public;
  grant execute on all functions in schema hooks to supabase_auth_admin;
  create function hooks.forbidden(event jsonb) returns jsonb language sql as $$ select event $$;
  revoke execute on function hooks.forbidden from public;
`)
const hook = (name: string, uri: string, secrets = '') => ({
  [`GOTRUE_HOOK_${name}_ENABLED`]: 'true',
  [`GOTRUE_HOOK_${name}_URI`]: uri,
  ...(secrets === '' ? {} : { [`GOTRUE_HOOK_${name}_SECRETS`]: secrets }),
})
const pgHook = (name: string, of: string) => hook(name, `pg-functions://postgres/hooks/${of}`)
const withHooks = async (t: Test, env: Readonly<Record<string, string>>) =>
  askAuth((await startApplication(t, database.authenticatorUri, { ...settings, ...env })).url)

t.test('a Postgres function changes the claims of access tokens', async (t) => {
  const of = await withHooks(t, pgHook('CUSTOM_ACCESS_TOKEN', 'claims'))
  const session = await signUp(of)
  t.match(claimsOf(session), { tenant: 'password', hook_role: 'supabase_auth_admin', sub: session.user.id })
  const text = Buffer.from(session.access_token.split('.')[1] ?? '', 'base64url').toString()
  t.match(text, '"big": 12345678901234567890', 'numbers keep their digits')
  const refreshed = await refreshGrant(of, session.refresh_token)
  t.match(claimsOf(sessionOf(refreshed)), { tenant: 'token_refresh' })
  const byProvider = await grant({ provider: 'google', id_token: await google.sign(user()) }, { of })
  t.match(claimsOf(sessionOf(byProvider)), { tenant: 'oauth' })
})

t.test('a failing Postgres function fails the request, without its details', async (t) => {
  for (const [name, status, message] of [
    ['drop_sub', 500, 'output claims do not conform to the expected schema: \n- (root): sub is required\n'],
    ['broken', 500, 'Error running hook URI: pg-functions://postgres/hooks/broken'],
    ['forbidden', 500, 'Error running hook URI: pg-functions://postgres/hooks/forbidden'],
    ['missing', 500, 'Error running hook URI: pg-functions://postgres/hooks/missing'],
    ['slow', 422, 'Failed to reach hook within maximum time of 2.000000 seconds'],
  ] as const) {
    const of = await withHooks(t, pgHook('CUSTOM_ACCESS_TOKEN', name))
    const answer = await of('POST', '/signup', { body: { email: newAddress(), password } })
    t.equal(answer.status, status, name)
    t.equal(answer.body.msg, message)
    t.notMatch(answer.text, 'secret detail')
  }
})

t.test('a hook decides who may have an account', async (t) => {
  const of = await withHooks(t, pgHook('BEFORE_USER_CREATED', 'refuse'))
  const email = `refused-${crypto.randomUUID()}@example.org`
  const expected = { status: 403, body: { msg: 'not you, before-user-created' } }
  t.match(await of('POST', '/signup', { body: { email, password } }), expected)
  const token = await google.sign({ ...user(), email })
  t.match(await grant({ provider: 'google', id_token: token }, { of }), expected)
  const { rows } = await database.query('select count(*) from auth.users where email = $1', [email])
  t.equal(rows[0]?.count, '0')
  await grant({ provider: 'google', id_token: token })
  t.equal(
    (await grant({ provider: 'google', id_token: token }, { of })).status,
    200,
    'not asked for an existing account',
  )
})

t.test('a hook gets the id that a new user will have', async (t) => {
  await database.query(`
    create table hooks.announced (id uuid);
    create function hooks.announce(event jsonb) returns jsonb language plpgsql security definer as $$
      begin insert into hooks.announced values ((event -> 'user' ->> 'id')::uuid); return '{}'; end $$;
    grant execute on function hooks.announce to supabase_auth_admin`)
  const of = await withHooks(t, pgHook('BEFORE_USER_CREATED', 'announce'))
  for (const path of ['/signup', '/otp']) {
    const email = newAddress()
    t.equal((await of('POST', path, { body: { email, password } })).status, 200)
    const { rows } = await database.query(
      'select email from auth.users join hooks.announced using (id) where email = $1',
      [email],
    )
    t.equal(rows.length, 1, path)
  }
})

t.test('a hook rejects attempts with a password', async (t) => {
  const of = await withHooks(t, pgHook('PASSWORD_VERIFICATION_ATTEMPT', 'reject'))
  const session = await signUp(of)
  const email = String(session.user.email)
  const signIn = (given: string) => passwordGrant(of, email, given)
  t.equal((await signIn(password)).status, 200)
  t.match(await signIn('wrong password'), {
    status: 400,
    body: { error_code: 'invalid_credentials', msg: 'too often' },
  })
  t.equal((await of('GET', '/user', { token: session.access_token })).status, 403, 'the sessions have ended')
})

t.test('an HTTP hook is called after an account was created, with its user', async (t) => {
  const received: { readonly body: string; readonly signature: unknown }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ body: Buffer.concat(chunks).toString(), signature: request.headers['webhook-signature'] })
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const secret = (byte: number) => `v1,whsec_${Buffer.alloc(32, byte).toString('base64')}`
  const of = await withHooks(t, hook('AFTER_USER_CREATED', target, `${secret(1)}|${secret(2)}`))
  const token = await google.sign(user())
  const { user: created } = sessionOf(await grant({ provider: 'google', id_token: token }, { of }))
  t.equal(received.length, 1)
  t.match(JSON.parse(received[0]?.body ?? ''), {
    metadata: { name: 'after-user-created', uuid: String, time: String, ip_address: '127.0.0.1' },
    user: { id: created.id, email: created.email },
  })
  t.match(received[0]?.signature, /^v1,\S{44} v1,\S{44}$/, 'signed with both keys')
  await grant({ provider: 'google', id_token: token }, { of })
  t.equal(received.length, 1, 'not for a sign-in')
})

t.test('mails and messages are sent by hooks', async (t) => {
  await database.query(`
    create table hooks.sent (event jsonb);
    create function hooks.send(event jsonb) returns jsonb language plpgsql security definer as $$
      begin insert into hooks.sent values (event); return '{}'; end $$;
    grant execute on function hooks.send to supabase_auth_admin`)
  const of = await withHooks(t, {
    ...{ ...pgHook('SEND_EMAIL', 'send'), ...pgHook('SEND_SMS', 'send') },
    ...{ GOTRUE_MAILER_AUTOCONFIRM: 'false', GOTRUE_EXTERNAL_PHONE_ENABLED: 'true' },
  })
  const sent = async (path: string, value: string) => {
    const text = `select event from hooks.sent where event #>> '${path}' = $1`
    return (await database.query(text, [value])).rows[0]?.event
  }
  const email = newAddress()
  const unverified = await google.sign({ ...user(), email, email_verified: false })
  const answer = await grant({ provider: 'google', id_token: unverified }, { of })
  t.match(answer, {
    status: 422,
    body: {
      error_code: 'provider_email_needs_verification',
      msg: 'Unverified email with google. A confirmation email has been sent to your google email',
    },
  })
  await until(async () => (await sent('{user,email}', email)) !== undefined)
  const mail = (await sent('{user,email}', email)) as { readonly email_data: { readonly token_hash: string } }
  t.match(mail, { metadata: { name: 'send-email' }, email_data: { email_action_type: 'signup', token: /^\d{6}$/ } })
  const body = { type: 'signup', token_hash: mail.email_data.token_hash }
  t.equal(sessionOf(await of('POST', '/verify', { body })).user.email, email)
  t.equal((await grant({ provider: 'google', id_token: unverified }, { of })).status, 200, 'the address is confirmed')

  const phone = '15551234567'
  t.equal((await of('POST', '/otp', { body: { phone } })).status, 200)
  await until(async () => (await sent('{sms,phone}', phone)) !== undefined)
  const message = (await sent('{sms,phone}', phone)) as { readonly sms: { readonly otp: string } }
  t.match(message, { metadata: { name: 'send-sms' }, user: { phone }, sms: { otp: /^\d{6}$/ } })
  const code = { type: 'sms', phone, token: message.sms.otp }
  t.equal(sessionOf(await of('POST', '/verify', { body: code })).user.phone, phone)
})

t.test('a hook with an invalid target stops the start, and is named', async (t) => {
  const start = startApplication(t, database.authenticatorUri, hook('SEND_SMS', 'http://hooks.example.org/'))
  await t.rejects(start, { message: /GOTRUE_HOOK_SEND_SMS_URI must use https/ })
})
