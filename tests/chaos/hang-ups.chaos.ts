// Thousands of clients that disconnect at random moments, beside others that stay and must not be affected.
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createOwnedDatabase } from '../support/authenticator.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { figures } from '../support/timings.ts'

t.setTimeout(600_000)

const hangUps = Number(process.env.CHAOS_HANG_UPS ?? 4000)
const seed = testSeed()
const { database, uri, authenticator, anonymous } = await createOwnedDatabase(t)
await database.query(`
  create table public.items (id int primary key, text text not null);
  insert into public.items select i, 'item ' || i from generate_series(1, 1000) i;
  create table public.ledger (id int primary key);
  create table public.blobs (id int primary key, text text not null);
  insert into public.blobs select i, repeat('x', 300000) from generate_series(1, 20) i;
  create function public.nap(seconds float8) returns int language sql volatile as
    $$ select 7 from pg_sleep(seconds) $$;
  create function public.rest(seconds float8) returns int language sql stable as
    $$ select 7 from pg_sleep(seconds) $$;
  grant select, insert, update on all tables in schema public to ${anonymous};
  alter role ${anonymous} set statement_timeout = '60s'`)
const { url, service } = await startApplication(t, uri, {
  PGRST_DB_ANON_ROLE: anonymous,
  PGRST_DB_POOL: '6',
  PGRST_LOG_LEVEL: 'crit',
  REST_BASE_PATH: '/',
})
const port = Number(new URL(url).port)
const served = service.database
const random = seededRandom(seed)

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
const send = (method: string, path: string, body: string): string =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`

/** Requests that are abandoned: fast and slow ones, large ones, writes, and several at once. */
const abandoned: readonly [() => string, ...(() => string)[]] = [
  () => get(`/items?id=eq.${random.integer(1, 1000)}`),
  () => get('/rpc/nap?seconds=5'),
  () => get('/rpc/rest?seconds=5'),
  () => get(`/rpc/nap?seconds=0.0${random.integer(1, 9)}`),
  () => get(`/rpc/rest?seconds=0.00${random.integer(1, 9)}`),
  () => get('/blobs?select=text'),
  () => send('POST', '/rpc/nap', `{"seconds":0.0${random.integer(1, 9)}}`),
  () => send('PATCH', `/items?id=eq.${random.integer(1, 1000)}`, '{"text":"changed"}'),
  () => get('/rpc/nap?seconds=5').repeat(random.integer(2, 4)),
]

async function abandon(): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write(random.pick(abandoned)())
  await pause(random.integer(0, 60))
  if (random.next() < 0.5) socket.destroy()
  else socket.end()
}

/** Requests that are awaited, each with its expected response. */
let lastId = 0
const requests: readonly [() => Promise<string | undefined>, ...(() => Promise<string | undefined>)[]] = [
  () => {
    const id = random.integer(1, 1000)
    return ask(`/items?id=eq.${id}&select=id`, {}, `[{"id":${id}}]`)
  },
  () => ask('/rpc/nap?seconds=0.03', {}, '7'),
  () => ask('/rpc/rest?seconds=0.002', {}, '7'),
  () => ask('/rpc/nap', { method: 'POST', body: '{"seconds":0.04}' }, '7'),
  () => ask('/ledger', { method: 'POST', body: `{"id":${++lastId}}` }, ''),
  () => ask('/blobs?select=id&limit=1&order=id', {}, '[{"id":1}]'),
]

/** Failures of the requests that are awaited. */
async function ask(path: string, init: RequestInit, expected: string): Promise<string | undefined> {
  const response = await fetch(url + path, { ...init, headers: { 'Content-Type': 'application/json' } })
  const text = await response.text()
  return response.ok && text === expected ? undefined : `${path}: ${response.status} ${text.slice(0, 300)}`
}

t.test(`${hangUps} disconnects, seed ${seed}`, async (t) => {
  let left = hangUps
  const wrong: string[] = []
  const times: number[] = []
  const leaving = Promise.all(
    Array.from({ length: 8 }, async () => {
      while (left-- > 0) await abandon()
    }),
  )
  let isOver = false
  const staying = Promise.all(
    Array.from({ length: 6 }, async () => {
      while (!isOver) {
        const start = performance.now()
        const fault = await random.pick(requests)()
        times.push(performance.now() - start)
        if (fault !== undefined) wrong.push(fault)
      }
    }),
  )
  await leaving
  isOver = true
  await staying
  t.comment(`beside them: ${figures(times)}; wrong ${wrong.length}`)
  t.strictSame(wrong.slice(0, 5), [], 'no other statement was cancelled, and every response was the expected one')
  t.ok(times.length > 100)
  const isSettled = (): boolean => served.statistics.idle + served.statistics.waiting >= served.statistics.total
  for (let time = 0; time < 1000 && !isSettled(); time++) await pause(10)
  const { idle, total, waiting, admitsWrites } = served.statistics
  t.equal(idle, total, 'every connection was returned')
  t.equal(waiting, 0)
  t.ok(admitsWrites)
  const { rows } = await database.query(
    `select state, count(*)::int as n from pg_stat_activity where usename = $1 and query not ilike 'listen%' group by state`,
    [authenticator],
  )
  t.strictSame(
    rows.map(({ state }) => state),
    ['idle'],
    'and is in no transaction',
  )
  const stored = await database.query('select count(*)::int as n from public.ledger')
  t.equal(Number(stored.rows[0]?.n), lastId, 'every awaited write is stored')
})
