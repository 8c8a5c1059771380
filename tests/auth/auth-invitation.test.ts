// Invitations that are accepted by a sign-in at a provider: `invite_token` on /authorize.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { askAuth, codeOf } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { browse, client, startProvider } from '../support/oidc-provider.ts'
import { fragmentOf } from '../support/page-client.ts'
import { signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const names = ['ann', 'bob', 'carl', 'dora', 'eve', 'fay', 'gus']
const accounts = Object.fromEntries(
  // Whoever has the mail has the address: the provider need not know it.
  names.map((name) => [name, { email: `${name}@example.org`, email_verified: name !== 'bob', name }]),
)
const acme = await startProvider(t, accounts)
const page = 'http://localhost:3000/welcome'
const { url } = await startApplication(t, database.authenticatorUri, {
  GOTRUE_EXTERNAL_ACME_ENABLED: 'true',
  GOTRUE_EXTERNAL_ACME_CLIENT_ID: client.id,
  GOTRUE_EXTERNAL_ACME_SECRET: client.secret,
  GOTRUE_EXTERNAL_ACME_URL: acme.issuer,
  GOTRUE_SITE_URL: 'http://localhost:3000',
  // An invited user may accept although nobody can sign up.
  GOTRUE_DISABLE_SIGNUP: 'true',
})
acme.serve(`${url}/auth/v1/callback`)
const ask = askAuth(url)
const token = await signToken({ role: 'service_role' })

const invite = async (name: string): Promise<{ readonly id: string; readonly hash: string }> => {
  const body = { type: 'invite', email: `${name}@example.org`, data: { team: 1 } }
  const answer = await ask('POST', '/admin/generate_link', { body, token })
  if (answer.status !== 200) throw new Error(answer.text)
  return { id: String(answer.body.id), hash: String(answer.body.hashed_token) }
}
const authorize = (who: string, hash: string, more: Readonly<Record<string, string>> = {}): string => {
  const query = { provider: 'acme', redirect_to: page, login_hint: who, invite_token: hash, ...more }
  return `${url}/auth/v1/authorize?${new URLSearchParams(query).toString()}`
}
const accept = async (...parameters: Parameters<typeof authorize>): Promise<URL> =>
  browse(authorize(...parameters), page)

for (const name of ['ann', 'bob']) {
  void t.test(`${name} accepts`, async (t) => {
    const { id, hash } = await invite(name)
    await database.query("update auth.users set encrypted_password = 'set by somebody else' where id = $1", [id])
    const session = fragmentOf(await accept(name, hash))
    const { body } = await ask('GET', '/user', { token: session.access_token })
    t.match(body, {
      id,
      email: `${name}@example.org`,
      email_confirmed_at: String,
      invited_at: String,
      app_metadata: { provider: 'acme', providers: ['acme'] },
      user_metadata: { team: 1, name },
      identities: [{ provider: 'acme', id: name }],
    })
    const { rows } = await database.query(
      'select encrypted_password, confirmation_token from auth.users where id = $1',
      [id],
    )
    t.strictSame(rows, [{ encrypted_password: null, confirmation_token: '' }])
    const audit = await database.query(
      "select from auth.audit_log_entries where payload ->> 'actor_id' = $1 and payload ->> 'action' = 'invite_accepted'",
      [id],
    )
    t.equal(audit.rowCount, 1)
    const again = await ask('GET', authorize(name, hash).slice(`${url}/auth/v1`.length))
    t.strictSame([again.status, codeOf(again)], [404, 'user_not_found'], 'an invitation is accepted once')
    t.equal((await ask('GET', '/user', { token: fragmentOf(await accept(name, '')).access_token })).body.id, id)
  })
}

t.test('with PKCE', async (t) => {
  const { id, hash } = await invite('carl')
  const verifier = 'v'.repeat(43)
  const target = await accept('carl', hash, { code_challenge: verifier, code_challenge_method: 'plain' })
  const body = { auth_code: target.searchParams.get('code'), code_verifier: verifier }
  t.match(await ask('POST', '/token?grant_type=pkce', { body }), { status: 200, body: { user: { id } } })
})

t.test('another address, unknown and expired invitations, banned users, other owners', async (t) => {
  const unknown = await ask('GET', '/authorize?provider=acme&invite_token=nonsense')
  t.match(unknown, { status: 404, body: { error_code: 'user_not_found', msg: 'User identified by token not found' } })

  // The link of another mail is no invitation, although it confirms an address, too.
  for (const type of ['signup', 'recovery', 'magiclink']) {
    const body = { type, email: type === 'signup' ? 'new@example.org' : 'ann@example.org', password: 'correct horse' }
    const { hashed_token: hash } = (await ask('POST', '/admin/generate_link', { body, token })).body
    t.equal(typeof hash, 'string', type)
    t.equal((await fetch(authorize('ann', String(hash)), { redirect: 'manual' })).status, 404, type)
  }
  const dora = await invite('dora')
  const stored = await database.query('select token_hash from auth.one_time_tokens where user_id = $1', [dora.id])
  t.equal((await fetch(authorize('dora', String(stored.rows[0]?.token_hash)), { redirect: 'manual' })).status, 404)
  const mismatch = fragmentOf(await accept('eve', dora.hash))
  t.match(mismatch, { error_code: 'validation_failed', error_description: /^Invited email does not match emails/ })
  t.match(fragmentOf(await accept('eve', '')), { error_code: 'signup_disabled' }, 'nothing was created')
  const [path] = [authorize('dora', dora.hash)]
  await database.query("update auth.users set banned_until = now() + interval '1 hour' where id = $1", [dora.id])
  t.match(fragmentOf(await browse(path, page)), { error_code: 'user_banned' })
  await database.query(
    "update auth.users set banned_until = null, confirmation_sent_at = now() - interval '2 days' where id = $1",
    [dora.id],
  )
  t.equal((await fetch(path, { redirect: 'manual' })).status, 404, 'expired')

  const fay = await invite('fay')
  await database.query(
    `insert into auth.identities (provider_id, user_id, identity_data, provider) values ('fay', $1, '{"sub": "fay"}', 'acme')`,
    [dora.id],
  )
  t.match(fragmentOf(await accept('fay', fay.hash)), { error_code: 'identity_already_exists' })
})

t.test('the database does not have the token of an invitation that is being accepted', async (t) => {
  const { hash } = await invite('hal')
  t.equal((await fetch(authorize('hal', hash), { redirect: 'manual' })).status, 302)
  const { rows } = await database.query('select to_json(flow_state)::text as flow from auth.flow_state')
  const flows = rows.map(({ flow }) => String(flow))
  t.ok(flows.some((flow) => /"invite_token":"[0-9a-f]{64}"/.test(flow)))
  t.notOk(flows.some((flow) => flow.includes(hash)))
})

t.test('two acceptances of one invitation', async (t) => {
  const { id, hash } = await invite('gus')
  const starts = [authorize('gus', hash), authorize('gus', hash)].map((it) => fetch(it, { redirect: 'manual' }))
  const atProvider = (await Promise.all(starts)).map(({ headers }) => headers.get('location') ?? '')
  const results = await Promise.all(atProvider.map(async (it) => fragmentOf(await browse(it, page))))
  t.equal(results.filter((it) => 'access_token' in it).length, 1)
  const { rowCount } = await database.query('select from auth.identities where user_id = $1', [id])
  t.equal(rowCount, 1)
})
