// `/auth/v1/factors`: second factors, request by request.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import {
  askAuth,
  claimsOf,
  codeOf,
  newAddress,
  passwordGrant,
  refreshGrant,
  sessionOf,
  signUp,
  type Json,
} from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { challenge, codeOfApp, enroll, raise, verify, wrongCode, type Factor } from '../support/second-factor.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const settings = {
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  GOTRUE_SITE_URL: 'https://shop.example:8443/app',
  GOTRUE_MFA_MAX_ENROLLED_FACTORS: '3',
}
const { url, call } = await startApplication(t, database.authenticatorUri, settings)
const ask = askAuth(url)
const unknown = '99999999-9999-4999-8999-999999999999'

const signIn = async (email: unknown) => sessionOf(await passwordGrant(ask, email))

/** Makes the code of the current time step acceptable again. */
const forgetStep = ({ id }: Factor) =>
  database.query('update auth.mfa_factors set last_totp_step = null where id = $1', [id])

const actionsOf = async (userId: string): Promise<unknown[]> => {
  const { rows } = await database.query(
    `select payload ->> 'action' as action from auth.audit_log_entries
     where payload ->> 'actor_id' = $1 and payload ->> 'log_type' = 'factor' order by created_at`,
    [userId],
  )
  return rows.map(({ action }) => action)
}

t.test('a session is raised to aal2, and falls back without the factor', async (t) => {
  const first = await signUp(ask)
  const { id: userId, email } = first.user
  const other = await signIn(email)
  const enrolled = await ask('POST', '/factors', {
    token: first.access_token,
    body: { factor_type: 'totp', friendly_name: 'phone' },
  })
  t.equal(enrolled.status, 200)
  t.match(enrolled.body, {
    id: /^[0-9a-f-]{36}$/,
    type: 'totp',
    friendly_name: 'phone',
    totp: { qr_code: /^<svg/, secret: /^[A-Z2-7]{32}$/, uri: /^otpauth:\/\/totp\/shop\.example%3A8443:/ },
  })
  const factor = { id: String(enrolled.body.id), secret: (enrolled.body.totp as { secret: string }).secret }

  const challenged = await ask('POST', `/factors/${factor.id}/challenge`, { token: first.access_token })
  t.strictSame([challenged.status, Object.keys(challenged.body)], [200, ['id', 'type', 'expires_at']])
  const expiresIn = Number(challenged.body.expires_at) - Date.now() / 1000
  t.ok(expiresIn > 200 && expiresIn <= 301, 'expires after 300 seconds')

  const code = codeOfApp(factor)
  const answer = { challenge_id: challenged.body.id, code }
  const verified = await ask('POST', `/factors/${factor.id}/verify`, { token: first.access_token, body: answer })
  const raised = sessionOf(verified)
  t.match(claimsOf(raised), { aal: 'aal2', session_id: claimsOf(first).session_id, sub: userId })
  t.match(
    claimsOf(raised).amr,
    [{ method: 'totp', timestamp: Number }, { method: 'password' }],
    'the newest method is the first',
  )
  t.match(raised.user.factors, [{ id: factor.id, status: 'verified', friendly_name: 'phone', factor_type: 'totp' }])
  t.notMatch(verified.text, factor.secret, 'the secret is not sent again')

  t.equal(codeOf(await ask('GET', '/user', { token: other.access_token })), 'session_not_found', 'below aal2')
  const oldToken = await refreshGrant(ask, first.refresh_token)
  t.equal(oldToken.status, 400, 'the refresh token of aal1 gives no access at aal2')
  const refreshed = sessionOf(await refreshGrant(ask, raised.refresh_token))
  t.equal(claimsOf(refreshed).aal, 'aal2', 'a refresh keeps the level')

  const { rows } = await database.query('select secret from auth.mfa_factors where id = $1', [factor.id])
  t.strictSame(rows, [{ secret: factor.secret }])

  const removed = await ask('DELETE', `/factors/${factor.id}`, { token: refreshed.access_token })
  t.strictSame([removed.status, removed.body], [200, { id: factor.id }])
  const fallen = sessionOf(await refreshGrant(ask, refreshed.refresh_token))
  t.match(claimsOf(fallen), { aal: 'aal1', amr: [{ method: 'password' }] })
  t.equal((claimsOf(fallen).amr as unknown[]).length, 1)
  t.notOk('factors' in fallen.user)
  t.strictSame(await actionsOf(userId), [
    'factor_in_progress',
    'challenge_created',
    'verification_attempted',
    'factor_unenrolled',
  ])
})

t.test('requests that are refused', async (t) => {
  const { access_token: token } = await signUp(ask)
  const factor = await enroll(ask, token, 'first')
  const other = await signUp(ask)
  const foreign = await enroll(ask, other.access_token)
  const foreignChallenge = await challenge(ask, other.access_token, foreign)
  const verified = { challenge_id: unknown, code: '123456' }
  const anonymous = sessionOf(await ask('POST', '/signup', { body: {} }))
  const path = `/factors/${factor.id}`
  const rows: readonly (readonly [string, string, Json | undefined, string | undefined, number, string, RegExp])[] = [
    ['POST', '/factors', { factor_type: 'totp' }, undefined, 401, 'no_authorization', /Bearer token/],
    ['POST', `${path}/challenge`, {}, undefined, 401, 'no_authorization', /Bearer token/],
    ['POST', `${path}/verify`, verified, undefined, 401, 'no_authorization', /Bearer token/],
    ['DELETE', path, undefined, undefined, 401, 'no_authorization', /Bearer token/],
    ['POST', '/factors', { factor_type: 'totp' }, anonymous.access_token, 403, 'no_authorization', /Anonymous/],
    ['POST', '/factors/recovery-codes', {}, anonymous.access_token, 403, 'no_authorization', /Anonymous/],
    ['POST', '/factors', {}, token, 400, 'validation_failed', /factor_type needs to be totp, phone, or webauthn/],
    ['POST', '/factors', { factor_type: 'other' }, token, 400, 'validation_failed', /factor_type/],
    ['POST', '/factors', { factor_type: 7 }, token, 400, 'bad_json', /factor_type/],
    ['POST', '/factors', { factor_type: 'phone' }, token, 422, 'mfa_phone_enroll_not_enabled', /disabled for Phone/],
    ['POST', '/factors', { factor_type: 'webauthn' }, token, 422, 'mfa_webauthn_enroll_not_enabled', /WebAuthn/],
    ['POST', '/factors', { factor_type: 'totp', friendly_name: 'a\0b' }, token, 400, 'validation_failed', /NUL/],
    [
      'POST',
      '/factors',
      { factor_type: 'totp', friendly_name: 'first' },
      token,
      422,
      'mfa_factor_name_conflict',
      /A factor with the friendly name "first" for this user already exists/,
    ],
    ['POST', '/factors/x/challenge', {}, token, 404, 'validation_failed', /factor_id must be an UUID/],
    ['POST', '/factors/x/verify', verified, token, 404, 'validation_failed', /factor_id must be an UUID/],
    ['DELETE', '/factors/x', undefined, token, 404, 'validation_failed', /factor_id must be an UUID/],
    ['POST', `/factors/${unknown}/challenge`, {}, token, 404, 'mfa_factor_not_found', /^Factor not found$/],
    ['POST', `/factors/${unknown}/verify`, verified, token, 404, 'mfa_factor_not_found', /^Factor not found$/],
    ['DELETE', `/factors/${unknown}`, undefined, token, 404, 'mfa_factor_not_found', /^Factor not found$/],
    ['POST', `/factors/${foreign.id}/challenge`, {}, token, 404, 'mfa_factor_not_found', /^Factor not found$/],
    [
      'POST',
      `/factors/${foreign.id}/verify`,
      { challenge_id: foreignChallenge, code: codeOfApp(foreign) },
      token,
      404,
      'mfa_factor_not_found',
      /^Factor not found$/,
    ],
    ['DELETE', `/factors/${foreign.id}`, undefined, token, 404, 'mfa_factor_not_found', /^Factor not found$/],
    ['POST', `${path}/challenge`, { channel: 'pigeon' }, token, 400, 'validation_failed', /channel/],
    [
      'POST',
      `${path}/verify`,
      { challenge_id: unknown },
      token,
      400,
      'validation_failed',
      /Code needs to be non-empty/,
    ],
    ['POST', `${path}/verify`, { code: '123456' }, token, 422, 'mfa_factor_not_found', /challenge ID not found/],
    ['POST', `${path}/verify`, { challenge_id: 'x', code: '1' }, token, 400, 'bad_json', /challenge_id/],
    ['POST', `${path}/verify`, verified, token, 422, 'mfa_factor_not_found', /challenge ID not found/],
    [
      'POST',
      `${path}/verify`,
      { challenge_id: foreignChallenge, code: codeOfApp(factor) },
      token,
      422,
      'mfa_factor_not_found',
      /challenge ID not found/,
    ],
  ]
  for (const [method, at, body, as, status, code, message] of rows) {
    const answer = await ask(method, at, { ...(body ? { body } : {}), token: as })
    t.match(
      { status: answer.status, code: codeOf(answer), message: String(answer.body.msg) },
      { status, code, message },
      `${method} ${at} ${JSON.stringify(body)}`,
    )
  }
  t.match(await ask('GET', '/user', { token: other.access_token }), {
    body: { factors: [{ id: foreign.id, status: 'unverified' }] },
  })
})

t.test('codes are limited in tries, in time, and to their address', async (t) => {
  const { access_token: token } = await signUp(ask)
  const factor = await enroll(ask, token)
  const at = `/factors/${factor.id}/verify`
  const id = await challenge(ask, token, factor)
  for (let i = 0; i < 5; i++) {
    const answer = await ask('POST', at, { token, body: { challenge_id: id, code: wrongCode(factor) } })
    t.match([answer.status, codeOf(answer)], [422, 'mfa_verification_failed'])
    t.match(answer.body.msg, /Invalid TOTP code entered/)
  }
  const sixth = await ask('POST', at, { token, body: { challenge_id: id, code: codeOfApp(factor) } })
  t.match([sixth.status, codeOf(sixth)], [422, 'mfa_challenge_expired'], 'the right code comes too late')

  const old = await challenge(ask, token, factor)
  await database.query("update auth.mfa_challenges set created_at = now() - interval '301 s' where id = $1", [old])
  const late = await ask('POST', at, { token, body: { challenge_id: old, code: codeOfApp(factor) } })
  t.match([late.status, codeOf(late), late.body.msg], [422, 'mfa_challenge_expired', new RegExp(old)])

  const elsewhere = await challenge(ask, token, factor)
  await database.query("update auth.mfa_challenges set ip_address = '203.0.113.7' where id = $1", [elsewhere])
  const moved = await ask('POST', at, { token, body: { challenge_id: elsewhere, code: codeOfApp(factor) } })
  t.match([moved.status, codeOf(moved)], [422, 'mfa_ip_address_mismatch'])

  await database.query('update auth.mfa_challenges set attempts = 30 where id = $1', [id])
  const many = await verify(ask, token, factor, codeOfApp(factor))
  t.match([many.status, codeOf(many)], [429, 'over_request_rate_limit'], 'new challenges give no further tries')
  t.match(many.headers.get('retry-after'), /^\d+$/)
  t.notOk(Number(many.headers.get('retry-after')) > 3600)
})

t.test('a code is accepted once', async (t) => {
  const first = await signUp(ask)
  const { factor, session } = await raise(ask, first.access_token)
  const again = await verify(ask, session.access_token, factor, codeOfApp(factor))
  const step = await database.query('select last_totp_step from auth.mfa_factors where id = $1', [factor.id])
  // Unless a time step has begun since, which makes the code another one.
  if (Number(step.rows[0]?.last_totp_step) === Math.floor(Date.now() / 30_000)) {
    t.match([again.status, codeOf(again), again.body.msg], [422, 'mfa_verification_failed', /used already/])
  }
  const older = await verify(ask, session.access_token, factor, codeOfApp(factor, -1))
  t.match([older.status, codeOf(older)], [422, 'mfa_verification_failed'], 'nor is one of an earlier step')
})

t.test('of 50 concurrent verifications with one code, one wins', async (t) => {
  const { access_token: token, user } = await signUp(ask)
  const factor = await enroll(ask, token)
  const challenges = await Promise.all(Array.from({ length: 50 }, () => challenge(ask, token, factor)))
  const code = codeOfApp(factor)
  const answers = await Promise.all(
    challenges.map((id) => ask('POST', `/factors/${factor.id}/verify`, { token, body: { challenge_id: id, code } })),
  )
  const won = answers.filter(({ status }) => status === 200)
  t.equal(won.length, 1)
  for (const answer of answers) if (answer.status !== 200) t.ok([422, 429].includes(answer.status), answer.text)

  const one = await challenge(ask, token, factor)
  await forgetStep(factor)
  const same = await Promise.all(
    Array.from({ length: 50 }, () =>
      ask('POST', `/factors/${factor.id}/verify`, { token, body: { challenge_id: one, code: codeOfApp(factor) } }),
    ),
  )
  t.ok(same.filter(({ status }) => status === 200).length <= 1, 'one challenge is used up once')
  t.notOk(same.some(({ status }) => status >= 500))
  const { rows } = await database.query(
    `select (select count(*)::int from auth.sessions where user_id = $1) as sessions,
      (select count(*)::int from auth.refresh_tokens where user_id = $1::text and not revoked) as tokens`,
    [user.id],
  )
  t.strictSame(rows, [{ sessions: 1, tokens: 1 }])
})

t.test('factors of two sessions that are verified at the same time do not deadlock', async (t) => {
  const first = await signUp(ask)
  const second = await signIn(first.user.email)
  const a = await enroll(ask, first.access_token, 'a')
  const b = await enroll(ask, second.access_token, 'b')
  const attempts = await Promise.all(
    [
      { token: first.access_token, factor: a },
      { token: second.access_token, factor: b },
    ].map(async ({ token, factor }) => ({ token, factor, challenge: await challenge(ask, token, factor) })),
  )
  const answers = await Promise.all(
    attempts.map(({ token, factor, challenge: id }) =>
      ask('POST', `/factors/${factor.id}/verify`, { token, body: { challenge_id: id, code: codeOfApp(factor) } }),
    ),
  )
  t.notOk(answers.some(({ status }) => status >= 500))
  t.equal(answers.filter(({ status }) => status === 200).length, 1, 'the first ends the other session or factor')
})

t.test('the level of the session protects the factors', async (t) => {
  const first = await signUp(ask)
  const { factor, session } = await raise(ask, first.access_token)
  const { access_token: low } = await signIn(first.user.email)
  const rows = [
    [await ask('POST', '/factors', { token: low, body: { factor_type: 'totp', friendly_name: 'x' } }), 403, /enroll/],
    [await ask('DELETE', `/factors/${factor.id}`, { token: low }), 422, /unenroll verified factor/],
    [await ask('POST', '/factors/recovery-codes', { token: low }), 403, /recovery codes/],
    [await ask('PUT', '/user', { token: low, body: { password: 'another password' } }), 401, /AAL2/],
  ] as const
  for (const [answer, status, message] of rows) {
    t.match([answer.status, codeOf(answer), answer.body.msg], [status, 'insufficient_aal', message])
  }
  await enroll(ask, session.access_token, 'second')
  await enroll(ask, session.access_token, 'third')
  const fourth = await ask('POST', '/factors', {
    token: session.access_token,
    body: { factor_type: 'totp', friendly_name: 'fourth' },
  })
  t.match([fourth.status, codeOf(fourth)], [422, 'too_many_enrolled_mfa_factors'])
  await database.query("update auth.mfa_factors set created_at = now() - interval '301 s' where user_id = $1", [
    first.user.id,
  ])
  await enroll(ask, session.access_token, 'fourth')
  const { body } = await ask('GET', '/user', { token: session.access_token })
  t.strictSame(
    (body.factors as Json[]).map(({ friendly_name: name }) => name),
    ['app', 'fourth'],
    'factors that were not verified in time are deleted',
  )
})

t.test('recovery codes replace a lost factor, each once', async (t) => {
  const { access_token: token, user } = await signUp(ask)
  const { factor, session } = await raise(ask, token)
  t.strictSame((await ask('GET', '/factors/recovery-codes', { token: session.access_token })).body, {
    total: 0,
    remaining: 0,
    created_at: null,
  })
  const created = await ask('POST', '/factors/recovery-codes', { token: session.access_token })
  t.equal(created.status, 200)
  const codes = created.body.codes as string[]
  t.equal(codes.length, 10)
  const stored = await database.query('select code_hash from auth.mfa_recovery_codes where user_id = $1', [user.id])
  t.notOk(stored.rows.some(({ code_hash: hash }) => codes.some((code) => String(hash).includes(code))))

  const low = await signIn(user.email)
  const used = await verify(ask, low.access_token, factor, (codes[0] ?? '').toUpperCase().replaceAll('-', ' '))
  const raised = sessionOf(used)
  t.match(claimsOf(raised), { aal: 'aal2', amr: [{ method: 'mfa/recovery_code' }, { method: 'password' }] })
  const again = await verify(ask, raised.access_token, factor, codes[0] ?? '')
  t.match([again.status, codeOf(again)], [422, 'mfa_verification_failed'])
  t.match((await ask('GET', '/factors/recovery-codes', { token: raised.access_token })).body, {
    total: 10,
    remaining: 9,
  })

  const other = await signUp(ask)
  const { factor: foreign, session: otherSession } = await raise(ask, other.access_token)
  const stolen = await verify(ask, otherSession.access_token, foreign, codes[1] ?? '')
  t.match([stolen.status, codeOf(stolen)], [422, 'mfa_verification_failed'], 'a code is valid for its user only')

  const at = `/factors/${factor.id}/verify`
  const challenges = await Promise.all(Array.from({ length: 10 }, () => challenge(ask, raised.access_token, factor)))
  const answers = await Promise.all(
    challenges.map((id) =>
      ask('POST', at, { token: raised.access_token, body: { challenge_id: id, code: codes[2] ?? '' } }),
    ),
  )
  t.equal(answers.filter(({ status }) => status === 200).length, 1, 'concurrent requests use a code once')

  const fresh = sessionOf(answers.find(({ status }) => status === 200) ?? used)
  const replaced = await ask('POST', '/factors/recovery-codes', { token: fresh.access_token })
  t.equal(replaced.status, 200)
  const earlier = await verify(ask, fresh.access_token, factor, codes[3] ?? '')
  t.match([earlier.status, codeOf(earlier)], [422, 'mfa_verification_failed'], 'new codes replace the earlier ones')
  await ask('DELETE', `/factors/${factor.id}`, { token: fresh.access_token })
  const { rows } = await database.query('select count(*)::int from auth.mfa_recovery_codes where user_id = $1', [
    user.id,
  ])
  t.strictSame(rows, [{ count: 0 }], 'they are deleted with the last verified factor')
})

t.test('recovery codes from before the first factor are valid only for the session that verifies it', async (t) => {
  const owner = await signUp(ask)
  const thief = await signIn(owner.user.email)
  const before = await ask('POST', '/factors/recovery-codes', { token: thief.access_token })
  const [code = ''] = before.body.codes as string[]
  const unverified = await enroll(ask, thief.access_token, 'unverified')
  const early = await verify(ask, thief.access_token, unverified, code)
  t.match([early.status, codeOf(early)], [422, 'mfa_verification_failed'], 'a recovery code verifies no new factor')
  const { factor, session } = await raise(ask, owner.access_token)
  const late = await verify(ask, session.access_token, factor, code)
  t.match([late.status, codeOf(late)], [422, 'mfa_verification_failed'])

  const careful = await signUp(ask)
  const own = await ask('POST', '/factors/recovery-codes', { token: careful.access_token })
  const second = await raise(ask, careful.access_token)
  const used = await verify(ask, second.session.access_token, second.factor, (own.body.codes as string[])[0] ?? '')
  t.equal(used.status, 200)
})

t.test('policies of the REST API see the level', async (t) => {
  await database.query(`
    create table public.vaults (id int primary key);
    insert into public.vaults values (1);
    alter table public.vaults enable row level security;
    grant select on public.vaults to authenticated;
    create policy with_second_factor on public.vaults for select to authenticated
      using ((select auth.jwt() ->> 'aal') = 'aal2');
  `)
  const first = await signUp(ask)
  const { session } = await raise(ask, first.access_token)
  const low = await signIn(first.user.email)
  const read = async (token: string) => {
    const { status, body } = await call('GET', '/rest/v1/vaults', { headers: { Authorization: `Bearer ${token}` } })
    return [status, body]
  }
  const isThere = async () => (await read(session.access_token))[0] === 200
  for (let i = 0; i < 600 && !(await isThere()); i++) await new Promise((resolve) => setTimeout(resolve, 50))
  t.strictSame(await read(session.access_token), [200, [{ id: 1 }]])
  t.strictSame(await read(low.access_token), [200, []])
})

t.test('types that are switched off', async (t) => {
  const off = await startApplication(t, database.authenticatorUri, {
    ...settings,
    GOTRUE_MFA_TOTP_ENROLL_ENABLED: 'false',
    GOTRUE_MFA_TOTP_VERIFY_ENABLED: 'false',
    GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED: 'true',
    GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED: 'false',
    GOTRUE_MFA_PHONE_ENROLL_ENABLED: 'true',
  })
  const askOff = askAuth(off.url)
  const { access_token: token } = await signUp(askOff, newAddress())
  const factor = await enroll(ask, token)
  const rows = [
    [await askOff('POST', '/factors', { token, body: { factor_type: 'totp' } }), 'mfa_totp_enroll_not_enabled'],
    [await askOff('POST', `/factors/${factor.id}/challenge`, { token }), 'mfa_totp_verify_not_enabled'],
    [
      await askOff('POST', `/factors/${factor.id}/verify`, { token, body: { challenge_id: unknown, code: '1' } }),
      'mfa_totp_verify_not_enabled',
    ],
    [
      await askOff('POST', '/factors', { token, body: { factor_type: 'phone', phone: '+15551234' } }),
      'mfa_phone_enroll_not_enabled',
    ],
  ] as const
  for (const [answer, code] of rows) t.match([answer.status, codeOf(answer)], [422, code])
  const key = await askOff('POST', '/factors', { token, body: { factor_type: 'webauthn', friendly_name: 'key' } })
  t.match([key.status, key.body], [200, { type: 'webauthn', friendly_name: 'key' }])
  const challenged = await askOff('POST', `/factors/${String(key.body.id)}/challenge`, { token })
  t.match([challenged.status, codeOf(challenged)], [422, 'mfa_webauthn_verify_not_enabled'])
  t.equal((await askOff('DELETE', `/factors/${String(key.body.id)}`, { token })).status, 200)
})
