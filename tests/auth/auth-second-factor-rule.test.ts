// An account with a second factor: a session that has not used it changes no way to sign in. The functions of the database
// refuse, whatever route calls them.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { askAuth, claimsOf, codeOf, newAddress, password, passwordGrant, sessionOf, signUp } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { startIssuer } from '../support/id-token-issuer.ts'
import { challenge, codeOfApp, enroll, raise } from '../support/second-factor.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const issuer = await startIssuer(t)
const settings = {
  ...{ GOTRUE_MAILER_AUTOCONFIRM: 'true', SESSION_SECRETS: 's'.repeat(32), SECURE_COOKIES: 'false' },
  ...{ GOTRUE_EXTERNAL_GOOGLE_ENABLED: 'true', GOTRUE_EXTERNAL_GOOGLE_CLIENT_ID: 'app' },
  ...{ GOTRUE_EXTERNAL_GOOGLE_URL: issuer.issuer, GOTRUE_EXTERNAL_GOOGLE_SKIP_NONCE_CHECK: 'true' },
  ...{ GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'true', GOTRUE_RATE_LIMIT_OTP: '100000' },
  GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: '100000',
}
const { url, call } = await startApplication(t, database.authenticatorUri, settings)
const ask = askAuth(url)

const idToken = (sub: string, email: string) => issuer.sign({ sub, email, email_verified: true })

/** An account with a second factor, a session that has used it, and one that knows the password alone. */
async function victim() {
  const email = newAddress()
  const { user, access_token: first } = await signUp(ask, email)
  // Linked before there was a factor.
  const link = { provider: 'google', id_token: await idToken(`of ${email}`, `other-${email}`), link_identity: true }
  sessionOf(await ask('POST', '/token?grant_type=id_token', { body: link, token: first }))
  const { factor, session } = await raise(ask, first)
  const low = sessionOf(await passwordGrant(ask, email, password))
  const { rows } = await database.query("select id from auth.identities where user_id = $1 and provider = 'email'", [
    user.id,
  ])
  return { id: user.id, email, factor, high: session, low, emailIdentity: String(rows[0]?.id) }
}

const credentials = async (id: string) =>
  (
    await database.query(
      `select email, phone, encrypted_password, email_change, phone_change,
         (select jsonb_agg(i.provider || i.provider_id order by i.id) from auth.identities i where i.user_id = users.id) as identities,
         (select jsonb_agg(f.id || f.status::text order by f.id) from auth.mfa_factors f where f.user_id = users.id) as factors,
         (select count(*)::int from auth.mfa_recovery_codes c where c.user_id = users.id) as codes,
         (select count(*)::int from auth.one_time_tokens o where o.user_id = users.id) as mails,
         (select count(*)::int from auth.flow_state f where f.linking_target_id = users.id) as flows,
         (select count(*)::int from auth.sessions s where s.user_id = users.id and s.aal = 'aal2') as sessions
       from auth.users where id = $1`,
      [id],
    )
  ).rows[0]

t.test('by the routes: a change -> the error of a session at aal1', async (t) => {
  const { id, email, factor, high, low, emailIdentity } = await victim()
  const before = await credentials(id)
  const link = { provider: 'google', id_token: await idToken(crypto.randomUUID(), newAddress()), link_identity: true }
  const changes = [
    ['PUT', '/user', { password: 'battery staple' }, 401],
    ['PUT', '/user', { email: newAddress() }, 401],
    ['PUT', '/user', { phone: '15550300' }, 401],
    ['GET', '/user/identities/authorize?provider=google&skip_http_redirect=true', undefined, 403],
    ['POST', '/token?grant_type=id_token', link, 403],
    ['DELETE', `/user/identities/${emailIdentity}`, undefined, 403],
    ['POST', '/factors', { factor_type: 'totp', friendly_name: 'of the thief' }, 403],
    ['DELETE', `/factors/${factor.id}`, undefined, 422],
    ['POST', '/factors/recovery-codes', undefined, 403],
    ['POST', '/logout?scope=others', undefined, 403],
  ] as const
  for (const [method, path, body, status] of changes) {
    const given = await ask(method, path, { token: low.access_token, ...(body === undefined ? {} : { body }) })
    t.strictSame([given.status, codeOf(given)], [status, 'insufficient_aal'], `${method} ${path} ${given.text}`)
  }
  const cookie = await call('POST', '/auth/signin', { body: { email, password } })
  const headers = { Cookie: cookie.cookie ?? '' }
  for (const [method, path, body] of [
    ['PATCH', '/auth/me', { currentPassword: password, password: 'battery staple' }],
    ['PATCH', '/auth/me', { currentPassword: password, email: newAddress() }],
    ['DELETE', '/auth/me', { password }],
    ['DELETE', `/auth/sessions/${String(claimsOf(high).session_id)}`, undefined],
    ['DELETE', '/auth/sessions/others', undefined],
  ] as const) {
    const given = await call(method, path, { headers, ...(body === undefined ? {} : { body }) })
    t.match([given.status, given.body], [403, { message: /second factor/ }], `${method} ${path}`)
  }
  t.strictSame(await credentials(id), before, 'nothing has changed')

  t.equal((await ask('POST', '/logout?scope=global', { token: low.access_token })).status, 204)
  t.equal((await ask('GET', '/user', { token: low.access_token })).status, 403, 'signing out ends the own session')
  t.equal((await ask('GET', '/user', { token: high.access_token })).status, 200, 'and none that has used the factor')
  const other = { provider: 'google', id_token: await idToken(crypto.randomUUID(), newAddress()), link_identity: true }
  const linked = await ask('POST', '/token?grant_type=id_token', { body: other, token: high.access_token })
  t.equal(linked.status, 200, `with the factor, it works ${linked.text}`)
  t.equal((await ask('DELETE', `/user/identities/${emailIdentity}`, { token: high.access_token })).status, 200)
})

t.test('by the functions: a change -> refused for a session at aal1, and without a session', async (t) => {
  const { id, factor, high, low, emailIdentity } = await victim()
  const before = await credentials(id)
  const hash = String(before?.encrypted_password)
  const oauthClient = crypto.randomUUID()
  await database.query(
    `insert into auth.oauth_clients (id, registration_type, redirect_uris, grant_types, client_type, token_endpoint_auth_method)
     values ($1, 'dynamic', 'https://thief.example', 'authorization_code', 'public', 'none')`,
    [oauthClient],
  )
  await database.query(
    `insert into auth.oauth_authorizations (id, authorization_id, client_id, user_id, redirect_uri, scope)
     values (gen_random_uuid(), 'of the thief', $1, $2, 'https://thief.example', 'email')`,
    [oauthClient, id],
  )
  await database.query(
    "insert into auth.oauth_consents (id, user_id, client_id, scopes) values (gen_random_uuid(), $2, $1, 'phone')",
    [oauthClient, id],
  )
  const of = (session: string | null) =>
    ({
      change_account: [
        'select auth.change_account($1, $2, true, $3, $4, null, null, null, null, null)',
        [id, session, hash, 'new'],
      ],
      'change_account, address': [
        'select auth.change_account($1, $2, false, null, null, null, null, $3, null, null)',
        [id, session, newAddress()],
      ],
      'change_account, phone': [
        'select auth.change_account($1, $2, false, null, null, null, null, null, $3, null)',
        [id, session, '15550301'],
      ],
      issue_change_code: [
        'select auth.issue_change_code($1)',
        [
          JSON.stringify({
            user_id: id,
            session_id: session,
            purpose: 'email_change',
            new_email: newAddress(),
            code: '1',
            current_code: '2',
          }),
        ],
      ],
      'issue_change_code, phone': [
        'select auth.issue_change_code($1)',
        [
          JSON.stringify({
            user_id: id,
            session_id: session,
            purpose: 'phone_change',
            new_phone: '15550302',
            code: '1',
          }),
        ],
      ],
      start_linking: [
        'select auth.start_linking($1)',
        [
          JSON.stringify({
            linking_target_id: id,
            session_id: session,
            provider_type: 'google',
            authentication_method: 'oauth',
          }),
        ],
      ],
      link_identity: [
        'select result from auth.link_identity($1)',
        [
          JSON.stringify({
            user_id: id,
            session_id: session,
            provider: 'google',
            subject: crypto.randomUUID(),
            identity_data: {},
            email: null,
          }),
        ],
      ],
      unlink_identity: ['select auth.unlink_identity($1, $2, true, null, $3)', [id, emailIdentity, session]],
      enroll_factor: [
        "select auth.enroll_factor($1, $2, 'totp', 'x', 'x', null, 9, 9, interval '1 h', null)",
        [id, session],
      ],
      unenroll_factor: ['select auth.unenroll_factor($1, $2, $3, null)', [id, session, factor.id]],
      begin_passkey_registration: [
        "select auth.begin_passkey_registration($1, $2, 'x', interval '1 min', 9)",
        [id, session],
      ],
      take_passkey_registration: [
        'select auth.take_passkey_registration($1, $2, $3)',
        [id, session, crypto.randomUUID()],
      ],
      add_passkey: ["select auth.add_passkey($1, $2, '{}', 9, null)", [id, session]],
      remove_passkey: ['select auth.remove_passkey($1, $2, $3, null)', [id, session, crypto.randomUUID()]],
      answer_oauth_authorization: [
        "select auth.answer_oauth_authorization('of the thief', $1, $2, true, 'x', null)",
        [id, session],
      ],
      revoke_oauth_grant: ['select auth.revoke_oauth_grant($1, $2, $3, null)', [id, session, oauthClient]],
      create_recovery_codes: ["select auth.create_recovery_codes($1, $2, '{a}', null)", [id, session]],
      end_sessions: ["select auth.end_sessions($1, $2, 'others', null)", [id, session]],
      revoke_own_sessions: ['select auth.revoke_own_sessions($1, $2, $3)', [id, session, claimsOf(high).session_id]],
      'revoke_own_sessions, others': ['select auth.revoke_own_sessions($1, $2, null)', [id, session]],
      change_user: ['select auth.change_user($1, $2, $3, null, $4)', [id, hash, newAddress(), session]],
      'change_user, password': ['select auth.change_user($1, $2, null, $3, $4)', [id, hash, 'new', session]],
      delete_user: ['select auth.delete_user($1, $2, null, $3)', [id, hash, session]],
    }) as const
  const outcomes = async (session: string | null): Promise<Record<string, string>> => {
    const found: Record<string, string> = {}
    for (const [name, [sql, values]] of Object.entries(of(session))) {
      const answer = await database.query(sql, [...values]).then(
        ({ rows }) => JSON.stringify(rows),
        (error: unknown) => String(error),
      )
      found[name] = /insufficient_aal|session_not_found/.exec(answer)?.[0] ?? answer
    }
    return found
  }
  const names = Object.keys(of(null))
  const all = (of: string) => Object.fromEntries(names.map((name) => [name, of]))
  t.strictSame(await outcomes(String(claimsOf(low).session_id)), all('insufficient_aal'))
  // These ask for a session in any case.
  const asking = Object.fromEntries(
    [
      ...['enroll_factor', 'create_recovery_codes', 'begin_passkey_registration', 'add_passkey'],
      'take_passkey_registration',
      'answer_oauth_authorization',
    ].map((name) => [name, 'session_not_found']),
  )
  t.strictSame(await outcomes(null), { ...all('insufficient_aal'), ...asking })
  t.strictSame(await credentials(id), before, 'nothing has changed')

  // A function that is new, and takes a session, must be in the table, or be harmless.
  const harmless = new Set(
    [
      'add_cookie',
      'add_refresh_token',
      'breaks_limits',
      'check_session',
      'find_caller',
      'find_issued_session',
      'issue_tokens',
    ].concat(
      ['lacks_second_factor', 'require_second_factor', 'verify_factor'],
      ['passkey_refusal', 'verify_webauthn_factor'],
      // What they approve without a question was approved before, and they ask for the factor.
      ['find_oauth_request', 'open_oauth_authorization', 'approve_oauth_request'],
    ),
  )
  const { rows } = await database.query(
    `select distinct proname::text as name from pg_proc
     where pronamespace = 'auth'::regnamespace and (proargnames && '{session_id}' or prosrc like '%''session_id''%')`,
  )
  const tested = new Set(names.map((name) => name.split(',')[0]))
  t.strictSame(
    rows
      .map(({ name }) => String(name))
      .filter((name) => !tested.has(name) && !harmless.has(name) && name !== 'take_oauth_state'),
    [],
  )
})

t.test('a factor that was added before another was verified does not take its place', async (t) => {
  const email = newAddress()
  const { user, access_token: first } = await signUp(ask, email)
  const early = await enroll(ask, first, 'of the thief')
  // Of another type, so that verifying a factor leaves it.
  await database.query("update auth.mfa_factors set factor_type = 'webauthn' where id = $1", [early.id])
  await raise(ask, first)
  await database.query("update auth.mfa_factors set factor_type = 'totp' where id = $1", [early.id])
  const low = sessionOf(await passwordGrant(ask, email, password))
  const refused = await ask('POST', `/factors/${early.id}/verify`, {
    token: low.access_token,
    body: { challenge_id: await challenge(ask, low.access_token, early), code: codeOfApp(early) },
  })
  t.strictSame([refused.status, codeOf(refused)], [403, 'insufficient_aal'])
  const { rows } = await database.query('select aal::text from auth.sessions where user_id = $1 order by aal', [
    user.id,
  ])
  t.strictSame(rows, [{ aal: 'aal1' }, { aal: 'aal2' }])
})

t.test('what was begun before the first factor does not continue', async (t) => {
  const strict = await startApplication(t, database.authenticatorUri, {
    ...settings,
    GOTRUE_MAILER_AUTOCONFIRM: 'false',
  })
  const { user, access_token: thief } = await signUp(ask)
  const { access_token: owner } = sessionOf(await passwordGrant(ask, user.email, password))
  await askAuth(strict.url)('PUT', '/user', { token: thief, body: { email: newAddress() } })
  await ask('GET', '/user/identities/authorize?provider=google&skip_http_redirect=true', { token: thief })
  const begun = await credentials(user.id)
  t.ok(Number(begun?.mails) > 0 && begun?.flows === 1 && begun.email_change !== '', 'a change and a link are pending')
  await raise(ask, owner)
  t.match(await credentials(user.id), { mails: 0, flows: 0, email_change: '' })
})

t.test('a link goes on only in the session that began it', async (t) => {
  const { id, high } = await victim()
  const begin = () =>
    ask('GET', '/user/identities/authorize?provider=google&skip_http_redirect=true', { token: high.access_token })
  t.equal((await begin()).status, 200)
  const flows = await database.query(
    'select linking_session_id::text as session from auth.flow_state where linking_target_id = $1',
    [id],
  )
  t.strictSame(flows.rows, [{ session: claimsOf(high).session_id }])
  await database.query("update auth.sessions set aal = 'aal1' where id = $1", [claimsOf(high).session_id])
  const request = {
    user_id: id,
    session_id: claimsOf(high).session_id,
    provider: 'google',
    subject: 'x',
    identity_data: {},
  }
  const { rows } = await database.query('select result from auth.link_identity($1)', [JSON.stringify(request)])
  t.match(rows, [{ result: { outcome: 'insufficient_aal' } }], 'the level of the session counts when the link ends')
})
