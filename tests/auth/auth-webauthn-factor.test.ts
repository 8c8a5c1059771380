// Security keys as second factors: how they raise a session, and how they are attacked.
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import {
  askAuth,
  claimsOf,
  codeOf,
  passwordGrant,
  refreshGrant,
  sessionOf,
  signUp,
  type AuthAnswer,
  type Json,
} from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { challenge, raise } from '../support/second-factor.ts'
import { SoftAuthenticator, type Lie } from '../support/soft-authenticator.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`
  create schema hooks;
  grant usage on schema hooks to supabase_auth_admin;
  create table hooks.attempts (id bigint generated always as identity, event jsonb);
  create function hooks.attempt(event jsonb) returns jsonb language plpgsql security definer set search_path = '' as $$
  begin
    insert into hooks.attempts (event) values (event);
    return '{"decision": "continue"}';
  end $$;
  grant execute on function hooks.attempt to supabase_auth_admin`)
const origin = 'https://shop.example'
const settings = {
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_SITE_URL: `${origin}/app`,
  GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED: 'true',
  GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED: 'true',
  GOTRUE_HOOK_MFA_VERIFICATION_ATTEMPT_ENABLED: 'true',
  GOTRUE_HOOK_MFA_VERIFICATION_ATTEMPT_URI: 'pg-functions://postgres/hooks/attempt',
}
const { url } = await startApplication(t, database.authenticatorUri, settings)
const ask = askAuth(url)
const newKey = (counts = true) => new SoftAuthenticator({ origin, counts })

const failure = ({ status, body }: AuthAnswer) => [status, body.error_code, body.msg]

async function enroll(token: string, name = 'key'): Promise<string> {
  const { body, text } = await ask('POST', '/factors', {
    token,
    body: { factor_type: 'webauthn', friendly_name: name },
  })
  if (typeof body.id !== 'string') throw new Error(text)
  return body.id
}

type Begun = { readonly id: string; readonly type: unknown; readonly publicKey: never }

async function begin(token: string, factor: string): Promise<Begun> {
  const { body, text } = await ask('POST', `/factors/${factor}/challenge`, {
    token,
    // What auth-js sends. The settings decide.
    body: { webauthn: { rpId: 'evil.example', rpOrigins: ['https://evil.example'] } },
  })
  const webauthn = body.webauthn as { type: unknown; credential_options: { publicKey: never } } | undefined
  if (!webauthn) throw new Error(text)
  return { id: String(body.id), type: webauthn.type, publicKey: webauthn.credential_options.publicKey }
}

const answer = (token: string, factor: string, challengeId: string, type: unknown, credential: unknown) =>
  ask('POST', `/factors/${factor}/verify`, {
    token,
    body: { challenge_id: challengeId, webauthn: { type, credential_response: credential } },
  })

async function add(token: string, factor: string, key: SoftAuthenticator, lie?: Lie): Promise<AuthAnswer> {
  const { id, type, publicKey } = await begin(token, factor)
  return answer(token, factor, id, type, key.create(publicKey, lie))
}

async function use(token: string, factor: string, key: SoftAuthenticator, lie?: Lie): Promise<AuthAnswer> {
  const { id, type, publicKey } = await begin(token, factor)
  return answer(token, factor, id, type, key.get(publicKey, lie))
}

/** A user with a security key, and a new session that has not used it. */
async function member(counts = true) {
  const first = await signUp(ask)
  const key = newKey(counts)
  const factor = await enroll(first.access_token)
  const raised = sessionOf(await add(first.access_token, factor, key))
  const { access_token: token } = sessionOf(await passwordGrant(ask, first.user.email))
  return { key, factor, raised, token, id: first.user.id, email: first.user.email }
}

t.test('a security key raises sessions to aal2', async (t) => {
  const first = await signUp(ask)
  const { user, access_token: token } = first
  const key = newKey()
  const factor = await enroll(token)
  const begun = await ask('POST', `/factors/${factor}/challenge`, { token, body: {} })
  t.match(begun.body, { id: String, type: 'webauthn', expires_at: Number })
  const { type, credential_options: options } = begun.body.webauthn as Json & { credential_options: Json }
  t.equal(type, 'create')
  const publicKey = options.publicKey as Json
  t.strictSame(
    { ...publicKey, challenge: '' },
    {
      rp: { id: 'shop.example', name: 'shop.example' },
      user: { id: Buffer.from(user.id).toString('base64url'), name: user.email, displayName: user.email },
      challenge: '',
      pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: 'public-key', alg })),
      timeout: 300_000,
      attestation: 'none',
    },
    'the relying party is that of the settings; which keys are suitable is the choice of the client',
  )
  const added = await answer(token, factor, String(begun.body.id), 'create', key.create(publicKey as never))
  const raised = sessionOf(added)
  t.match(claimsOf(raised), { aal: 'aal2', amr: [{ method: 'mfa/webauthn' }, { method: 'password' }] })
  t.match(raised.user.factors, [{ id: factor, status: 'verified', factor_type: 'webauthn' }])
  t.notMatch(added.text, key.id.toString('base64'), 'the credential is not shown')

  const second = sessionOf(await passwordGrant(ask, user.email))
  const request = await begin(second.access_token, factor)
  t.equal(request.type, 'request')
  t.match(request.publicKey, {
    rpId: 'shop.example',
    userVerification: 'preferred',
    allowCredentials: [{ type: 'public-key', id: key.id.toString('base64url'), transports: ['internal', 'hybrid'] }],
  })
  const signature = key.get(request.publicKey)
  const used = await answer(second.access_token, factor, request.id, 'request', signature)
  t.match(claimsOf(sessionOf(used)), { aal: 'aal2' })
  t.match(failure(await answer(second.access_token, factor, request.id, 'request', signature)), [
    422,
    'mfa_ip_address_mismatch',
  ])
  t.match(claimsOf(sessionOf(await refreshGrant(ask, sessionOf(used).refresh_token))), { aal: 'aal2' })
  const { rows } = await database.query(
    `select web_authn_credential #>> '{authenticator,signCount}' as count, web_authn_credential ->> 'id' as id,
       web_authn_aaguid from auth.mfa_factors where id = $1`,
    [factor],
  )
  t.strictSame(rows, [
    { count: '1', id: key.id.toString('base64'), web_authn_aaguid: '00000000-0000-0000-0000-000000000000' },
  ])
  const hooked = await database.query(
    `select event -> 'factor_type' as type, event -> 'valid' as valid from hooks.attempts
     where event ->> 'factor_id' = $1 order by id`,
    [factor],
  )
  t.strictSame(hooked.rows, [
    { type: 'webauthn', valid: true },
    { type: 'webauthn', valid: true },
  ])
})

t.test('a key without a PIN is enough beside a password', async (t) => {
  const { access_token: token } = await signUp(ask)
  const key = newKey()
  const factor = await enroll(token)
  t.equal((await add(token, factor, key, { flags: 0x41 })).status, 200)
  t.match(failure(await use(token, factor, key, { flags: 0x00 })), [422, 'mfa_verification_failed', /not present/])
})

t.test("a stranger's key does not pass for that of a verified factor", async (t) => {
  const ann = await member()
  const eve = await member()
  // Eve knows the password of Ann, and creates a credential for a challenge to sign.
  const begun = await begin(ann.token, ann.factor)
  const user = { id: Buffer.from(ann.id).toString('base64url') }
  const created = newKey().create({ ...(begun.publicKey as object), user } as never)
  const asCreate = await answer(ann.token, ann.factor, begun.id, 'create', created)
  t.match(failure(asCreate), [400, 'validation_failed', /type must be request/])
  const asRequest = await answer(ann.token, ann.factor, begun.id, 'request', created)
  t.match(failure(asRequest), [422, 'mfa_verification_failed'])
  t.match(failure(await use(ann.token, ann.factor, eve.key)), [
    422,
    'mfa_verification_failed',
    /not that of the factor/,
  ])
  const copy = new SoftAuthenticator({ origin, id: ann.key.id })
  t.match(failure(await use(ann.token, ann.factor, copy)), [422, 'mfa_verification_failed', /signature/])
  // Challenges and factors of others.
  const own = await begin(eve.token, eve.factor)
  t.match(failure(await answer(ann.token, ann.factor, own.id, 'request', eve.key.get(own.publicKey))), [
    422,
    'mfa_factor_not_found',
  ])
  t.match(failure(await answer(ann.token, eve.factor, own.id, 'request', eve.key.get(own.publicKey))), [
    404,
    'mfa_factor_not_found',
  ])
  // A further factor needs the verified one.
  const refused = await ask('POST', '/factors', {
    token: ann.token,
    body: { factor_type: 'webauthn', friendly_name: 'x' },
  })
  t.match(failure(refused), [403, 'insufficient_aal'])
  t.match((await ask('GET', '/user', { token: ann.token })).body.factors, [{ id: ann.factor }])
})

t.test('a factor that was enrolled before another was verified', async (t) => {
  const { access_token: token } = await signUp(ask)
  const factor = await enroll(token)
  const begun = await begin(token, factor)
  const { session } = await raise(ask, token)
  const low = sessionOf(await passwordGrant(ask, session.user.email))
  const late = await answer(low.access_token, factor, begun.id, 'create', newKey().create(begun.publicKey))
  t.match(failure(late), [403, 'insufficient_aal'])
})

t.test('answers that are not valid', async (t) => {
  const { token, factor, key } = await member()
  const lies: readonly (readonly [string, Lie, RegExp])[] = [
    ['another origin', { origin: 'https://evil.example' }, /origin/],
    ['a subdomain', { origin: 'https://app.shop.example' }, /origin/],
    ['another site', { rpId: 'evil.example' }, /RP ID/i],
    ['another challenge', { challenge: randomBytes(32).toString('base64url') }, /challenge/],
    ['a registration', { type: 'webauthn.create' }, /type/],
  ]
  for (const [label, lie, message] of lies) {
    t.match(failure(await use(token, factor, key, lie)), [422, 'mfa_verification_failed', message], label)
  }
  const begun = await begin(token, factor)
  const signed = key.get(begun.publicKey)
  const bodies: readonly (readonly [unknown, number, string, RegExp])[] = [
    [{}, 400, 'validation_failed', /Code needs/],
    [{ webauthn: {} }, 400, 'validation_failed', /type must be create or request/],
    [{ webauthn: { type: 'request' } }, 400, 'validation_failed', /credential_response required/],
    [{ webauthn: { type: 'request', credential_response: { id: 7 } } }, 400, 'bad_json', /credential_response/],
    [{ code: '123456' }, 422, 'mfa_verification_failed', /a code is no answer/],
  ]
  for (const [body, status, code, message] of bodies) {
    const given = { challenge_id: begun.id, ...(body as object) }
    t.match(failure(await ask('POST', `/factors/${factor}/verify`, { token, body: given })), [status, code, message])
  }
  await database.query("update auth.mfa_challenges set created_at = now() - interval '10 minutes' where id = $1", [
    begun.id,
  ])
  t.match(failure(await answer(token, factor, begun.id, 'request', signed)), [422, 'mfa_challenge_expired'])
  const { rows } = await database.query('select aal from auth.sessions where id = $1', [
    claimsOf({ access_token: token } as never).session_id,
  ])
  t.strictSame(rows, [{ aal: 'aal1' }])
})

t.test('a challenge accepts a few answers, and a counter does not go back', async (t) => {
  const { token, factor, key } = await member()
  const begun = await begin(token, factor)
  const wrong = key.get(begun.publicKey, { origin: 'https://evil.example' })
  for (let n = 0; n < 5; n++) await answer(token, factor, begun.id, 'request', wrong)
  t.match(failure(await answer(token, factor, begun.id, 'request', key.get(begun.publicKey))), [
    422,
    'mfa_challenge_expired',
    /Too many/,
  ])
  const raised = sessionOf(await use(token, factor, key, { signCount: 20 }))
  t.match(failure(await use(raised.access_token, factor, key, { signCount: 20 })), [
    422,
    'mfa_verification_failed',
    /may have been copied/,
  ])
  t.equal((await use(raised.access_token, factor, key, { signCount: 21 })).status, 200)
  const uncounted = await member(false)
  t.equal((await use(uncounted.token, uncounted.factor, uncounted.key)).status, 200)
})

t.test('a second key, a recovery code, and the removal of a key', async (t) => {
  const { raised, key, factor, email } = await member()
  const another = await enroll(raised.access_token, 'second')
  const begun = await begin(raised.access_token, another)
  t.match(begun.publicKey, { excludeCredentials: [{ id: key.id.toString('base64url') }] })
  const twice = await answer(raised.access_token, another, begun.id, 'create', key.create(begun.publicKey))
  t.match(failure(twice), [422, 'webauthn_credential_exists'])
  const spare = newKey()
  const both = sessionOf(await add(raised.access_token, another, spare))
  const codes = (await ask('POST', '/factors/recovery-codes', { token: both.access_token })).body.codes as string[]
  const low = sessionOf(await passwordGrant(ask, email))
  t.match(failure(await use(low.access_token, another, key)), [422, 'mfa_verification_failed'], 'of another factor')
  const challengeId = await challenge(ask, low.access_token, { id: factor })
  const recovered = await ask('POST', `/factors/${factor}/verify`, {
    token: low.access_token,
    body: { challenge_id: challengeId, code: codes[0] },
  })
  const { access_token: token } = sessionOf(recovered)
  t.match(claimsOf(sessionOf(recovered)), { aal: 'aal2', amr: [{ method: 'mfa/recovery_code' }] })
  t.equal((await ask('DELETE', `/factors/${factor}`, { token })).status, 200)
  t.equal(codeOf(await ask('POST', `/factors/${factor}/challenge`, { token, body: {} })), 'mfa_factor_not_found')
})
