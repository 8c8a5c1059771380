// The routes of `/report`: request -> response.
import t from 'tap'
import { createValidator } from '../../server/validation/validator.ts'
import { detailsOf, fail, invalid, signIn, signUp } from '../support/account.ts'
import type { Answer } from '../support/call.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { startService } from '../support/service.ts'

const database = await createMigratedDatabase()
t.teardown(database.drop)
const { call } = await startService(t, database.authenticatorUri)
const ann = await signUp(call, 'ann@example.org')
const bob = await signUp(call, 'bob@example.org')
const others = await Promise.all(['c', 'd', 'e', 'f', 'g'].map((name) => signUp(call, `${name}@example.org`)))
await signUp(call, 'admin@example.org')
await database.query("update auth.users set app_role = 'admin' where email = 'admin@example.org'")
const admin = await signIn(call, 'admin@example.org')
const { forDto } = await createValidator()

const report = {
  manufacturer: 'Alfa Romeo',
  model: 'Giulia',
  year: 2018,
  mileage: 60_000,
  price: 21_000,
  lat: 48.1,
  lng: 11.6,
}
type Fault = { readonly field: string; readonly message: string }
type Stored = typeof report & { id: string; status: string; valuation?: object }
const isReport = forDto('urn:rowhouse:ReportDto')
const unknown = '00000000-0000-4000-8000-000000000000'
const create = async (who = ann, more: object = {}): Promise<Stored> =>
  detailsOf<Stored>(await who.call('POST', '/report', { body: { ...report, ...more } }))
const review = (id: string, approved: boolean, who = admin) =>
  who.call('PATCH', `/report/${id}/approval`, { body: { approved } })

t.test('a report can be created, read, changed, reviewed and deleted', async (t) => {
  const created = await create()
  const path = `/report/${created.id}`
  t.strictSame(isReport({ ...created }), [])
  t.match(created, { ...report, userId: ann.id, status: 'pending', valuation: { estimate: null } })

  const shown = await ann.call('GET', path)
  t.strictSame([shown.status, shown.body], [200, { status: 'success', details: created }])
  const head = await ann.call('HEAD', path)
  t.strictSame([head.status, head.text], [200, ''])

  const changed = await ann.call('PATCH', path, { body: { price: 20_500, model: '  Giulia QV ' } })
  t.equal(changed.status, 200)
  t.strictSame(isReport(detailsOf(changed)), [])
  t.match(detailsOf(changed), { ...created, price: 20_500, model: 'Giulia QV', updatedAt: /./ })
  t.not(detailsOf(changed).updatedAt, detailsOf(shown).updatedAt)

  for (const [approved, status] of [
    [true, 'approved'],
    [false, 'rejected'],
  ] as const) {
    const reviewed = await review(created.id, approved)
    t.equal(reviewed.status, 200)
    t.strictSame(isReport(detailsOf(reviewed)), [])
    t.match(detailsOf(reviewed), { id: created.id, userId: ann.id, status })
    const refused = await ann.call('PATCH', path, { body: { price: 1 } })
    t.strictSame(
      [refused.status, refused.body],
      [409, fail(409, `This report is ${status}: only a pending one can be changed`)],
    )
  }
  t.match(detailsOf(await ann.call('GET', path)), { price: 20_500, status: 'rejected' })

  const deleted = await ann.call('DELETE', path)
  t.strictSame([deleted.status, deleted.body], [200, { status: 'success', message: 'report deleted successfully' }])
  for (const method of ['GET', 'DELETE'] as const) t.equal((await ann.call(method, path)).status, 404, method)
})

t.test('a created report includes its valuation, which equals the estimate', async (t) => {
  for (const [index, who] of others.entries()) {
    const { id } = await create(who, { manufacturer: 'ALFAROMEO', price: 20_000 + 1000 * index })
    t.equal((await review(id, true)).status, 200)
  }
  const created = await create(ann, { price: 1 })
  const valuation = { estimate: 22_000, low: 21_000, high: 23_000, currency: 'EUR', comparables: 5 }
  t.match(created.valuation, { ...valuation, method: 'weighted median of comparable reports' })
  t.strictSame(forDto('urn:rowhouse:ValuationDto')({ ...created.valuation }), [])

  const query = 'model=giulia&year=2018&mileage=6e4&lat=48.1&lng=11.6'
  const estimate = await bob.call('GET', `/report/estimate?manufacturer=alfa+romeo&${query}`)
  t.strictSame([estimate.status, detailsOf(estimate)], [200, created.valuation])
  t.match(
    detailsOf(await others[0]!.call('GET', `/report/estimate?manufacturer=Alfa%20Romeo&${query}`)),
    { estimate: null, comparables: 4 },
    'without reports of the caller',
  )
  await ann.call('DELETE', `/report/${created.id}`)
})

t.test('lists are paginated', async (t) => {
  const dora = await signUp(call, 'dora@example.org')
  const created: string[] = []
  for (let n = 0; n < 7; n++) created.unshift((await create(dora, { price: n })).id)
  // Several with the same time, as one statement would insert them.
  await database.query('update public.reports set created_at = now() where id = any($1)', [created.slice(2, 6)])
  const { rows } = await database.query(
    'select id from public.reports where user_id = $1 order by created_at desc, id desc',
    [dora.id],
  )
  const wanted = rows.map(({ id }) => String(id))

  type Page = { details: Stored[]; nextCursor: string | null }
  for (const limit of [1, 2, 3, 6, 7, 100]) {
    const found: string[] = []
    let cursor: string | null = null
    do {
      const answer: Answer = await dora.call(
        'GET',
        `/report?limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`,
      )
      t.equal(answer.text, JSON.stringify(answer.body), 'as JSON.stringify writes it')
      const { details, nextCursor: next, ...rest } = answer.body as Page
      t.strictSame([answer.status, rest], [200, { status: 'success' }])
      t.ok(details.length <= limit && (next === null || details.length === limit))
      t.ok(details.every((it) => isReport({ ...it }).length === 0 && !('valuation' in it)))
      found.push(...details.map(({ id }) => id))
      cursor = next
    } while (cursor !== null)
    t.strictSame(found, wanted, `pages of ${limit}`)
  }
  const first = (await dora.call('GET', '/report?limit=3')).body as Page
  await dora.call('DELETE', `/report/${first.details[2]?.id}`)
  await create(dora)
  const second = (await dora.call('GET', `/report?limit=3&cursor=${first.nextCursor}`)).body as Page
  t.strictSame(
    second.details.map(({ id }) => id),
    wanted.slice(3, 6),
    'insertions and deletions do not shift pages',
  )
  const stranger = (await bob.call('GET', `/report?cursor=${first.nextCursor}`)).body as Page
  t.strictSame(stranger.details, [], 'the cursor of another user discloses nothing')
  t.match((await bob.call('GET', '/report')).body, { details: [], nextCursor: null })
})

t.test('invalid query parameters: query -> errors', async (t) => {
  const cursor = (text: string): string => Buffer.from(text).toString('base64url')
  const notACursor = [{ field: 'cursor', message: 'must be the nextCursor of a response' }]
  const whole = 'manufacturer=a&model=b&year=2000&mileage=1&lat=1&lng=1'
  const lists: readonly (readonly [path: string, errors: Fault[] | undefined])[] = [
    ['/report?limit=0', [{ field: 'limit', message: 'must be >= 1' }]],
    ['/report?limit=101', [{ field: 'limit', message: 'must be <= 100' }]],
    ['/report?limit=1.5', [{ field: 'limit', message: 'must be integer' }]],
    ['/report?limit=', [{ field: 'limit', message: 'must be integer' }]],
    ['/report?limit=0x10', [{ field: 'limit', message: 'must be integer' }]],
    ['/report?limit=1&limit=2', [{ field: 'limit', message: 'is given twice' }]],
    ['/report?offset=1', [{ field: 'offset', message: 'is not a known property' }]],
    ['/report?__proto__=1', [{ field: '__proto__', message: 'is not a known property' }]],
    ['/report?limit=1&constructor', [{ field: 'constructor', message: 'is not a known property' }]],
    ['/report?limit=%ff', undefined],
    ['/report?%=1', undefined],
    ['/report?cursor=', [{ field: 'cursor', message: 'must NOT have fewer than 1 characters' }]],
    ['/report?cursor=abc', notACursor],
    ["/report?cursor=';--", notACursor],
    [`/report?cursor=${cursor(`2024-02-30T00:00:00.000000Z ${unknown}`)}`, notACursor],
    [`/report?cursor=${cursor(`0000-01-01T00:00:00.000000Z ${unknown}`)}`, notACursor],
    [`/report?cursor=${cursor(`2024-02-01T24:00:00.000000Z ${unknown}`)}`, notACursor],
    [`/report?cursor=${cursor(`2024-02-01T00:00:00.000000Z ${unknown} `)}`, notACursor],
    [
      '/report/estimate',
      ['manufacturer', 'model', 'year', 'mileage', 'lat', 'lng'].map((field) => ({ field, message: 'is required' })),
    ],
    [`/report/estimate?${whole}&price=1`, [{ field: 'price', message: 'is not a known property' }]],
    [`/report/estimate?${whole.replace('2000', '1800')}`, [{ field: 'year', message: 'must be >= 1886' }]],
    [`/report/estimate?${whole.replace('2000', 'NaN')}`, [{ field: 'year', message: 'must be integer' }]],
    [`/report/estimate?${whole.replace('2000', '2e3000')}`, [{ field: 'year', message: 'must be integer' }]],
    [
      `/report/estimate?${whole.replace('=a', '=%20')}`,
      [{ field: 'manufacturer', message: 'must NOT have fewer than 1 characters' }],
    ],
    [
      `/report/estimate?${whole.replace('=b', '=%00')}`,
      [{ field: 'model', message: 'must not contain NUL or incomplete characters' }],
    ],
  ]
  for (const [path, errors] of lists) {
    const given = await ann.call('GET', path)
    t.equal(given.status, 400, path)
    if (errors)
      t.strictSame(given.body, invalid(...errors.map(({ field, message }) => [field, message] as const)), path)
    else t.match(given.body, { status: 'fail', statusCode: 400, message: /percent-encoded/ }, path)
  }
  t.equal((await ann.call('GET', `/report?cursor=${cursor(`9999-12-31T23:59:59.999999Z ${unknown}`)}`)).status, 200)
  t.equal((await ann.call('GET', '/report?&limit=1&')).status, 200)
})

t.test('invalid requests: request -> response', async (t) => {
  const { id } = await create()
  const noId = invalid(['id', 'must be a UUID'])
  const wrong = (field: string, message: string) => invalid([field, message])
  const missing = fail(404, 'There is no such report')
  const rows: readonly (readonly [method: string, path: string, body: unknown, object])[] = [
    ['GET', '/report/1', undefined, noId],
    ['PATCH', '/report/1', { price: 1 }, noId],
    ['DELETE', `/report/${id}x`, undefined, noId],
    ['PATCH', '/report/others/approval', { approved: true }, noId],
    ['GET', `/report/${unknown}`, undefined, missing],
    ['PATCH', `/report/${unknown}`, { price: 1 }, missing],
    ['DELETE', `/report/${unknown}`, undefined, missing],
    ['PATCH', `/report/${id}`, {}, wrong('body', 'must NOT have fewer than 1 properties')],
    ['PATCH', `/report/${id}`, { year: 1800 }, wrong('year', 'must be >= 1886')],
    ['PATCH', `/report/${id}`, { model: ' ' }, wrong('model', 'must NOT have fewer than 1 characters')],
    ['PATCH', `/report/${id}`, { price: null }, wrong('price', 'must be number')],
    ['PATCH', `/report/${id}`, { price: 1, status: 'approved' }, wrong('status', 'is not a known property')],
    ['PATCH', `/report/${id}`, { price: 1, user_id: bob.id }, wrong('user_id', 'is not a known property')],
    ['PATCH', `/report/${id}`, [{ price: 1 }], wrong('body', 'must be object')],
    ['POST', '/report', { ...report, status: 'approved' }, wrong('status', 'is not a known property')],
    ['PATCH', `/report/${id}/approval`, { approved: true }, fail(403, 'You may not do this')],
    ['PATCH', `/report/${unknown}/approval`, { approved: true }, fail(403, 'You may not do this')],
  ]
  for (const [method, path, body, answer] of rows) {
    const given = await ann.call(method, path, { body })
    t.strictSame(given.body, answer, `${method} ${path} ${JSON.stringify(body)}`)
    t.equal(given.status, (answer as { statusCode: number }).statusCode)
  }
  const reviews: readonly (readonly [path: string, body: unknown, object])[] = [
    [`/report/${unknown}/approval`, { approved: true }, missing],
    [`/report/${id}/approval`, { approved: 'true' }, wrong('approved', 'must be boolean')],
    [`/report/${id}/approval`, { approved: null }, wrong('approved', 'must be boolean')],
    [`/report/${id}/approval`, {}, wrong('approved', 'is required')],
    [`/report/${id}/approval`, { approved: true, price: 1 }, wrong('price', 'is not a known property')],
  ]
  for (const [path, body, answer] of reviews) {
    const given = await admin.call('PATCH', path, { body })
    t.strictSame(given.body, answer, JSON.stringify(body))
  }
  t.match(detailsOf(await ann.call('GET', `/report/${id}`)), { ...report, status: 'pending' }, 'nothing was changed')
})

t.test('without a session, every request gets 401', async (t) => {
  const rows = [
    ['GET', '/report'],
    ['GET', '/report?limit=0'],
    ['GET', '/report/estimate'],
    ['GET', '/report/1'],
    ['PATCH', '/report/1'],
    ['DELETE', `/report/${unknown}`],
    ['PATCH', `/report/${unknown}/approval`],
  ] as const
  for (const [method, path] of rows) {
    const given = await call(method, path, method === 'PATCH' ? { body: 'not JSON' } : {})
    t.strictSame([given.status, given.body], [401, fail(401, 'You are not currently signed in')], `${method} ${path}`)
  }
})

t.test('a concurrent change and review', async (t) => {
  for (let round = 0; round < 10; round++) {
    const { id } = await create()
    const [changed, reviewed] = await Promise.all([
      ann.call('PATCH', `/report/${id}`, { body: { price: 7 } }),
      review(id, true),
    ])
    t.equal(reviewed.status, 200)
    const stored = detailsOf<Stored>(await ann.call('GET', `/report/${id}`))
    t.equal(stored.status, 'approved')
    t.equal(stored.price, changed.status === 200 ? 7 : report.price, String(changed.status))
    t.ok([200, 409].includes(changed.status))
  }
})

t.test('texts of a report cannot break out of the JSON of a list', async (t) => {
  const eve = await signUp(call, 'eve@example.org')
  const mallory = await signUp(call, 'mallory@example.org')
  const texts = [
    '"}],"nextCursor":"forged","details":[{"userId":"',
    '\\"},{"id":"x',
    'a\u0001\b\f\u007f\u2028\u2029b',
    'Škoda 🚗 </script>',
    "'; drop table public.reports; --",
    'null',
  ]
  for (const manufacturer of texts) await create(mallory, { manufacturer, model: manufacturer })
  const own = await create(eve)
  const answer = await mallory.call('GET', '/report')
  t.equal(answer.text, JSON.stringify(answer.body))
  const { details, ...rest } = answer.body as { details: Stored[] }
  t.strictSame(rest, { status: 'success', nextCursor: null })
  t.strictSame(
    details.map(({ manufacturer, model }) => [manufacturer, model]),
    texts.map((text) => [text, text]).reverse(),
  )
  t.notOk(answer.text.includes(own.id))
  const pending = (await admin.call('GET', '/report/pending?limit=100')).body as { details: Stored[] }
  const listed = pending.details.map(({ manufacturer }) => manufacturer)
  t.ok(texts.every((text) => listed.includes(text)))
})
