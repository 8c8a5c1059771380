// A token with a session id ends with the session: request -> 401 in every process, at once, in one round trip.
import t, { type Test } from 'tap'
import { detailsOf, password, signIn, signUp, type SignedIn } from '../support/account.ts'
import { startApplication } from '../support/application.ts'
import type { Answer } from '../support/call.ts'
import { createDatabase, createMigratedDatabase } from '../support/database.ts'
import { countRoundTrips } from '../support/round-trips.ts'
import { signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const settings = { SESSION_SECRETS: 's'.repeat(32), PGRST_DB_TX_END: 'commit-allow-override' }
/** Two processes, as far as the database is concerned. */
const [one, two] = [
  await startApplication(t, database.authenticatorUri, settings),
  await startApplication(t, database.authenticatorUri, settings),
]

const tokenOf = async (user: SignedIn): Promise<string> =>
  detailsOf<{ access_token: string }>(await user.call('POST', '/auth/token')).access_token

const run = {
  image_uri: 'file:///a.jpg',
  image_source: 'camera',
  result_label: 'Water Hyacinth',
  confidence: 90,
  is_positive: true,
}
const ended = {
  code: 'PGRST303',
  message: 'The session of this token has ended',
  details: null,
  hint: 'Sign in again.',
}

const requests: readonly (readonly [
  method: string,
  path: string,
  body: unknown,
  prefer: string | undefined,
  whileAlive: number,
])[] = [
  ['GET', '/classification_runs', undefined, undefined, 200],
  ['GET', '/classification_runs?select=id', undefined, 'count=exact', 200],
  ['HEAD', '/classification_runs', undefined, undefined, 200],
  ['POST', '/classification_runs', run, undefined, 201],
  ['POST', '/classification_runs', run, 'tx=rollback', 201],
  ['POST', '/classification_runs', [run, run], 'return=representation', 201],
  ['PATCH', '/classification_runs?confidence=gt.0', { confidence: 1 }, undefined, 204],
  ['DELETE', '/classification_runs?confidence=eq.55', undefined, undefined, 204],
  ['GET', '/rpc/estimate_report?manufacturer=a&model=b&year=2000&mileage=1&lat=1&lng=1', undefined, undefined, 200],
  ['POST', '/rpc/pending_reports', {}, undefined, 403],
  ['GET', '/', undefined, undefined, 200],
]

const ask = (
  { call }: { call: typeof one.call },
  token: string,
  [method, path, body, prefer]: (typeof requests)[number],
): Promise<Answer> =>
  call(method, `/rest/v1${path}`, {
    body,
    headers: { Authorization: `Bearer ${token}`, ...(prefer === undefined ? {} : { Prefer: prefer }) },
  })

async function isAlive(t: Test, token: string, label: string): Promise<void> {
  for (const application of [one, two]) {
    for (const request of requests) {
      const { status } = await ask(application, token, request)
      t.equal(status, request[4], `${label}: ${request[0]} ${request[1]}`)
    }
    for (const path of documents) {
      const { status } = await application.call('GET', path, { headers: { Authorization: `Bearer ${token}` } })
      t.equal(status, 200, `${label}: ${path}`)
    }
  }
}

const documents = ['/openapi.json', '/docs-json']

async function isOver(t: Test, token: string, label: string): Promise<void> {
  for (const application of [one, two]) {
    // Twice, because a cached request must get the same response.
    for (const request of [...requests, ...requests]) {
      const given = await ask(application, token, request)
      t.equal(given.status, 401, `${label}: ${request[0]} ${request[1]}`)
      if (request[0] !== 'HEAD') t.strictSame(given.body, ended, label)
      t.match(given.headers.get('www-authenticate'), /^Bearer error="invalid_token", error_description="The session/)
    }
    for (const path of documents) {
      const given = await application.call('GET', path, { headers: { Authorization: `Bearer ${token}` } })
      t.strictSame([given.status, given.body], [401, ended], `${label}: ${path}`)
      t.match(given.headers.get('www-authenticate'), /^Bearer error="invalid_token", error_description="The session/)
    }
  }
}

t.test('ways to end a session: its token is refused at once by every process', async (t) => {
  type End = (user: SignedIn) => Promise<unknown>
  const ends: readonly (readonly [label: string, end: End])[] = [
    ['signing out', (user) => user.call('POST', '/auth/signout')],
    ['the account is deleted', (user) => user.call('DELETE', '/auth/me', { body: { password } })],
    [
      'ended from another session',
      async (user) => (await signIn(two.call, user.email)).call('DELETE', '/auth/sessions/others'),
    ],
    [
      'another password',
      async (user) =>
        (await signIn(two.call, user.email)).call('PATCH', '/auth/me', {
          body: { currentPassword: password, password: 'battery staple' },
        }),
    ],
    [
      'it expires',
      (user) => database.query('update auth.sessions set not_after = now() where user_id = $1', [user.id]),
    ],
    ['deleted by SQL', (user) => database.query('delete from auth.users where id = $1', [user.id])],
  ]
  for (const [index, [label, end]] of ends.entries()) {
    const user = await signUp(one.call, `end${index}@example.org`)
    const token = await tokenOf(user)
    await isAlive(t, token, label)
    await end(user)
    const before = await database.query('select count(*) from public.classification_runs')
    await isOver(t, token, label)
    const after = await database.query('select count(*) from public.classification_runs')
    t.strictSame(after.rows, before.rows, `${label}: nothing was written`)
  }
})

t.test('a token is valid when another session ends', async (t) => {
  const first = await signUp(one.call, 'both@example.org')
  const second = await signIn(one.call, 'both@example.org')
  const token = await tokenOf(first)
  await second.call('POST', '/auth/signout')
  await isAlive(t, token, 'the other session')
})

t.test('demoting an administrator takes effect at once', async (t) => {
  const user = await signUp(one.call, 'chief@example.org')
  const setRole = (role: string | null) =>
    database.query('update auth.users set app_role = $2 where id = $1', [user.id, role])
  const pending = async (application: typeof one, token: string): Promise<number> =>
    (await ask(application, token, ['POST', '/rpc/pending_reports', {}, undefined, 200])).status
  const ordinary = await tokenOf(user)
  await setRole('admin')
  const token = await tokenOf(user)
  for (const application of [one, two]) t.equal(await pending(application, token), 200)
  await isAlive(t, ordinary, 'a token without the claim')
  for (const role of [null, 'clerk']) {
    await setRole(role)
    await isOver(t, token, `now ${role}`)
  }
  await isAlive(t, await tokenOf(user), 'a new token')
  await setRole('admin')
  t.equal(await pending(one, token), 200)
})

t.test('claims -> status', async (t) => {
  const ann = await signUp(one.call, 'ann@example.org')
  const bob = await signUp(one.call, 'bob@example.org')
  const { rows } = await database.query('select id from auth.sessions where user_id = $1', [ann.id])
  const session = String(rows[0]?.id)
  const role = 'authenticated'
  const cases: readonly (readonly [label: string, claims: Readonly<Record<string, unknown>>, status: number])[] = [
    ['no session: a token from elsewhere', { role, sub: ann.id }, 200],
    ['no session, no account', { role, sub: 'auth0|x' }, 200],
    ['a session that is not named by a UUID: from elsewhere', { role, sub: ann.id, session_id: 'abc' }, 200],
    ['a number', { role, sub: ann.id, session_id: 7 }, 200],
    ['their session', { role, sub: ann.id, session_id: session }, 200],
    ['in capitals', { role, sub: ann.id.toUpperCase(), session_id: session.toUpperCase() }, 200],
    ["another's session", { role, sub: bob.id, session_id: session }, 401],
    ['a session without a user', { role, session_id: session }, 401],
    ['a user that is no UUID', { role, sub: 'ann', session_id: session }, 401],
    ['a made-up session', { role, sub: ann.id, session_id: '00000000-0000-4000-8000-000000000000' }, 401],
    ['of service_role', { role: 'service_role', sub: ann.id, session_id: ann.id }, 401],
  ]
  for (const [label, claims, status] of cases) {
    const token = await signToken(claims)
    const given = await one.call('GET', '/rest/v1/profiles', { headers: { Authorization: `Bearer ${token}` } })
    t.equal(given.status, status, label)
  }
})

t.test('the session check takes no additional round trip', async (t) => {
  const user = await signUp(one.call, 'trips@example.org')
  const token = await tokenOf(user)
  for (const prepared of ['true', 'false']) {
    const counter = await countRoundTrips(t, database.authenticatorUri)
    const application = await startApplication(t, counter.uri, {
      ...settings,
      PGRST_DB_PREPARED_STATEMENTS: prepared,
      PGRST_DB_CHANNEL_ENABLED: 'false',
      PGRST_DB_POOL: '1',
    })
    for (const request of requests.slice(0, 8)) {
      for (const round of ['cold', 'warm']) {
        const label = `${request[0]} ${request[1]} ${round}`
        let trips = 0
        // On a busy machine, a write may be moved to another connection, and the gate of writes be opened meanwhile.
        for (let time = 0; time < 10 && trips !== 1; time++) {
          counter.take()
          t.equal((await ask(application, token, request)).status, request[4], label)
          trips = counter.take()
        }
        t.equal(trips, 1, label)
      }
    }
  }
})

t.test('the API exposes no function about sessions', async (t) => {
  const user = await signUp(one.call, 'asks@example.org')
  const { rows } = await database.query(
    `select role, has_function_privilege(role, 'auth.check_session(uuid, uuid, text)', 'execute') as may
     from unnest(array['anon', 'authenticated', 'service_role']) as role`,
  )
  t.ok(rows.every(({ may }) => may === false))
  const given = await one.call('POST', '/rest/v1/rpc/check_session', {
    body: { session_id: user.id, user_id: user.id },
    headers: { Authorization: `Bearer ${await tokenOf(user)}` },
  })
  t.equal(given.status, 404)
})

t.test('a database without the migrations accepts the token', async (t) => {
  const plain = await createDatabase()
  t.teardown(() => plain.drop())
  await plain.query(`
    create table public.things (id integer);
    grant select on public.things to authenticated;
    grant connect on database ${plain.name} to authenticator`)
  const { call } = await startApplication(t, plain.uri('authenticator', 'authenticator'), settings)
  const token = await signToken({ role: 'authenticated', sub: 'x', session_id: '00000000-0000-4000-8000-000000000000' })
  const given = await call('GET', '/rest/v1/things', { headers: { Authorization: `Bearer ${token}` } })
  t.strictSame([given.status, given.body], [200, []])
})
