// Large responses are streamed while they arrive from the database, at the client's pace.
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createDatabase } from '../support/database.ts'
import { requestSlowly, type SlowRequest } from '../support/slow-request.ts'
import { until } from '../support/until.ts'

const database = await createDatabase()
t.teardown(() => database.drop())
const role = `streaming_${database.name}`
await database.query(`
  create role ${role} nologin;
  create table public.lines (id int primary key, text text);
  insert into public.lines select i, repeat('ä' || i, 100) from generate_series(1, 60000) i;
  create function public.fails_late() returns setof public.lines stable language plpgsql as $$
    begin return query select * from public.lines; raise exception 'too late'; end $$;
  create function public.with_headers() returns setof public.lines stable language plpgsql as $$
    begin perform set_config('response.headers', '[{"x-lines": "60000"}]', true); return query select * from public.lines; end $$;
  grant select on public.lines to ${role}`)
t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))
const { url, call, service } = await startApplication(t, database.adminUri, {
  PGRST_DB_ANON_ROLE: role,
  PGRST_DB_POOL: '2',
  REST_BASE_PATH: '/',
})

const { rows } = await database.query(
  `select coalesce(json_agg(l), '[]')::text as json from (select id, text from public.lines order by id) l`,
)
const expected = String(rows[0]?.json)

t.test('a large response is complete', async (t) => {
  for (let time = 0; time < 3; time++) {
    const answer = await call('GET', '/lines?select=id,text&order=id')
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('content-length'), String(Buffer.byteLength(expected)))
    t.equal(answer.headers.get('content-range'), '0-59999/*')
    t.ok(answer.text === expected, 'the same text')
  }
  const counted = await fetch(`${url}/lines?select=id,text&order=id`, { headers: { Prefer: 'count=exact' } })
  t.equal(counted.headers.get('content-range'), '0-59999/60000')
  t.equal((await counted.text()).length, expected.length)
  const csv = await fetch(`${url}/lines?order=id`, { headers: { Accept: 'text/csv' } })
  t.equal((await csv.text()).split('\n').length, 60001)
})

t.test('responses around the size of a chunk', async (t) => {
  for (const limit of [70, 80, 90, 100, 150, 200, 300, 400]) {
    const answer = await call('GET', `/lines?select=id,text&order=id&limit=${limit}`)
    t.equal((answer.body as unknown[]).length, limit)
    t.equal(answer.headers.get('content-length'), String(Buffer.byteLength(answer.text)))
  }
})

t.test('response headers set by a function, and errors, precede the body', async (t) => {
  const headers = await call('GET', '/rpc/with_headers')
  t.equal(headers.headers.get('x-lines'), '60000')
  t.equal((headers.body as unknown[]).length, 60000)
  t.match(await call('GET', '/rpc/fails_late'), { status: 400, body: { code: 'P0001' } })
  const singular = await fetch(`${url}/lines`, { headers: { Accept: 'application/vnd.pgrst.object+json' } })
  t.equal(singular.status, 406)
  t.match(await singular.json(), { code: 'PGRST116' })
  t.match(await call('HEAD', '/lines'), { status: 200, text: '' })
})

const slowly = (): Promise<IncomingMessage> =>
  new Promise((resolve) => get(`${url}/lines?select=id,text&order=id`, { agent: false }, resolve))

t.test('a slow client gets the whole response', async (t) => {
  const response = await slowly()
  let length = 0
  for await (const chunk of response) {
    length += (chunk as Buffer).length
    if (length % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  t.equal(length, Buffer.byteLength(expected))
})

t.test('clients that disconnect in the middle release their connections', async (t) => {
  for (let time = 0; time < 6; time++) {
    const response = await slowly()
    await once(response, 'data')
    response.destroy()
  }
  t.match(await call('GET', '/lines?id=eq.1&select=id'), { status: 200, body: [{ id: 1 }] })
  const served = service.database
  t.ok(await until(() => served.statistics.idle === served.statistics.total), 'every connection was returned')
})

t.test('without spill space, as many slow readers as memory allows get their responses', async (t) => {
  const small = await startApplication(t, database.adminUri, {
    PGRST_DB_ANON_ROLE: role,
    PGRST_DB_POOL: '2',
    REST_BASE_PATH: '/',
    DB_POOL_SPILL_MEMORY: '0',
    DB_POOL_SPILL_DISK: '0',
  })
  const served = small.service.database
  const path = '/lines?select=id,text&order=id&limit=13000'
  const { text } = await small.call('GET', path)
  const length = Buffer.byteLength(text)
  t.ok(length < 8 * 1024 ** 2, 'small enough to arrive as a whole')
  const readers: SlowRequest[] = []
  let most = 0
  for (let number = 0; number < 30; number++) {
    const reader = requestSlowly(small.url + path)
    readers.push(reader)
    await reader.response
    t.ok(await until(() => served.statistics.idle === served.statistics.total), 'its connection is available')
    most = Math.max(most, served.statistics.unplacedBytes)
  }
  t.ok(most <= 32 * 1024 ** 2, `${most} bytes in memory`)
  const results = await Promise.allSettled(readers.map(({ finish }) => finish()))
  const whole = results.filter((result) => result.status === 'fulfilled')
  t.ok(whole.length > 0 && whole.length < readers.length, `${whole.length} of ${readers.length} got the whole response`)
  for (const { value } of whole) t.equal(value.length, length)
  t.ok(await until(() => served.statistics.unplacedBytes === 0))
})
