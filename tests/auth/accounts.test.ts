import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { signCookie } from '../../server/http/cookie.ts'
import { createValidator } from '../../server/validation/validator.ts'
import { detailsOf, fail, invalid } from '../support/account.ts'
import { cpuTimeUntil } from '../support/cpu-time.ts'
import { createDatabase, createMigratedDatabase } from '../support/database.ts'
import { secrets, startService } from '../support/service.ts'

const database = await createMigratedDatabase()
t.teardown(database.drop)
const service = await startService(t, database.authenticatorUri)
const { call } = service

const password = 'correct horse'
const wrong = fail(401, 'Email or password is incorrect')
const notSignedIn = fail(401, 'You are not currently signed in')

const { forDto } = await createValidator()
const isUser = forDto('urn:rowhouse:UserDto')
const cookieShape =
  /^session=[\w-]{43}\.\d{10}\.[\w+/]{43}; Path=\/; Max-Age=12(?:09600|09599); HttpOnly; SameSite=Lax$/

t.test('signing up and signing in start sessions', async (t) => {
  const body = { email: ' Ann@Example.org ', firstName: ' Ann ', password }
  const signedUp = await call('POST', '/auth/signup', { body })
  const { id } = detailsOf<{ id: string }>(signedUp)
  t.match(id, /^[0-9a-f-]{36}$/)
  const details = { id, email: 'ann@example.org', firstName: 'Ann' }
  t.equal(signedUp.status, 201)
  t.equal(signedUp.text, JSON.stringify({ status: 'success', details }), 'keys in the order of the schema')
  t.strictSame(isUser(details), [])
  t.match(signedUp.headers.get('set-cookie'), cookieShape, 'signing up starts a session')
  t.equal((await call('GET', '/auth/me', { headers: { Cookie: signedUp.cookie ?? '' } })).status, 200)

  for (const email of ['ann@example.org', 'ANN@example.org', ' ann@EXAMPLE.org']) {
    const signedIn = await call('POST', '/auth/signin', { body: { email, password } })
    const message = 'user signed in successfully'
    t.strictSame(
      [signedIn.status, signedIn.text],
      [200, JSON.stringify({ status: 'success', message, details })],
      email,
    )
    t.match(signedIn.headers.get('set-cookie'), cookieShape)
    t.equal(signedIn.headers.get('cache-control'), 'no-store')
    t.match(signedIn.headers.get('content-type'), /^application\/json; charset=utf-8$/)
  }
})

t.test('names: first, last -> UserDto, full name of the profile', async (t) => {
  const long = 'x'.repeat(255)
  const rows: readonly (readonly [
    first: string | undefined,
    last: string | undefined,
    dto: object,
    profile: string | null,
  ])[] = [
    ['Ada', 'Lovelace', { firstName: 'Ada', lastName: 'Lovelace', fullName: 'Ada Lovelace' }, 'Ada Lovelace'],
    ['X', undefined, { firstName: 'X' }, 'X'],
    [' Zoë\n', ' 山田 ', { firstName: 'Zoë', lastName: '山田', fullName: 'Zoë 山田' }, 'Zoë 山田'],
    [undefined, undefined, { firstName: 'name3' }, null],
    [undefined, 'Curie', { firstName: 'name4', lastName: 'Curie', fullName: 'name4 Curie' }, 'Curie'],
    [long, long, { firstName: long, lastName: long, fullName: `${long} ${long}` }, `${long} ${long}`],
  ]
  for (const [index, [firstName, lastName, dto, profile]] of rows.entries()) {
    const email = `name${index}@example.org`
    const signedUp = await call('POST', '/auth/signup', { body: { email, firstName, lastName, password } })
    const { id, ...rest } = detailsOf<{ id: string }>(signedUp)
    t.strictSame([signedUp.status, rest], [201, { email, ...dto }])
    t.strictSame(isUser(detailsOf(signedUp)), [])
    t.match(detailsOf(await call('POST', '/auth/signin', { body: { email, password } })), { id, ...dto })
    const me = await call('GET', '/auth/me', { headers: { Cookie: signedUp.cookie ?? '' } })
    t.match(detailsOf(me), { id, ...dto, appRole: null })
    const { rows } = await database.query('select full_name from public.profiles where id = $1', [id])
    t.strictSame(rows, [{ full_name: profile }])
  }
})

t.test('POST /auth/signup: request -> response', async (t) => {
  const body = { email: 'new@example.org', firstName: 'New', password }
  const { firstName } = body
  const rows: readonly (readonly [label: string, body: unknown, status: number, answer: object])[] = [
    ['taken', { ...body, email: 'ANN@Example.org' }, 409, fail(409, 'This e-mail address is already registered')],
    ['nothing', {}, 400, invalid(['email', 'is required'], ['password', 'is required'])],
    ['an invalid address', { ...body, email: 'ann' }, 400, invalid(['email', 'must match format "email"'])],
    ['not a string', { ...body, email: 1 }, 400, invalid(['email', 'must be string'])],
    ['a NUL', { ...body, email: 'a\0@example.org' }, 400, invalid(['email', 'must match format "email"'])],
    ['a name that is null', { ...body, firstName: null }, 400, invalid(['firstName', 'must be string'])],
    ['a blank name', { ...body, firstName: ' ' }, 400, invalid(['firstName', 'must NOT have fewer than 1 characters'])],
    [
      'a long name',
      { ...body, lastName: 'x'.repeat(256) },
      400,
      invalid(['lastName', 'must NOT have more than 255 characters']),
    ],
    [
      'NUL in a name',
      { ...body, firstName: 'a\0' },
      400,
      invalid(['firstName', 'must not contain NUL or incomplete characters']),
    ],
    ['short', { ...body, password: '1234567' }, 400, invalid(['password', 'must NOT have fewer than 8 characters'])],
    [
      'long',
      { ...body, password: 'x'.repeat(201) },
      400,
      invalid(['password', 'must NOT have more than 200 characters']),
    ],
    [
      'characters, not bytes',
      { ...body, password: '💥'.repeat(7) },
      400,
      invalid(['password', 'must NOT have fewer than 8 characters']),
    ],
    ['more', { ...body, role: 'admin' }, 400, invalid(['role', 'is not a known property'])],
    [
      '__proto__',
      `{"email":"new@example.org","firstName":"N","password":"${password}","__proto__":{}}`,
      400,
      invalid(['__proto__', 'is not a known property']),
    ],
    ['a list', [body], 400, invalid(['body', 'must be object'])],
    ['null', 'null', 400, invalid(['body', 'must be object'])],
    ['8 characters', { email: 'p8@example.org', firstName, password: '12345678' }, 201, { status: 'success' }],
    [
      '200 characters',
      { email: 'p200@example.org', firstName, password: '💥'.repeat(200) },
      201,
      { status: 'success' },
    ],
  ]
  for (const [label, body, status, answer] of rows) {
    const given = await call('POST', '/auth/signup', { body })
    t.equal(given.status, status, label)
    if (status === 201) t.match(given.body, answer, label)
    else {
      t.strictSame(given.body, answer, label)
      t.equal(given.cookie, undefined, label)
      const kind = status === 400 ? 'ValidationErrorResponseDto' : 'ErrorResponseDto'
      t.strictSame(forDto(`urn:rowhouse:${kind}`)(given.body), [], label)
    }
  }
  const long = await call('POST', '/auth/signin', { body: { email: 'p200@example.org', password: '💥'.repeat(200) } })
  t.equal(long.status, 200, 'long passwords are compared completely')
  const cut = await call('POST', '/auth/signin', { body: { email: 'p200@example.org', password: '💥'.repeat(199) } })
  t.equal(cut.status, 401)
})

t.test('POST /auth/signin: request -> response', async (t) => {
  const email = 'ann@example.org'
  const rows: readonly (readonly [label: string, body: unknown, status: number, answer: object])[] = [
    ['wrong password', { email, password: 'correct horsE' }, 401, wrong],
    ['unknown address', { email: 'nobody@example.org', password }, 401, wrong],
    ['a password nobody can have', { email, password: 'x' }, 401, wrong],
    ['the address of another', { email: 'p8@example.org', password }, 401, wrong],
    ['a pattern', { email: 'an_@example.org', password }, 401, wrong],
    ['empty', { email, password: '' }, 400, invalid(['password', 'must NOT have fewer than 1 characters'])],
    ['not a string', { email, password: ['correct horse'] }, 400, invalid(['password', 'must be string'])],
    ['an invalid address', { email: "' or 1=1 --", password }, 400, invalid(['email', 'must match format "email"'])],
  ]
  for (const [label, body, status, answer] of rows) {
    const given = await call('POST', '/auth/signin', { body })
    t.strictSame([given.status, given.body, given.cookie], [status, answer, undefined], label)
  }
})

t.test('passwords are compared in Unicode normal form', async (t) => {
  await call('POST', '/auth/signup', {
    body: { email: 'nfc@example.org', firstName: 'N', password: 'caf\u00e9 caf\u00e9' },
  })
  const body = { email: 'nfc@example.org', password: 'cafe\u0301 cafe\u0301' }
  t.equal((await call('POST', '/auth/signin', { body })).status, 200)
})

t.test('concurrent registrations of one address create one account', async (t) => {
  const addresses = Array.from({ length: 12 }, (_, index) => (index % 2 ? 'race@example.org' : 'RACE@example.org'))
  const answers = await Promise.all(
    addresses.map((email) => call('POST', '/auth/signup', { body: { email, firstName: 'Race', password } })),
  )
  t.strictSame(answers.map(({ status }) => status).sort(), [201, ...Array<number>(11).fill(409)])
  t.equal((await database.query("select from auth.users where email = 'race@example.org'")).rowCount, 1)
  const cookies = answers.flatMap(({ cookie }) => cookie ?? [])
  t.equal(cookies.length, 1, 'only the request that created the account is signed in')
})

t.test('signing in with an unknown address hashes the password, too', async (t) => {
  const time = (email: string): Promise<number> =>
    cpuTimeUntil(() => call('POST', '/auth/signin', { body: { email, password: 'not the one' } }))
  let known = Infinity
  let unknown = Infinity
  for (let round = 0; round < 11; round++) {
    known = Math.min(known, await time('ann@example.org'))
    unknown = Math.min(unknown, await time('nobody@example.org'))
  }
  // Hashing takes most of the processor time: without it, an unknown address would take only a fraction.
  t.ok(unknown > known / 2 && unknown < known * 2, `known ${known.toFixed(1)} ms, unknown ${unknown.toFixed(1)} ms`)
})

t.test('only hashes of passwords and session ids are stored', async (t) => {
  const { cookie } = await call('POST', '/auth/signin', { body: { email: 'ann@example.org', password } })
  const id = /^session=([^.]+)/.exec(cookie ?? '')?.[1] ?? ''
  t.equal(id.length, 43)
  const { rows } = await database.query(
    `select (select jsonb_agg(u)::text from auth.users u) || (select jsonb_agg(s)::text from auth.sessions s) as everything,
       (select encrypted_password from auth.users where email = 'ann@example.org') as password,
       exists (select from auth.sessions where id_hash = $1) as hashed`,
    [createHash('sha256').update(id).digest()],
  )
  const [row] = rows
  t.match(row?.password, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  t.equal(row?.hashed, true)
  const everything = String(row?.everything)
  for (const secret of [id, Buffer.from(id).toString('hex'), Buffer.from(id, 'base64url').toString('hex'), password]) {
    t.notOk(everything.includes(secret))
  }
})

t.test('signing out ends the session and removes the cookie', async (t) => {
  const signIn = () => call('POST', '/auth/signin', { body: { email: 'ann@example.org', password } })
  const signOut = (cookie: string | undefined) =>
    call('POST', '/auth/signout', { headers: cookie === undefined ? {} : { Cookie: cookie } })
  const cleared = 'session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax'

  const [one, two] = [await signIn(), await signIn()]
  t.not(one.cookie, two.cookie, 'each sign-in starts a new session')
  const out = await signOut(one.cookie)
  t.strictSame([out.status, out.body], [200, { status: 'success', message: 'user logged out successfully' }])
  t.equal(out.headers.get('set-cookie'), cleared)
  const again = await signOut(one.cookie)
  t.strictSame([again.status, again.body], [401, notSignedIn], 'the session is revoked')
  t.equal(again.headers.get('set-cookie'), cleared)
  t.equal((await signOut(undefined)).status, 401)
  t.equal((await signOut(two.cookie)).status, 200, 'the other session is still valid')
})

t.test('signing in deletes the expired sessions of the account', async (t) => {
  await database.query("update auth.sessions set not_after = now() - interval '1 second'")
  await call('POST', '/auth/signin', { body: { email: 'ann@example.org', password } })
  const { rows } = await database.query(
    "select count(*)::int from auth.sessions join auth.users on users.id = user_id where email = 'ann@example.org'",
  )
  t.strictSame(rows, [{ count: 1 }])
})

t.test('invalid bodies: request -> response', async (t) => {
  const good = JSON.stringify({ email: 'ann@example.org', password })
  const json = 'application/json'
  const unsupported = fail(415, 'The body must be application/json in UTF-8')
  const rows: readonly (readonly [label: string, headers: Record<string, string>, body: unknown, number, object])[] = [
    ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }, 'email=a', 415, unsupported],
    ['plain text', { 'Content-Type': 'text/plain' }, good, 415, unsupported],
    ['another JSON type', { 'Content-Type': 'application/json-patch+json' }, good, 415, unsupported],
    ['UTF-16', { 'Content-Type': `${json}; charset=utf-16le` }, Buffer.from(good, 'utf16le'), 415, unsupported],
    [
      'an unknown encoding',
      { 'Content-Encoding': 'zip' },
      good,
      415,
      fail(415, 'The content encoding of the body is not supported'),
    ],
    ['empty', {}, '', 400, fail(400, 'The body is empty')],
    ['broken', {}, good.slice(0, -1), 400, fail(400, 'The body is not valid JSON')],
    ['invalid UTF-8', {}, Buffer.from([0x22, 0xff, 0x22]), 400, fail(400, 'The body is not valid UTF-8')],
    ['broken gzip', { 'Content-Encoding': 'gzip' }, good, 400, fail(400, 'The body could not be read')],
    ['deep', {}, '['.repeat(9_000) + ']'.repeat(900), 400, fail(400, 'The body is not valid JSON')],
    ['large', {}, `"${'x'.repeat(10_000)}"`, 413, fail(413, 'The body is larger than 10000 bytes')],
    [
      'large when decompressed',
      { 'Content-Encoding': 'gzip' },
      gzipSync('x'.repeat(10_001)),
      413,
      fail(413, 'The body is larger than 10000 bytes'),
    ],
    ['gzip', { 'Content-Encoding': 'gzip' }, gzipSync(good), 200, { status: 'success' }],
    ['a charset', { 'Content-Type': 'Application/JSON; Charset="UTF-8"' }, good, 200, { status: 'success' }],
  ]
  for (const [label, headers, body, status, answer] of rows) {
    const given = await call('POST', '/auth/signin', { body, headers })
    t.equal(given.status, status, label)
    t.match(given.body, answer, label)
  }
  const none = await call('POST', '/auth/signin')
  t.strictSame([none.status, none.body], [415, unsupported], 'neither body nor content type')
})

t.test('unknown paths get 404, unsupported methods 405', async (t) => {
  const rows: readonly (readonly [method: string, path: string, status: number, allow: string | null])[] = [
    ['GET', '/auth', 404, null],
    ['POST', '/auth/', 404, null],
    ['GET', '/auth/%ff', 404, null],
    ['DELETE', '/auth/sessions/%ff', 400, null],
    ['POST', '/auth/me', 405, 'GET, HEAD, PATCH, DELETE'],
    ['DELETE', '/auth/sessions', 405, 'GET, HEAD'],
    ['GET', '/auth/sessions/x', 405, 'DELETE'],
    ['GET', '/auth/token', 405, 'POST'],
    ['POST', '/auth/signup/x', 404, null],
    ['GET', '/auth/signup', 405, 'POST'],
    ['DELETE', '/auth/signin', 405, 'POST'],
    ['PUT', '/auth/signout', 405, 'POST'],
    ['GET', '/auth/%', 404, null],
  ]
  for (const [method, path, status, allow] of rows) {
    const given = await call(method, path)
    const answer =
      status === 404 ? { ...fail(404, `Cannot ${method} ${path}`), error: 'Not Found' } : fail(status, /\w/)
    t.match([given.status, given.body], [status, answer], `${method} ${path}`)
    t.strictSame(forDto('urn:rowhouse:ErrorResponseDto')(given.body), [], `${method} ${path}`)
    t.equal(given.headers.get('allow'), allow, `${method} ${path}`)
  }
  t.equal((await call('HEAD', '/auth/signin')).status, 405)
  const secret = await call('GET', '/auth/x?token=secret')
  t.match(secret.body, { message: 'Cannot GET /auth/x' }, 'without the query string')
  const long = await call('GET', `/auth/${'x'.repeat(5000)}`)
  t.ok(long.status === 404 && long.text.length < 400, 'a long path is truncated')
})

t.test('a server that lacks a prerequisite responds with 503', async (t) => {
  const body = { email: 'ann@example.org', password }
  const cookie = `session=${signCookie('session', { id: 'x', expires: 4_000_000_000 }, secrets)}`
  const error = (message: string) => ({ status: 'error', statusCode: 503, message })

  t.test('503 without the migrations', async (t) => {
    const empty = await createDatabase()
    const { call, logged } = await startService(t, empty.uri('authenticator', 'authenticator'))
    t.teardown(empty.drop)
    const answer = error('The database is not set up for this: `rowhouse migrate` has not run')
    for (const path of ['/auth/signup', '/auth/signin', '/auth/signout', '/report']) {
      const whole = path === '/auth/signup' ? { ...body, firstName: 'Ann' } : body
      const given = await call('POST', path, { body: whole, headers: { Cookie: cookie } })
      t.strictSame([given.status, given.body], [503, answer], path)
    }
    t.equal(logged.length, 4)
    t.strictSame((await call('POST', '/auth/nothing')).status, 404)
  })

  t.test('503 without the right to execute the functions', async (t) => {
    // Roles are of the cluster, which other tests use at the same time.
    const stranger = `stranger_${database.name}`
    const { call } = await startService(t, database.uri(stranger, 'stranger'))
    await database.query(`create role ${stranger} login password 'stranger'`)
    t.teardown(() => database.query(`drop role ${stranger}`))
    t.equal((await call('POST', '/auth/signin', { body })).status, 503)
  })

  t.test('503 without the database', async (t) => {
    const { call, logged } = await startService(t, 'postgresql://authenticator:x@127.0.0.1:1/nothing')
    const given = await call('POST', '/auth/signin', { body })
    t.strictSame([given.status, given.body], [503, error('The database cannot be reached at the moment')])
    t.equal(logged.length, 1)
    const out = await call('POST', '/auth/signout', { headers: { Cookie: cookie } })
    t.strictSame([out.status, out.cookie], [503, undefined], 'the cookie is kept')
  })

  t.test('503 without the secrets', async (t) => {
    const { call } = await startService(t, database.authenticatorUri, { sessionSecrets: [] })
    for (const path of ['/auth/signup', '/auth/signin', '/auth/signout', '/report']) {
      const given = await call('POST', path, { body, headers: { Cookie: cookie } })
      t.strictSame(
        [given.status, given.body],
        [503, error('Sessions are not set up: SESSION_SECRETS is not set')],
        path,
      )
    }
  })
})

t.test('an internal error is logged, but not disclosed to the client', async (t) => {
  await database.query('alter table auth.users rename column encrypted_password to encrypted_password_2')
  t.teardown(() => database.query('alter table auth.users rename column encrypted_password_2 to encrypted_password'))
  const given = await call('POST', '/auth/signin', { body: { email: 'ann@example.org', password } })
  t.strictSame(
    [given.status, given.body],
    [500, { status: 'error', statusCode: 500, message: 'Something went wrong on the server' }],
  )
  t.match(service.logged.at(-1), { message: /encrypted_password/ })
})
