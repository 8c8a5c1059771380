// Batches under attack: concurrency, hang-ups, lost connections, functions that change the session.
import t from 'tap'
import { startBatchService } from '../support/batch-service.ts'
import { withClient } from '../support/database.ts'
import { until } from '../support/until.ts'

const service = await startBatchService(t, 'batch_attack', { PGRST_DB_POOL: '4' })
const { database, batch, call, as } = service

type Part = Readonly<{ id: string; status: number; body?: unknown }>
const responsesOf = (body: unknown): readonly Part[] => (body as { responses: readonly Part[] }).responses
const count = async (sql: string): Promise<number> => Number((await database.query(sql)).rows[0]?.count)
const single = { Prefer: 'return=representation', Accept: 'application/vnd.pgrst.object+json' }
const running = (): Promise<number> =>
  count(`select count(*) from pg_stat_activity where datname = current_database() and query like '%nap%'
    and state <> 'idle' and pid <> pg_backend_pid()`)

t.test('a hundred batches of two users at once: each whole or not at all, and nothing of the other', async (t) => {
  const answers = await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const user = index % 2 === 0 ? 'ann' : 'bob'
      const fails = index % 5 === 0
      const answer = await batch(
        [
          { id: 'order', method: 'POST', url: '/orders', headers: single, body: { customer: `c${index}` } },
          { id: 'seen', method: 'GET', url: '/orders?select=owner' },
          {
            id: 'line',
            method: 'POST',
            url: '/lines',
            body: { order_id: { $ref: 'order#/id' }, sku: `s${index}`, qty: fails ? 0 : 1 },
          },
          { id: 'own', method: 'GET', url: '/rpc/echo?value=${order#/owner}' },
        ],
        user,
      )
      return { user, fails, answer }
    }),
  )
  for (const { user, fails, answer } of answers) {
    if (fails) t.match([answer.status, answer.body], [400, { code: '23514', request: 'line' }])
    else {
      const [, seen, , own] = responsesOf(answer.body)
      t.equal(answer.status, 200, answer.text)
      t.ok((seen?.body as { owner: string }[]).every(({ owner }) => owner === user))
      t.equal(own?.body, user)
    }
  }
  t.equal(await count('select count(*) from api.orders'), 80)
  t.equal(await count('select count(*) from api.lines'), 80)
})

t.test('single requests beside batches keep their callers', async (t) => {
  const answers = await Promise.all(
    Array.from({ length: 60 }, async (_, index) => {
      const takeOver = { id: 'a', method: 'POST', url: '/rpc/takes_over', body: { name: `${service.role}_clerk` } }
      if (index % 3 === 0) return (await batch([takeOver])).status
      const user = index % 2 === 0 ? 'ann' : 'bob'
      const { body } = await call('GET', '/rest/v1/orders?select=owner', { headers: await as(user) })
      return (body as { owner: string }[]).every(({ owner }) => owner === user)
    }),
  )
  t.strictSame([...new Set(answers)].sort(), [200, true])
})

t.test('a function that takes over another role does not reach the next request', async (t) => {
  const answer = await batch([
    { id: 'a', method: 'POST', url: '/rpc/takes_over', body: { name: `${service.role}_clerk` } },
    { id: 'b', method: 'POST', url: '/rpc/seen' },
  ])
  t.match(responsesOf(answer.body), [{ body: `${service.role}_clerk` }, { body: { role: service.role } }])
  const alone = await call('POST', '/rest/v1/rpc/seen', { headers: await as('ann') })
  t.match(alone.body, { role: service.role })
})

t.test('a caller that hangs up leaves nothing', async (t) => {
  const controller = new AbortController()
  const requests = [
    { id: 'a', method: 'POST', url: '/docs', body: { id: 'abandoned' } },
    { id: 'b', method: 'POST', url: '/rpc/nap', body: { seconds: 15 } },
    { id: 'c', method: 'POST', url: '/docs', body: { id: 'abandoned too' } },
  ]
  const sent = fetch(`${service.url}/rest/v1/$batch`, {
    method: 'POST',
    signal: controller.signal,
    headers: { ...(await as('ann')), 'Content-Type': 'application/json' },
    body: JSON.stringify({ requests }),
  }).catch((error: Error) => error.name)
  t.ok(await until(async () => (await running()) === 1), 'the batch runs')
  controller.abort()
  t.equal(await sent, 'AbortError')
  t.ok(await until(async () => (await running()) === 0), 'it is cancelled')
  t.equal(await count("select count(*) from api.docs where id like 'abandoned%'"), 0)
})

t.test('a connection that is lost midway', async (t) => {
  const sent = batch([
    { id: 'a', method: 'POST', url: '/docs', body: { id: 'lost' } },
    { id: 'b', method: 'POST', url: '/rpc/nap', body: { seconds: 15 } },
  ])
  t.ok(await until(async () => (await running()) === 1), 'the batch runs')
  await withClient(database.adminUri, (client) =>
    client.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query like '%nap%' and pid <> pg_backend_pid()`),
  )
  t.match((await sent).status, 503)
  t.equal(await count("select count(*) from api.docs where id = 'lost'"), 0)
  t.ok(
    await until(
      async () => (await batch([{ id: 'a', method: 'POST', url: '/docs', body: { id: 'next' } }])).status === 200,
    ),
  )
})

t.test('the statement timeout of the role applies to each request', async (t) => {
  const answer = await batch([
    { id: 'a', method: 'POST', url: '/docs', body: { id: 'late' } },
    { id: 'b', method: 'POST', url: '/rpc/hasty', body: { seconds: 15 } },
  ])
  t.match([answer.status, answer.body], [500, { code: '57014', request: 'b' }])
  t.equal(await count("select count(*) from api.docs where id = 'late'"), 0)
})

t.test('no connection stays in a transaction, or with a caller', async (t) => {
  const open = `select count(*) from pg_stat_activity where datname = current_database() and usename like 'batch_attack%'
    and state like 'idle in transaction%'`
  t.ok(await until(async () => (await count(open)) === 0))
  const isIdle = (): boolean => {
    const { total, idle } = service.service.database.statistics
    return total === idle
  }
  t.ok(await until(isIdle))
})

t.test('plans that become stale while batches run', async (t) => {
  const requests = [
    { id: 'a', method: 'GET', url: '/docs?limit=1' },
    { id: 'b', method: 'POST', url: '/docs?select=id', headers: single, body: { id: 'stale' } },
    { id: 'c', method: 'GET', url: '/docs?id=eq.${b#/id}' },
    { id: 'd', method: 'DELETE', url: '/docs?id=eq.stale' },
  ]
  for (let round = 0; round < 3; round++) {
    t.equal((await batch(requests)).status, 200)
    t.equal((await batch(requests)).status, 200)
    await database.query(`alter table api.docs add column extra${round} int`)
  }
  t.equal((await batch(requests)).status, 200)
})
