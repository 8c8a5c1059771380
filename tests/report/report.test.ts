import t from 'tap'
import { readSchemas } from '../../server/validation/schema-directory.ts'
import { ownSchemas } from '../../server/validation/validator.ts'
import { signCookie } from '../../server/http/cookie.ts'
import { invalid } from '../support/account.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { secrets, startService } from '../support/service.ts'

const database = await createMigratedDatabase()
t.teardown(database.drop)
const { call, logged } = await startService(t, database.authenticatorUri)

const password = 'correct horse'
/** Signs in, creating the account if necessary. */
async function signUp(email: string): Promise<{ id: string; cookie: string }> {
  await call('POST', '/auth/signup', { body: { email, firstName: 'Test', password } })
  const { body, cookie } = await call('POST', '/auth/signin', { body: { email, password } })
  return { id: (body as { details: { id: string } }).details.id, cookie: cookie ?? '' }
}
const ann = await signUp('ann@example.org')
const bob = await signUp('bob@example.org')

const report = {
  manufacturer: 'Opel',
  model: 'Corsa',
  year: 2001,
  mileage: 90_000,
  price: 2999.99,
  lat: 48.137,
  lng: 11.575,
}
const post = (body: unknown, cookie: string | undefined = ann.cookie) =>
  call('POST', '/report', { body, headers: cookie === '' ? {} : { Cookie: cookie } })
const schemas = await readSchemas(ownSchemas)
const schemaOf = (id: string) => schemas.find((file) => file.id === id)?.schema ?? {}
const reportDto = schemaOf('urn:rowhouse:ReportDto')
const valuationDto = schemaOf('urn:rowhouse:ValuationDto')
const nextYear = new Date().getUTCFullYear() + 1

t.test('a report is stored and returned', async (t) => {
  const given = await post({ ...report, manufacturer: '  Opel\n' })
  t.equal(given.status, 201)
  const { details, ...rest } = given.body as { details: Record<string, unknown> }
  t.strictSame(rest, { status: 'success' })
  const { valuation, ...stored } = details
  t.strictSame(valuation, {
    estimate: null,
    low: null,
    high: null,
    currency: 'EUR',
    comparables: 0,
    confidence: 0,
    method: 'none: fewer than 5 comparable reports',
  })
  const { id, createdAt, updatedAt, ...values } = stored
  t.strictSame(values, { ...report, userId: ann.id, status: 'pending' })
  t.match(id, /^[0-9a-f-]{36}$/)
  t.ok(Math.abs(Date.parse(String(createdAt)) - Date.now()) < 60_000)
  t.equal(updatedAt, createdAt)
  const { rows } = await database.query('select to_jsonb(r) as row from public.reports r where id = $1', [id])
  t.strictSame(rows, [
    {
      row: {
        ...{ id, ...report, user_id: ann.id, status: 'pending' },
        ...{ created_at: createdAt, updated_at: updatedAt },
      },
    },
  ])
  t.strictSame(Object.keys(details), Object.keys(reportDto.properties as object), 'keys in the order of the schema')
  t.strictSame(Object.keys(valuation as object), Object.keys(valuationDto.properties as object))
  t.equal(given.headers.get('cache-control'), 'no-store')
})

t.test('a report belongs to the signed-in user', async (t) => {
  t.match((await post(report, bob.cookie)).body, { details: { userId: bob.id } })
})

t.test('limits: value -> accepted', async (t) => {
  const rows: readonly (readonly [field: keyof typeof report, value: unknown, message: string | undefined])[] = [
    ['year', 1886, undefined],
    ['year', 1885, 'must be >= 1886'],
    ['year', nextYear, undefined],
    ['year', nextYear + 1, `must be <= ${nextYear}`],
    ['year', 2001.5, 'must be integer'],
    ['year', '2001', 'must be integer'],
    ['year', null, 'must be integer'],
    ['mileage', 0, undefined],
    ['mileage', 2_000_000, undefined],
    ['mileage', 2_000_001, 'must be <= 2000000'],
    ['mileage', -1, 'must be >= 0'],
    ['mileage', 12_345.6, 'must be integer'],
    ['mileage', 1.5, 'must be integer'],
    ['mileage', 15.0, undefined],
    ['price', 0, undefined],
    ['price', 100_000_000, undefined],
    ['price', 100_000_001, 'must be <= 100000000'],
    ['price', 1e300, 'must be <= 100000000'],
    ['price', 0.01, undefined],
    ['price', 99_999_999.99, undefined],
    ['price', true, 'must be number'],
    ['lat', 90, undefined],
    ['lat', -90, undefined],
    ['lat', 90.000001, 'must be <= 90'],
    ['lng', 180, undefined],
    ['lng', -180, undefined],
    ['lng', -181, 'must be >= -180'],
    ['manufacturer', 'x', undefined],
    ['manufacturer', ' \t ', 'must NOT have fewer than 1 characters'],
    ['manufacturer', '🚗'.repeat(100), undefined],
    ['manufacturer', '🚗'.repeat(101), 'must NOT have more than 100 characters'],
    ['model', "'; drop table reports; --", undefined],
    ['model', 'a\0b', 'must not contain NUL or incomplete characters'],
    ['model', { toString: 'x' }, 'must be string'],
  ]
  for (const [field, value, message] of rows) {
    const label = `${field} ${JSON.stringify(value)}`.slice(0, 60)
    const given = await post({ ...report, [field]: value })
    if (message === undefined) {
      t.equal(given.status, 201, label)
      t.strictSame((given.body as { details: Record<string, unknown> }).details[field], value, label)
    } else {
      const answer = invalid([field, message])
      t.strictSame([given.status, given.body], [400, answer], label)
    }
  }
})

t.test('prices are rounded to cents', async (t) => {
  for (const [price, stored] of [
    [2999.994, 2999.99],
    [2999.995, 3000],
    [1e-300, 0],
  ] as const) {
    const given = await post({ ...report, price })
    t.match([given.status, given.body], [201, { details: { price: stored } }], String(price))
  }
})

t.test('every invalid field is reported', async (t) => {
  const rows: readonly (readonly [body: unknown, fields: string[]])[] = [
    [{}, ['manufacturer', 'model', 'year', 'mileage', 'price', 'lat', 'lng']],
    [{ ...report, year: 1, lat: 100, status: 'approved', user_id: bob.id }, ['status', 'user_id', 'year', 'lat']],
    [{ ...report, 'a/b': 1 }, ['a/b']],
    [[report], ['body']],
    ['5', ['body']],
  ]
  for (const [body, fields] of rows) {
    const given = await post(body)
    t.equal(given.status, 400)
    const { fieldErrors } = (given.body as { details: { fieldErrors: Record<string, string> } }).details
    t.strictSame(Object.keys(fieldErrors), fields, JSON.stringify(body))
    t.ok(Object.values(fieldErrors).every((message) => message !== ''))
  }
})

t.test('invalid sessions: cookie -> 401', async (t) => {
  const answer = { status: 'fail', statusCode: 401, message: 'You are not currently signed in' }
  const expires = Math.floor(Date.now() / 1000) + 1000
  const id = /^session=([^.]+)/.exec(ann.cookie)?.[1] ?? ''
  const session = (name: string, value: { id: string; expires: number }, secret: string): string =>
    `session=${signCookie(name, value, [secret])}`
  const rows: readonly (readonly [label: string, cookie: string])[] = [
    ['absent', ''],
    ['another cookie', 'other=x'],
    ['empty', 'session='],
    ['unsigned', `session=${id}`],
    ['cut', ann.cookie.slice(0, -1)],
    ['changed', ann.cookie.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))],
    ['signed with a foreign secret', session('session', { id, expires }, 'f'.repeat(32))],
    ['signed for another name', session('sessions', { id, expires }, secrets[0])],
    ['expired', session('session', { id, expires: expires - 1001 }, secrets[0])],
    ['signed, but no session', session('session', { id: 'made-up', expires }, secrets[0])],
    ["a session's name to its user", session('session', { id: ann.id, expires }, secrets[0])],
  ]
  for (const [label, cookie] of rows) {
    const given = await post(report, cookie)
    t.strictSame([given.status, given.body], [401, answer], label)
  }
  t.equal((await post('not JSON', '')).status, 401, 'the body is not read before authentication')

  t.equal((await post(report, session('session', { id, expires }, secrets[1]))).status, 201, 'an older secret')
  t.equal(
    (await post(report, `session=forged; ${ann.cookie}`)).status,
    201,
    'an invalid cookie does not hide a valid one',
  )
  t.equal((await post(report, `a=b; ${ann.cookie}; c=d`)).status, 201)
})

t.test('a session ended in the database is invalid at once', async (t) => {
  const ends: readonly (readonly [label: string, sql: string])[] = [
    ['expired', 'update auth.sessions set not_after = now() where user_id = $1'],
    ['deleted', 'delete from auth.sessions where user_id = $1'],
    ['its account is deleted', 'delete from auth.users where id = $1'],
  ]
  for (const [label, sql] of ends) {
    const user = await signUp('short@example.org')
    t.equal((await post(report, user.cookie)).status, 201, label)
    await database.query(sql, [user.id])
    t.equal((await post(report, user.cookie)).status, 401, label)
  }
})

t.test('a user who deleted their profile gets a new one at the next sign-in', async (t) => {
  const user = await signUp('gone@example.org')
  await database.query('delete from public.profiles where id = $1', [user.id])
  const refused = await post(report, user.cookie)
  t.match([refused.status, refused.body], [409, { status: 'fail', message: /profile was deleted/ }])
  const { cookie } = await signUp('gone@example.org')
  t.equal((await post(report, cookie)).status, 201)
})

t.test('requests are subject to the policies and grants of the REST API', async (t) => {
  await database.query(
    'create policy closed on public.reports as restrictive for insert to authenticated with check (false)',
  )
  const refused = await post(report)
  t.strictSame(
    [refused.status, refused.body],
    [403, { status: 'fail', statusCode: 403, message: 'You may not do this' }],
  )
  await database.query('drop policy closed on public.reports')
  await database.query(`
    create table public.seen (claims jsonb, who text);
    grant insert on public.seen to authenticated;
    create function public.see() returns trigger language plpgsql as
      $$ begin insert into public.seen values (auth.jwt(), current_user); return new; end $$;
    create trigger see before insert on public.reports for each row execute function public.see()`)
  t.equal((await post(report)).status, 201)
  t.strictSame((await database.query('select * from public.seen')).rows, [
    { claims: { sub: ann.id, role: 'authenticated', aal: 'aal1' }, who: 'authenticated' },
  ])
  await database.query('drop table public.seen cascade; drop function public.see() cascade')
})

t.test('invalid bodies, unknown paths and methods', async (t) => {
  const headers = { Cookie: ann.cookie }
  const rows: readonly (readonly [string, string, Parameters<typeof call>[2], number, string | null])[] = [
    ['POST', '/report', { body: 'a=b', headers: { ...headers, 'Content-Type': 'text/plain' } }, 415, null],
    ['POST', '/report', { body: '{', headers }, 400, null],
    ['POST', '/report', { body: `"${'x'.repeat(10_000)}"`, headers }, 413, null],
    ['POST', '/report', { headers }, 415, null],
    ['POST', '/report/', { body: report, headers }, 201, null],
    ['OPTIONS', '/report', { headers }, 405, 'GET, HEAD, POST'],
    ['DELETE', '/report', { headers }, 405, 'GET, HEAD, POST'],
    ['POST', '/report/estimate', { headers }, 405, 'GET, HEAD'],
    ['PUT', '/report/x', { headers }, 405, 'GET, HEAD, PATCH, DELETE'],
    ['GET', '/report/x/approval', { headers }, 405, 'PATCH'],
    ['GET', '/report/x', { headers }, 400, null],
    ['GET', '/report/%', { headers }, 400, null],
    ['GET', '/report/%ff', { headers }, 400, null],
    ['POST', '/report/x/y', { body: report, headers }, 404, null],
  ]
  for (const [method, path, more, status, allow] of rows) {
    const given = await call(method, path, more)
    t.equal(given.status, status, `${method} ${path}`)
    t.match(given.body, status < 400 ? { status: 'success' } : { status: 'fail', statusCode: status })
    t.equal(given.headers.get('allow'), allow)
  }
})

t.test('an internal error does not disclose its cause', async (t) => {
  await database.query(`
    create function public.fail() returns trigger language plpgsql as $$ begin raise 'a secret'; end $$;
    create trigger fail before insert on public.reports for each row execute function public.fail()`)
  const before = logged.length
  const given = await post(report)
  t.strictSame(
    [given.status, given.body],
    [500, { status: 'error', statusCode: 500, message: 'Something went wrong on the server' }],
  )
  t.notMatch(JSON.stringify([...given.headers]), /secret/)
  t.match(logged.slice(before), [{ message: 'a secret' }])
})
