// Addresses are compared without the case of ASCII letters only. The lower case of the Kelvin sign is an ASCII letter.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { askAuth, codeOf, newAddress, password, passwordGrant, sessionOf, signUp } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { startIssuer } from '../support/id-token-issuer.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const issuer = await startIssuer(t)
const { url } = await startApplication(t, database.authenticatorUri, {
  ...{ GOTRUE_MAILER_AUTOCONFIRM: 'true', GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'true' },
  ...{ GOTRUE_EXTERNAL_GOOGLE_ENABLED: 'true', GOTRUE_EXTERNAL_GOOGLE_CLIENT_ID: 'app' },
  ...{ GOTRUE_EXTERNAL_GOOGLE_URL: issuer.issuer, GOTRUE_EXTERNAL_GOOGLE_SKIP_NONCE_CHECK: 'true' },
})
const ask = askAuth(url)
const byProvider = async (email: string, more: { readonly token?: string } = {}) =>
  ask('POST', '/token?grant_type=id_token', {
    ...more,
    body: {
      provider: 'google',
      id_token: await issuer.sign({ sub: crypto.randomUUID(), email, email_verified: true }),
      link_identity: more.token !== undefined,
    },
  })
const kelvin = '\u212a'

t.test('an address with the Kelvin sign is another one: at a provider', async (t) => {
  const name = newAddress()
  const kate = await signUp(ask, `kate-${name}`)
  const other = sessionOf(await byProvider(`${kelvin}ate-${name}`))
  t.not(other.user.id, kate.user.id)
  t.equal(other.user.email, `${kelvin}ate-${name}`)
  const same = sessionOf(await byProvider(`KATE-${name.toUpperCase()}`))
  t.equal(same.user.id, kate.user.id, 'ASCII letters have no case')

  const later = newAddress()
  const first = sessionOf(await byProvider(`${kelvin}ate-${later}`))
  const second = sessionOf(await byProvider(`kate-${later}`))
  t.not(second.user.id, first.user.id, 'nor does the owner of the other address get its account')
  t.equal(codeOf(await ask('POST', '/signup', { body: { email: `kate-${later}`, password } })), 'user_already_exists')
})

t.test('by linking and unlinking', async (t) => {
  const name = newAddress()
  const mallory = await signUp(ask)
  const linked = await byProvider(`${kelvin}ate-${name}`, { token: mallory.access_token })
  t.equal(linked.status, 200, linked.text)
  const own = await database.query("select id from auth.identities where user_id = $1 and provider = 'email'", [
    mallory.user.id,
  ])
  const path = `/user/identities/${String(own.rows[0]?.id)}`
  t.equal((await ask('DELETE', path, { token: sessionOf(linked).access_token })).status, 200)
  const { rows } = await database.query('select email from auth.users where id = $1', [mallory.user.id])
  t.strictSame(rows, [{ email: `${kelvin}ate-${name}` }])
  t.not((await signUp(ask, `kate-${name}`)).user.id, mallory.user.id, 'the address of kate is free')
})

t.test('with a password', async (t) => {
  const name = newAddress()
  await signUp(ask, `kate-${name}`)
  t.equal(codeOf(await passwordGrant(ask, `${kelvin}ate-${name}`)), 'invalid_credentials')
  t.equal((await passwordGrant(ask, `KATE-${name}`)).status, 200)
})

t.test('every function of the schema auth compares so', async (t) => {
  const { rows } = await database.query(
    `select proname::text as name, match[1] as call
     from pg_proc, regexp_matches(prosrc, '\\mlower\\((?:[^()]|\\([^()]*\\))*\\)', 'g') as match
     where pronamespace = 'auth'::regnamespace and match[1] !~ 'collate "C"'
       -- A search, also for names, which decides nothing.
       and proname <> 'list_users'`,
  )
  t.strictSame(rows, [])
  const plan = await database.query(
    `begin; set local enable_seqscan = off; explain select from auth.users
     where lower(users.email collate "C") = lower('A' collate "C") and users.is_sso_user = false; rollback`,
  )
  t.match(JSON.stringify(plan), /users_ascii_email_idx/, 'with its index')
})
