// `/auth/v1` with parts of it disabled, and with addresses that have to be confirmed.
import t, { type Test } from 'tap'
import { startApplication } from '../support/application.ts'
import {
  askAuth,
  codeOf,
  newAddress,
  password,
  passwordGrant,
  sessionOf,
  signUp,
  type AskAuth,
  type Json,
} from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

const start = async (t: Pick<Test, 'teardown'>, env: Readonly<Record<string, string>>): Promise<AskAuth> =>
  askAuth((await startApplication(t, database.authenticatorUri, env)).url)

t.test('ways to sign in that are disabled', async (t) => {
  const email = newAddress()
  const phone = '15550100'
  const signIn = '/token?grant_type=password'
  type Row = readonly [env: Readonly<Record<string, string>>, path: string, body: Json, status: number, code: string]
  const rows: readonly Row[] = [
    [{ GOTRUE_DISABLE_SIGNUP: 'true' }, '/signup', { email, password }, 422, 'signup_disabled'],
    [{}, '/signup', {}, 422, 'anonymous_provider_disabled'],
    [
      { GOTRUE_DISABLE_SIGNUP: 'true', GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true' },
      '/signup',
      {},
      422,
      'signup_disabled',
    ],
    [{ GOTRUE_EXTERNAL_EMAIL_ENABLED: 'false' }, '/signup', { email, password }, 400, 'email_provider_disabled'],
    [{ GOTRUE_EXTERNAL_EMAIL_ENABLED: 'false' }, signIn, { email, password }, 422, 'email_provider_disabled'],
    [{}, '/signup', { phone, password }, 400, 'phone_provider_disabled'],
    [{}, signIn, { phone, password }, 422, 'phone_provider_disabled'],
  ]
  for (const [env, path, body, status, code] of rows) {
    const ask = await start(t, env)
    t.match(await ask('POST', path, { body }), { status, body: { code: status, error_code: code } }, code)
  }
})

t.test('an address that has an account, when addresses have to be confirmed', async (t) => {
  const confirming = await start(t, { GOTRUE_MAILER_AUTOCONFIRM: 'true' })
  const { user } = await signUp(confirming)
  const ask = await start(t, {})
  const again = await ask('POST', '/signup', { body: { email: user.email, password: 'another', data: { a: 1 } } })
  t.match(again, {
    status: 200,
    body: { email: user.email, identities: [], user_metadata: { a: 1 }, confirmation_sent_at: String, role: '' },
  })
  t.not(again.body.id, user.id, 'the id of the account stays secret')
  t.notOk('access_token' in again.body)
  const { rows } = await database.query("select raw_user_meta_data ? 'a' as changed from auth.users where id = $1", [
    user.id,
  ])
  t.strictSame(rows, [{ changed: false }])
  const signIn = (text: string) => passwordGrant(ask, user.email, text)
  t.equal((await signIn(password)).status, 200)
  t.equal(codeOf(await signIn('another')), 'invalid_credentials', 'the password stays')
  await database.query('update auth.users set email_confirmed_at = null where id = $1', [user.id])
  t.equal(codeOf(await signIn(password)), 'email_not_confirmed')
  t.equal(codeOf(await signIn('another')), 'invalid_credentials', 'only the password reveals that')
})

t.test('whoever signs up without confirming keeps no way in', async (t) => {
  const confirming = await start(t, { GOTRUE_MAILER_AUTOCONFIRM: 'true' })
  const email = newAddress()
  const { user } = await signUp(confirming, email)
  await database.query(
    'update auth.users set email_confirmed_at = null, email_unproven = false, last_sign_in_at = null where id = $1',
    [user.id],
  )
  const owner = sessionOf(await confirming('POST', '/signup', { body: { email, password: 'of the owner' } }))
  t.equal(owner.user.id, user.id)
  const body = { email, password }
  t.equal(codeOf(await confirming('POST', '/token?grant_type=password', { body })), 'invalid_credentials')
})

t.test('changing the password', async (t) => {
  const ask = await start(t, {
    GOTRUE_MAILER_AUTOCONFIRM: 'true',
    GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: 'true',
    GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
  })
  const session = await signUp(ask)
  const change = (more: Json) =>
    ask('PUT', '/user', { token: session.access_token, body: { password: 'the next one', ...more } })
  t.match(await change({}), { status: 400, body: { error_code: 'current_password_required' } })
  t.match(await change({ current_password: 'wrong' }), {
    status: 400,
    body: { error_code: 'current_password_invalid' },
  })
  await database.query("update auth.sessions set created_at = now() - interval '25 hours' where user_id = $1", [
    session.user.id,
  ])
  t.match(await change({ current_password: password }), {
    status: 400,
    body: { error_code: 'reauthentication_needed' },
  })
  await database.query('update auth.sessions set created_at = now() where user_id = $1', [session.user.id])
  t.equal((await change({ current_password: password })).status, 200)
  const body = { email: session.user.email, password: 'the next one' }
  t.equal((await ask('POST', '/token?grant_type=password', { body })).status, 200)
})
