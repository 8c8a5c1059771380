// `/auth/me` and `/auth/sessions`, and the lifetime of sessions.
import t from 'tap'
import { signCookie } from '../../server/http/cookie.ts'
import { createValidator } from '../../server/validation/validator.ts'
import { detailsOf, fail, invalid, password, signIn, signUp } from '../support/account.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { secrets, startService } from '../support/service.ts'

const database = await createMigratedDatabase()
t.teardown(database.drop)
const { call } = await startService(t, database.authenticatorUri)
const { forDto } = await createValidator()

const wrongPassword = fail(403, 'The current password is wrong')
const notSignedIn = fail(401, 'You are not currently signed in')
const cleared = 'session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax'
const unknown = '00000000-0000-4000-8000-000000000000'

t.test('GET /auth/me returns the account', async (t) => {
  const ann = await signUp(call, 'ann@example.org')
  const me = await ann.call('GET', '/auth/me')
  t.equal(me.status, 200)
  t.match(me.body, {
    status: 'success',
    details: { id: ann.id, email: 'ann@example.org', firstName: 'Test', appRole: null, createdAt: /^\d{4}-/ },
  })
  t.strictSame(forDto('urn:rowhouse:OwnAccountDto')(detailsOf(me)), [])
  await database.query("update auth.users set app_role = 'admin' where id = $1", [ann.id])
  t.match(detailsOf(await ann.call('GET', '/auth/me')), { appRole: 'admin' }, 'the change is visible at once')
})

t.test('PATCH /auth/me: request -> response', async (t) => {
  await signUp(call, 'taken@example.org')
  const bob = await signUp(call, 'bob@example.org')
  const current = { currentPassword: password }
  const rows: readonly (readonly [label: string, body: unknown, status: number, answer: object])[] = [
    ['no password', { email: 'b@example.org', password }, 400, invalid(['currentPassword', 'is required'])],
    [
      'nothing',
      {},
      400,
      invalid(['body', 'must NOT have fewer than 2 properties'], ['currentPassword', 'is required']),
    ],
    ['no change', current, 400, invalid(['body', 'must NOT have fewer than 2 properties'])],
    ['an invalid address', { ...current, email: 'bob' }, 400, invalid(['email', 'must match format "email"'])],
    [
      'a short password',
      { ...current, password: '1234567' },
      400,
      invalid(['password', 'must NOT have fewer than 8 characters']),
    ],
    ['more', { ...current, app_role: 'admin' }, 400, invalid(['app_role', 'is not a known property'])],
    ['a wrong password', { currentPassword: 'wrong', email: 'b@example.org' }, 403, wrongPassword],
    [
      "another's address",
      { ...current, email: 'Taken@example.org' },
      409,
      fail(409, 'This e-mail address is already registered'),
    ],
    ['their own address', { ...current, email: 'BOB@example.org' }, 200, { details: { email: 'bob@example.org' } }],
    ['another address', { ...current, email: ' Bobby@Example.org' }, 200, { details: { email: 'bobby@example.org' } }],
  ]
  for (const [label, body, status, answer] of rows) {
    const given = await bob.call('PATCH', '/auth/me', { body })
    t.equal(given.status, status, label)
    t.match(given.body, answer, label)
    if (status === 200) t.strictSame(forDto('urn:rowhouse:OwnAccountDto')(detailsOf(given)), [], label)
  }
  t.equal((await call('POST', '/auth/signin', { body: { email: 'bob@example.org', password } })).status, 401)
  const again = await signIn(call, 'bobby@example.org')
  t.equal(again.id, bob.id)
})

t.test('a new password ends the other sessions', async (t) => {
  const one = await signUp(call, 'carol@example.org')
  const two = await signIn(call, 'carol@example.org')
  const changed = await two.call('PATCH', '/auth/me', {
    body: { currentPassword: password, password: 'battery staple' },
  })
  t.equal(changed.status, 200)
  t.equal((await one.call('GET', '/auth/me')).status, 401)
  t.equal((await two.call('GET', '/auth/me')).status, 200)
  t.equal((await call('POST', '/auth/signin', { body: { email: 'carol@example.org', password } })).status, 401)
  await signIn(call, 'carol@example.org', 'battery staple')
})

t.test('of two concurrent changes with the same password, one succeeds', async (t) => {
  const user = await signUp(call, 'twice@example.org')
  const answers = await Promise.all(
    ['battery staple', 'staple battery'].map((next) =>
      user.call('PATCH', '/auth/me', { body: { currentPassword: password, password: next } }),
    ),
  )
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 403])
})

t.test('no session starts with a password that was changed concurrently', async (t) => {
  const user = await signUp(call, 'race@example.org')
  const { rows } = await database.query('select encrypted_password from auth.users where id = $1', [user.id])
  await user.call('PATCH', '/auth/me', { body: { currentPassword: password, password: 'battery staple' } })
  const begun = await database.query(
    "select auth.create_session($1, $2, sha256('race'), interval '1 day') as expires_at",
    [user.id, rows[0]?.encrypted_password],
  )
  t.strictSame(begun.rows, [{ expires_at: null }])
})

t.test('deleting an account deletes all its rows', async (t) => {
  const user = await signUp(call, 'dan@example.org')
  const other = await signIn(call, 'dan@example.org')
  await database.query(
    `insert into public.reports (user_id, manufacturer, model, year, mileage, price, lat, lng)
     values ($1, 'a', 'b', 2000, 1, 1, 1, 1)`,
    [user.id],
  )
  await database.query(
    `insert into public.classification_runs (user_id, image_uri, image_source, result_label, confidence, is_positive)
     values ($1, 'file:a', 'b', 'c', 1, true)`,
    [user.id],
  )
  const rows: readonly (readonly [body: unknown, status: number, answer: object])[] = [
    [{}, 400, invalid(['password', 'is required'])],
    [{ password: 'wrong' }, 403, wrongPassword],
    [{ password, id: user.id }, 400, invalid(['id', 'is not a known property'])],
  ]
  for (const [body, status, answer] of rows) {
    const given = await user.call('DELETE', '/auth/me', { body })
    t.strictSame([given.status, given.body], [status, answer], JSON.stringify(body))
  }
  t.equal((await user.call('DELETE', '/auth/me')).status, 415)

  const deleted = await user.call('DELETE', '/auth/me', { body: { password } })
  t.strictSame([deleted.status, deleted.body], [200, { status: 'success', message: 'user deleted successfully' }])
  t.equal(deleted.headers.get('set-cookie'), cleared)
  const left = await database.query(
    `select (select count(*) from auth.users where id = $1) + (select count(*) from auth.sessions where user_id = $1)
       + (select count(*) from public.profiles where id = $1) + (select count(*) from public.reports where user_id = $1)
       + (select count(*) from public.classification_runs where user_id = $1) as count`,
    [user.id],
  )
  t.strictSame(left.rows, [{ count: '0' }])
  for (const who of [user, other]) t.equal((await who.call('GET', '/auth/me')).status, 401)
  t.not((await signUp(call, 'dan@example.org')).id, user.id, 'the address is available again')
})

t.test('sessions can be listed and ended', async (t) => {
  const eve = await signUp(call, 'eve@example.org')
  const phone = await signIn(call, 'eve@example.org')
  const tablet = await signIn(call, 'eve@example.org')
  const stranger = await signUp(call, 'stranger@example.org')
  type Listed = { id: string; createdAt: string; expiresAt: string; current: boolean }
  const list = async (who = eve): Promise<Listed[]> => detailsOf<Listed[]>(await who.call('GET', '/auth/sessions'))
  const end = (id: string | undefined, who = eve) => who.call('DELETE', `/auth/sessions/${id}`)

  const all = await list()
  t.strictSame(
    all.map(({ current }) => current),
    [false, false, true],
    'newest first',
  )
  for (const session of all) t.strictSame(forDto('urn:rowhouse:SessionDto')({ ...session }), [])
  t.strictSame(
    (await list(phone)).map(({ current }) => current),
    [false, true, false],
  )

  const [tabletId, phoneId, ownId] = all.map(({ id }) => id)
  t.strictSame((await end(phoneId, stranger)).body, fail(404, 'You have no such session'))
  t.equal((await phone.call('GET', '/auth/me')).status, 200)
  const ended = await end(phoneId)
  t.strictSame([ended.status, ended.body], [200, { status: 'success', details: { revoked: 1 } }])
  t.equal(ended.headers.get('set-cookie'), null)
  t.equal((await phone.call('GET', '/auth/me')).status, 401)
  t.equal((await end(phoneId)).status, 404, 'the session has ended')
  t.equal((await end(unknown)).status, 404)
  t.match(await end('1'), { status: 400, body: invalid(['id', 'must be a UUID']) })
  t.equal((await list()).length, 2)

  t.strictSame(detailsOf(await end('others')), { revoked: 1 })
  t.equal((await tablet.call('GET', '/auth/me')).status, 401)
  t.strictSame(detailsOf(await end('others')), { revoked: 0 })
  t.equal((await stranger.call('GET', '/auth/me')).status, 200, 'sessions of other users cannot be ended')
  t.equal((await end(tabletId)).status, 404)

  const own = await end(ownId)
  t.strictSame([own.status, own.headers.get('set-cookie')], [200, cleared])
  t.equal((await eve.call('GET', '/auth/sessions')).status, 401)
})

t.test('requests without a session get 401', async (t) => {
  const rows = [
    ['GET', '/auth/me'],
    ['PATCH', '/auth/me'],
    ['DELETE', '/auth/me'],
    ['GET', '/auth/sessions'],
    ['DELETE', '/auth/sessions/others'],
    ['DELETE', '/auth/sessions/1'],
    ['POST', '/auth/token'],
  ] as const
  for (const [method, path] of rows) {
    const given = await call(method, path, method === 'GET' ? {} : { body: 'not JSON' })
    t.strictSame([given.status, given.body], [401, notSignedIn], `${method} ${path}`)
  }
})

t.test('signing in with the cookie of a session ends that session', async (t) => {
  const first = await signUp(call, 'fred@example.org')
  const gina = await signUp(call, 'gina@example.org')
  const answer = await first.call('POST', '/auth/signin', { body: { email: 'gina@example.org', password } })
  t.equal(answer.status, 200)
  t.not(answer.cookie, gina.cookie)
  t.equal((await first.call('GET', '/auth/me')).status, 401)
  t.equal((await gina.call('GET', '/auth/me')).status, 200, 'a session whose cookie was not sent is still valid')

  const failed = await gina.call('POST', '/auth/signin', { body: { email: 'gina@example.org', password: 'wrong' } })
  t.equal(failed.status, 401)
  t.equal((await gina.call('GET', '/auth/me')).status, 200, 'a failed sign-in ends no session')
})

t.test('an active session is extended: age, time left -> expiry', async (t) => {
  const user = await signUp(call, 'hal@example.org')
  const id = /^session=([^.]+)/.exec(user.cookie)?.[1] ?? ''
  const rows: readonly (readonly [age: number, left: number, extendedTo: number | null])[] = [
    [0, 14, null],
    [6, 8, null],
    [7.1, 6.9, 14],
    [13.9, 0.1, 14],
    [40, 3, 14],
    [80, 3, 10],
    [86, 4, null],
    [89.9, 0.1, null],
  ]
  for (const [age, left, extendedTo] of rows) {
    const label = `${age} days old, ${left} left`
    await database.query(
      `update auth.sessions set created_at = now() - $2 * interval '1 day', not_after = now() + $3 * interval '1 day'
       where user_id = $1`,
      [user.id, age, left],
    )
    const expires = Math.floor(Date.now() / 1000 + left * 86_400)
    const cookie = `session=${signCookie('session', { id, expires }, [secrets[1]])}`
    const given = await call('GET', '/auth/me', { headers: { Cookie: cookie } })
    t.equal(given.status, 200, label)
    const { rows: found } = await database.query(
      'select extract(epoch from not_after - now())::float8 / 86400 as days from auth.sessions where user_id = $1',
      [user.id],
    )
    const days = Number(found[0]?.days)
    t.ok(Math.abs(days - (extendedTo ?? left)) < 0.01, `${label}: ${days}`)
    if (extendedTo === null) {
      t.equal(given.headers.get('set-cookie'), null, label)
      continue
    }
    const [, newId, text] = /^session=([^.]+)\.(\d+)\./.exec(given.cookie ?? '') ?? []
    t.equal(newId, id, label)
    t.ok(Math.abs(Number(text) - Date.now() / 1000 - extendedTo * 86_400) < 60, label)
    const maxAge = Number(/Max-Age=(\d+)/.exec(given.headers.get('set-cookie') ?? '')?.[1])
    t.ok(Math.abs(maxAge - extendedTo * 86_400) < 60, label)
    t.equal((await call('GET', '/auth/me', { headers: { Cookie: given.cookie ?? '' } })).status, 200, label)
  }
  await database.query("update auth.sessions set created_at = now() - interval '90 days', not_after = now()")
  t.equal((await user.call('GET', '/auth/me')).status, 401)
})

t.test('an extended session whose new cookie was lost sends the cookie again', async (t) => {
  const user = await signUp(call, 'ida@example.org')
  const id = /^session=([^.]+)/.exec(user.cookie)?.[1] ?? ''
  const expires = Math.floor(Date.now() / 1000) + 1000
  const cookie = `session=${signCookie('session', { id, expires }, [secrets[0]])}`
  const given = await call('GET', '/report', { headers: { Cookie: cookie } })
  t.equal(given.status, 200)
  t.equal(given.cookie?.split('.')[0], user.cookie.split('.')[0])
  const out = await call('POST', '/auth/signout', { headers: { Cookie: cookie } })
  t.strictSame(out.headers.getSetCookie(), [cleared], 'signing out extends no session')
})

t.test('secrets can be rotated: an old cookie is valid until its secret is removed', async (t) => {
  const user = await signUp(call, 'jane@example.org')
  const rows: readonly (readonly [readonly string[], number])[] = [
    [[secrets[0]], 200],
    [['n'.repeat(32), secrets[0]], 200],
    [['n'.repeat(32)], 401],
  ]
  for (const [sessionSecrets, status] of rows) {
    const rotated = await startService(t, database.authenticatorUri, { sessionSecrets })
    t.equal((await rotated.call('GET', '/auth/me', { headers: { Cookie: user.cookie } })).status, status)
  }
})

t.test('50 concurrent registrations of one address create one account', async (t) => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      call('POST', '/auth/signup', {
        body: { email: n % 2 ? 'many@example.org' : 'MANY@Example.org', firstName: 'Many', password },
      }),
    ),
  )
  t.strictSame(answers.map(({ status }) => status).sort(), [201, ...Array<number>(49).fill(409)])
  t.equal((await database.query("select from auth.users where email = 'many@example.org'")).rowCount, 1)
})

t.test('requests that race with signing out are answered as before it or as after it', async (t) => {
  await (await signUp(call, 'kim@example.org')).call('POST', '/auth/signout')
  for (let round = 0; round < 5; round++) {
    const user = await signIn(call, 'kim@example.org')
    await database.query("update auth.sessions set not_after = now() + interval '1 day' where user_id = $1", [user.id])
    const racing = Array.from({ length: 20 }, () => user.call('GET', '/auth/me'))
    const out = user.call('POST', '/auth/signout')
    const later = Array.from({ length: 20 }, () => user.call('GET', '/report'))
    const statuses = (await Promise.all([...racing, ...later])).map(({ status }) => status)
    t.ok(
      statuses.every((status) => status === 200 || status === 401),
      statuses.join(' '),
    )
    t.equal((await out).status, 200)
    t.equal((await user.call('GET', '/auth/me')).status, 401, 'the session has ended')
    const { rows } = await database.query('select from auth.sessions where user_id = $1', [user.id])
    t.strictSame(rows, [], 'an ended session is not extended')
  }
})

t.test('requests of an account that is deleted concurrently get 401 or succeed', async (t) => {
  const user = await signUp(call, 'lou@example.org')
  const report = { manufacturer: 'a', model: 'b', year: 2000, mileage: 1, price: 1, lat: 1, lng: 1 }
  const racing = Array.from({ length: 20 }, () => user.call('POST', '/report', { body: report }))
  const deleted = user.call('DELETE', '/auth/me', { body: { password } })
  const later = Array.from({ length: 20 }, () => user.call('POST', '/report', { body: report }))
  const statuses = (await Promise.all([...racing, ...later])).map(({ status }) => status)
  t.equal((await deleted).status, 200)
  t.ok(
    statuses.every((status) => [201, 401, 409].includes(status)),
    statuses.join(' '),
  )
  const { rows } = await database.query('select from public.reports where user_id = $1', [user.id])
  t.strictSame(rows, [])
})
