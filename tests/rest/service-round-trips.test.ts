// How often a request of a service asks Postgres and waits for it: once for its session and its statement together.
import t from 'tap'
import { createMigratedDatabase } from '../support/database.ts'
import { requestOf, titleOf, type TableRequest } from '../support/request-table.ts'
import { countRoundTrips } from '../support/round-trips.ts'
import { send } from '../support/sent-request.ts'
import { startService } from '../support/service.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const counter = await countRoundTrips(t, database.authenticatorUri)
const { call, url } = await startService(t, counter.uri)

const account = { email: 'ann@example.org', password: 'correct horse' }
await call('POST', '/auth/signup', { body: { ...account, firstName: 'Ann' } })
const { cookie = '' } = await call('POST', '/auth/signin', { body: account })
const headers = { Cookie: cookie }
const report = { manufacturer: 'Opel', model: 'Corsa', year: 2001, mileage: 90_000, price: 3000, lat: 48, lng: 11 }
const created = await call('POST', '/report', { body: report, headers })
const { id } = (created.body as { details: { id: string } }).details
const vehicle = 'manufacturer=Opel&model=Corsa&year=2001&mileage=1&lat=48&lng=11'

const rows: readonly (TableRequest & { readonly status: number; readonly trips: number })[] = [
  { send: ['POST', '/report', report], status: 201, trips: 1 },
  { send: ['GET', '/report'], status: 200, trips: 1 },
  { send: ['GET', `/report/${id}`], status: 200, trips: 1 },
  { send: ['GET', `/report/estimate?${vehicle}`], status: 200, trips: 1 },
  { send: ['GET', '/auth/me'], status: 200, trips: 1 },
  { send: ['GET', '/auth/sessions'], status: 200, trips: 2 },
  // What the database refuses, and a report that is not there.
  { send: ['GET', '/report/pending'], status: 403, trips: 1 },
  { send: ['DELETE', `/report/${id}`], status: 200, trips: 1 },
  { send: ['GET', `/report/${id}`], status: 404, trips: 1 },
  // A query that is not valid is refused once the session is known.
  { send: ['GET', '/report?limit=x'], status: 400, trips: 1 },
]

for (const { status, trips, ...row } of rows) {
  t.test(titleOf(row), async (t) => {
    const request = await requestOf({ ...row, headers })
    await counter.quiet()
    counter.take()
    const response = await send(url, request)
    t.equal(response.status, status)
    t.equal(counter.take(), trips)
  })
}

t.test('without a cookie nothing is asked', async (t) => {
  await counter.quiet()
  counter.take()
  t.match(await call('GET', '/report'), { status: 401 })
  t.equal(counter.take(), 0)
})

t.test('requests that come together share connections, and each gets its own rows', async (t) => {
  // So often that the statements are known to be brief.
  for (let time = 0; time < 30; time++) await call('GET', '/report', { headers })
  const bob = { email: 'bob@example.org', password: 'correct horse' }
  await call('POST', '/auth/signup', { body: { ...bob, firstName: 'Bob' } })
  const other = { Cookie: (await call('POST', '/auth/signin', { body: bob })).cookie ?? '' }
  await call('POST', '/report', { body: { ...report, manufacturer: 'Fiat' }, headers: other })
  const listed = async (cookies: Record<string, string>): Promise<readonly string[]> => {
    const { body } = await call('GET', '/report', { headers: cookies })
    return (body as { details: { manufacturer: string }[] }).details.map(({ manufacturer }) => manufacturer)
  }
  const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => listed(index % 2 === 0 ? headers : other)))
  for (const [index, answer] of answers.entries()) {
    t.ok(answer.length > 0 && answer.every((name) => name === (index % 2 === 0 ? 'Opel' : 'Fiat')), `list ${index}`)
  }
})
