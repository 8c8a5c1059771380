// What batches may cost: memory for responses, and for values of references; time for many references.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { LibpqClient } from '../../server/postgres/connection/pool-config.ts'
import { startBatchService } from '../support/batch-service.ts'
import { cpuTimeUntil } from '../support/cpu-time.ts'
import { until } from '../support/until.ts'

const service = await startBatchService(t, 'batch_size', { PGRST_DB_POOL: '2' })
const { database, batch } = service
await database.query(`
  create function api.text_of(length int) returns text stable language sql as $$ select repeat('x', length) $$;
  create function api.rows_of(length int, number int) returns setof text stable language sql as
    $$ select repeat('x', length) from generate_series(1, number) $$;
  create function api.numbers(number int) returns json stable language sql as
    $$ select json_agg(json_build_array(n)) from generate_series(0, number - 1) n $$;
  create function api.count_of(value json) returns int stable language sql as $$ select json_array_length(value) $$;
  alter role batch_size set statement_timeout = '5min';
  notify pgrst, 'reload schema'`)
const call = (id: string, name: string, body: unknown) => ({ id, method: 'POST', url: `/rpc/${name}`, body })
const tooLarge = { code: 'PGRSTX11', details: 'The limit is 10485760 bytes in total (batch-max-bytes).' }
const docs = async (): Promise<unknown> => (await database.query('select id from api.docs')).rows
const isReady = async (): Promise<boolean> => {
  const { status, text } = await batch([call('a', 'text_of', { length: 1 }), call('b', 'seen', {})])
  return status === 200 && /"timeout" *: *"5min"/.test(text)
}
t.ok(await until(isReady))

t.test('rows that are larger than the limit are not kept', async (t) => {
  const write = { id: 'w', method: 'POST', url: '/docs', body: { id: 'undone' } }
  const read = (id: number) => ({ id: `r${id}`, method: 'GET', url: '/rpc/text_of?length=20000000' })
  const before = process.memoryUsage().rss
  let peak = before
  const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5)
  const answer = await batch([write, ...Array.from({ length: 4 }, (_, id) => read(id))])
  clearInterval(timer)
  t.match([answer.status, answer.body], [413, { ...tooLarge, request: 'r0' }], answer.text)
  t.ok(peak - before < 60_000_000, `the process grew by ${Math.round((peak - before) / 1e6)} MB`)
  t.strictSame(await docs(), [], 'nothing has changed')
})

t.test('what follows the excess is cancelled, and no other request with it', async (t) => {
  const start = performance.now()
  const answer = await batch([
    { id: 'r', method: 'GET', url: '/rpc/text_of?length=20000000' },
    call('n', 'nap', { seconds: 240 }),
  ])
  t.match([answer.status, answer.body], [413, { request: 'r' }])
  t.ok(performance.now() - start < 120_000)
  const busy = `select from pg_stat_activity where datname = current_database() and query like '%nap%'
    and state <> 'idle' and pid <> pg_backend_pid()`
  t.ok(await until(async () => (await database.query(busy)).rowCount === 0))
  for (let index = 0; index < 5; index++) t.equal((await batch([call('n', 'nap', { seconds: 0.02 })])).status, 200)
})

t.test(
  'a request to cancel that comes between two statements is repeated, until the connection is closed',
  async (t) => {
    // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its own object
    const { requestCancel } = LibpqClient.prototype
    let requests = 0
    t.intercept(LibpqClient.prototype, 'requestCancel', {
      value: function (this: LibpqClient) {
        return requests++ === 0 ? Promise.resolve() : requestCancel.call(this)
      },
    })
    const start = performance.now()
    const answer = await batch([
      { id: 'r', method: 'GET', url: '/rpc/text_of?length=20000000' },
      call('n', 'nap', { seconds: 240 }),
    ])
    t.match([answer.status, answer.body], [413, { request: 'r' }])
    t.ok(performance.now() - start < 120_000)
    t.ok(requests > 1)
    const last = requests
    await pause(2500)
    t.equal(requests, last, 'not after that')
  },
)

t.test('the rows of all requests count together, also those of earlier round trips', async (t) => {
  const read = (id: string, url: string) => ({ id, method: 'GET', url })
  const sizes = await batch([
    read('a', '/rpc/rows_of?length=1000&number=4000'),
    read('b', '/rpc/rows_of?length=1000&number=4000'),
    { id: 'c', method: 'POST', url: '/rpc/echo', body: { value: { $ref: 'a#/0' } } },
    read('d', '/rpc/rows_of?length=1000&number=4000'),
  ])
  t.match([sizes.status, sizes.body], [413, { ...tooLarge, request: 'd' }])
  const fits = await batch([read('a', '/rpc/rows_of?length=1000&number=9000')])
  t.equal(fits.status, 200)
  const exact = await batch([read('a', `/rpc/text_of?length=${10485760 - 2}`)])
  t.equal(exact.status, 200)
  t.equal((await batch([read('a', `/rpc/text_of?length=${10485760 - 1}`)])).status, 413)
})

t.test('references multiply no memory', async (t) => {
  const answer = await batch([
    { id: 'a', method: 'GET', url: '/rpc/text_of?length=1000000' },
    { id: 'w', method: 'POST', url: '/docs', body: { id: 'undone' } },
    call('b', 'count_of', { value: Array.from({ length: 2000 }, () => ({ $ref: 'a#' })) }),
  ])
  t.match([answer.status, answer.body], [413, { ...tooLarge, request: 'b' }])
  t.strictSame(await docs(), [])
  const inUrl = await batch([
    { id: 'a', method: 'GET', url: '/rpc/text_of?length=1000000' },
    { id: 'b', method: 'GET', url: `/docs?id=in.(${Array.from({ length: 20 }, () => '${a#}').join(',')})` },
  ])
  t.match([inUrl.status, inUrl.body], [413, { ...tooLarge, request: 'b' }])
})

t.test('references to a large response take linear time', async (t) => {
  const cost = async (number: number): Promise<number> => {
    const requests = [
      { id: 'a', method: 'GET', url: `/rpc/numbers?number=${number}` },
      call('b', 'count_of', { value: Array.from({ length: number }, (_, n) => ({ $ref: `a#/${number - 1 - n}/0` })) }),
    ]
    return cpuTimeUntil(async () => t.match((await batch(requests)).body, { responses: [{}, { body: number }] }))
  }
  const [small, large] = [Math.min(await cost(5000), await cost(5000)), await cost(20_000)]
  t.ok(large < 10 * small + 100, `${small} ms, ${large} ms`)
})

t.test('no connection was lost for good', async (t) => {
  const { statistics } = service.service.database
  t.ok(await until(() => Promise.resolve(statistics.total === statistics.idle && statistics.waiting === 0)))
})
