// Refresh tokens of `/auth/v1`: rotation, grace for the parent, reuse interval, families, limits of sessions, concurrency.
import pg from 'pg'
import t, { type Test } from 'tap'
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
} from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

async function start(t: Pick<Test, 'teardown'>, env: Readonly<Record<string, string>> = {}) {
  const { url, logged } = await startApplication(t, database.authenticatorUri, {
    GOTRUE_MAILER_AUTOCONFIRM: 'true',
    PGRST_LOG_LEVEL: 'warn',
    ...env,
  })
  return { ask: askAuth(url), logged }
}

/** Makes the times of a session's tokens older. */
const age = (token: string, time: string) =>
  database.query(
    `update auth.refresh_tokens set updated_at = updated_at - $2::interval, created_at = created_at - $2::interval
     where session_id = (select session_id from auth.refresh_tokens where token = $1)`,
    [token, time],
  )

t.test('without a reuse interval', async (t) => {
  const { ask, logged } = await start(t)
  await t.test('rotation, and grace for the parent of the active token', async (t) => {
    const first = await signUp(ask)
    const second = sessionOf(await refreshGrant(ask, first.refresh_token))
    t.not(second.refresh_token, first.refresh_token)
    t.equal(claimsOf(second).session_id, claimsOf(first).session_id)
    t.match(claimsOf(second), { amr: [{ method: 'password' }] })
    await age(first.refresh_token, '1 day')
    const again = sessionOf(await refreshGrant(ask, first.refresh_token))
    t.equal(again.refresh_token, second.refresh_token, 'a lost response is repeated, however late')
    const third = sessionOf(await refreshGrant(ask, second.refresh_token))
    const reused = await refreshGrant(ask, first.refresh_token)
    t.match(reused, { status: 400, body: { error_code: 'refresh_token_already_used' } })
    t.match(await refreshGrant(ask, third.refresh_token), { body: { error_code: 'refresh_token_already_used' } })
    t.equal((await ask('GET', '/user', { token: third.access_token })).status, 200, 'the session itself stays')
    const reasons = logged().filter(({ msg }) => typeof msg === 'string' && msg.includes('A refresh token was refused'))
    t.match(reasons[0]?.msg, /of session [0-9a-f-]{36} was used .* ago/)
    t.notMatch(JSON.stringify(logged()), new RegExp(third.refresh_token))
  })

  await t.test('50 concurrent refreshes of one token give one child', async (t) => {
    const { refresh_token: token } = await signUp(ask)
    const answers = await Promise.all(Array.from({ length: 50 }, () => refreshGrant(ask, token)))
    t.strictSame([...new Set(answers.map(({ status }) => status))], [200])
    t.equal(new Set(answers.map((answer) => sessionOf(answer).refresh_token)).size, 1)
    const { rows } = await database.query(
      'select count(*)::integer as children from auth.refresh_tokens where parent = $1',
      [token],
    )
    t.equal(rows[0]?.children, 1)
  })

  await t.test('a refresh that waits for another one sees what it did to the token', async (t) => {
    const { refresh_token: token } = await signUp(ask)
    const client = new pg.Client({ connectionString: database.adminUri })
    await client.connect()
    t.teardown(() => client.end())
    await client.query('begin')
    await client.query(
      'select from auth.sessions where id = (select session_id from auth.refresh_tokens where token = $1) for update',
      [token],
    )
    const waiting = refreshGrant(ask, token)
    const isWaiting = async (): Promise<boolean> => {
      const { rows } = await database.query(
        `select from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like '%refresh_session%'`,
      )
      return rows.length > 0
    }
    t.ok(await until(isWaiting))
    await client.query('update auth.refresh_tokens set revoked = true where token = $1', [token])
    await client.query('commit')
    t.equal(codeOf(await waiting), 'refresh_token_already_used')
  })

  await t.test('a session that has ended', async (t) => {
    const session = await signUp(ask)
    const { rows } = await database.query('delete from auth.sessions where user_id = $1 returning id', [
      session.user.id,
    ])
    t.equal(rows.length, 1)
    t.equal(codeOf(await refreshGrant(ask, session.refresh_token)), 'refresh_token_not_found')
    const orphan = await signUp(ask)
    await database.query('update auth.refresh_tokens set session_id = null where token = $1', [orphan.refresh_token])
    t.match(await refreshGrant(ask, orphan.refresh_token), { status: 400, body: { error_code: 'session_not_found' } })
  })
})

t.test('with a reuse interval', async (t) => {
  const { ask } = await start(t, { GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: '10' })
  const first = await signUp(ask)
  const second = sessionOf(await refreshGrant(ask, first.refresh_token))
  const third = sessionOf(await refreshGrant(ask, second.refresh_token))
  const late = sessionOf(await refreshGrant(ask, first.refresh_token))
  t.notOk(
    [first, second, third].some(({ refresh_token: token }) => token === late.refresh_token),
    'a new token',
  )
  t.equal((await refreshGrant(ask, third.refresh_token)).status, 200)
  await age(first.refresh_token, '11 seconds')
  t.equal(codeOf(await refreshGrant(ask, second.refresh_token)), 'refresh_token_already_used')
  t.equal(codeOf(await refreshGrant(ask, late.refresh_token)), 'refresh_token_already_used', 'the family has ended')
})

t.test('without rotation a reused token does not end the session', async (t) => {
  const { ask } = await start(t, { GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED: 'false' })
  const first = await signUp(ask)
  const second = sessionOf(await refreshGrant(ask, first.refresh_token))
  const third = sessionOf(await refreshGrant(ask, second.refresh_token))
  t.equal(codeOf(await refreshGrant(ask, first.refresh_token)), 'refresh_token_already_used')
  t.equal((await refreshGrant(ask, third.refresh_token)).status, 200)
})

t.test('limits of sessions', async (t) => {
  const older = (user: string, time: string) =>
    database.query(
      `update auth.sessions set created_at = created_at - $2::interval, refreshed_at = refreshed_at - $2::interval
       where user_id = $1`,
      [user, time],
    )
  const expired = { status: 400, body: { error_code: 'session_expired' } }
  await t.test('timebox', async (t) => {
    const { ask } = await start(t, { GOTRUE_SESSIONS_TIMEBOX: '1h' })
    const session = await signUp(ask)
    t.equal((await refreshGrant(ask, session.refresh_token)).status, 200)
    await older(session.user.id, '61 minutes')
    t.match(await refreshGrant(ask, session.refresh_token), expired)
  })
  await t.test('inactivity', async (t) => {
    const { ask } = await start(t, { GOTRUE_SESSIONS_INACTIVITY_TIMEOUT: '1h' })
    const session = sessionOf(await refreshGrant(ask, (await signUp(ask)).refresh_token))
    await older(session.user.id, '61 minutes')
    const refused = await refreshGrant(ask, session.refresh_token)
    t.match(refused, expired)
    t.match(refused.body.msg, /Inactivity/)
  })
  await t.test('a single session per user', async (t) => {
    const { ask } = await start(t, { GOTRUE_SESSIONS_SINGLE_PER_USER: 'true' })
    const email = newAddress()
    const first = await signUp(ask, email)
    const second = sessionOf(await passwordGrant(ask, email))
    t.match(await refreshGrant(ask, first.refresh_token), expired)
    t.equal((await refreshGrant(ask, second.refresh_token)).status, 200)
  })
  await t.test('low assurance', async (t) => {
    const { ask } = await start(t, { GOTRUE_SESSIONS_ALLOW_LOW_AAL: '15m' })
    const session = await signUp(ask)
    t.equal(session.expires_in, 3600)
    await database.query(
      `insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
       values (gen_random_uuid(), $1, 'totp', 'verified', now(), now())`,
      [session.user.id],
    )
    const limited = sessionOf(await refreshGrant(ask, session.refresh_token))
    t.ok(limited.expires_in <= 900)
    t.match(limited.user, { factors: [{ factor_type: 'totp', status: 'verified' }] })
    const body = { password: 'another password' }
    t.match(await ask('PUT', '/user', { token: limited.access_token, body }), {
      status: 401,
      body: { error_code: 'insufficient_aal' },
    })
    t.equal((await ask('PUT', '/user', { token: limited.access_token, body: { data: { a: 1 } } })).status, 200)
    await older(session.user.id, '16 minutes')
    const refused = await refreshGrant(ask, limited.refresh_token)
    t.match(refused, expired)
    t.match(refused.body.msg, /Low AAL/)
  })
})

t.test('50 concurrent sign-ups of one address make one account', async (t) => {
  const { ask } = await start(t)
  const email = newAddress()
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => ask('POST', '/signup', { body: { email, password } })),
  )
  t.strictSame(
    answers
      .map(({ status }) => status)
      .sort()
      .slice(0, 2),
    [200, 422],
  )
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  t.strictSame([...new Set(answers.filter(({ status }) => status === 422).map(codeOf))], ['user_already_exists'])
  const { rows } = await database.query(
    'select count(*)::integer as users, (select count(*)::integer from auth.identities where identities.email = $1) as identities from auth.users where email = $1',
    [email],
  )
  t.strictSame(rows, [{ users: 1, identities: 1 }])
})

t.test('a password change while a sign-in compares the old one', async (t) => {
  const { ask } = await start(t)
  const email = newAddress()
  const { access_token: token } = await signUp(ask, email)
  const [, ...signIns] = await Promise.all([
    ask('PUT', '/user', { token, body: { password: 'another password' } }),
    ...Array.from({ length: 5 }, () => passwordGrant(ask, email)),
  ])
  for (const answer of signIns) {
    if (answer.status !== 200) t.match(answer, { status: 400, body: { error_code: 'invalid_credentials' } })
    else t.equal(codeOf(await ask('GET', '/user', { token: sessionOf(answer).access_token })), 'session_not_found')
  }
  t.equal((await ask('GET', '/user', { token })).status, 200)
})
