// Batches with an Idempotency-Key take effect once, as a whole.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { countRoundTrips } from '../support/round-trips.ts'
import { bearer } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`
  create table public.payments (id int generated always as identity primary key, amount int check (amount > 0));
  create table public.entries (payment int references public.payments);
  grant all on public.payments, public.entries to authenticated`)
const counter = await countRoundTrips(t, database.authenticatorUri)
const { call } = await startApplication(t, counter.uri, { SERVICES: 'rest', PGRST_DB_CHANNEL_ENABLED: 'false' })

const send = async (key: string, amount = 1, user = 'ann') =>
  call('POST', '/rest/v1/$batch', {
    headers: { Authorization: await bearer('authenticated', { sub: user }), 'Idempotency-Key': key },
    body: {
      requests: [
        {
          id: 'pay',
          method: 'POST',
          url: '/payments?select=id',
          headers: { Prefer: 'return=representation' },
          body: { amount },
        },
        { id: 'enter', method: 'POST', url: '/entries', body: { payment: { $ref: 'pay#/0/id' } } },
      ],
    },
  })
const count = async (): Promise<unknown> =>
  (await database.query('select (select count(*) from payments)::int as p, (select count(*) from entries)::int as e'))
    .rows[0]

t.test('a repeated batch gets the first response', async (t) => {
  const first = await send('a')
  t.equal(first.status, 200, first.text)
  t.equal(first.headers.get('idempotency-replayed'), null)
  const again = await send('a')
  t.strictSame([again.status, again.text, again.headers.get('idempotency-replayed')], [200, first.text, 'true'])
  t.strictSame(await count(), { p: 1, e: 1 })
  t.equal((await send('a', 1, 'bob')).status, 200, 'keys belong to a caller')
  t.strictSame(await count(), { p: 2, e: 2 })
})

t.test('a key stands for one batch', async (t) => {
  t.match(await send('a', 2), { status: 422, body: { code: 'PGRSTX91' } })
  t.match(await send('"', 2), { status: 400, body: { code: 'PGRSTX90' } })
  t.strictSame(await count(), { p: 2, e: 2 })
})

t.test('a batch that has failed may be repeated', async (t) => {
  t.match(await send('b', 0), { status: 400, body: { request: 'pay' } })
  t.equal((await send('b', 3)).status, 200)
  t.strictSame(await count(), { p: 3, e: 3 })
})

t.test('twenty at once take effect once', async (t) => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => send('c')))
  t.ok(answers.every(({ status }) => status === 200 || status === 409))
  t.equal(new Set(answers.filter(({ status }) => status === 200).map(({ text }) => text)).size, 1)
  t.strictSame(await count(), { p: 4, e: 4 })
})

t.test('costs no round trip more', async (t) => {
  await send('d')
  counter.take()
  await send('e')
  t.equal(counter.take(), 3)
})
