// The numbers of calls for metrics, and what they cost.
import t from 'tap'
import { storedCalls, nextCallIn, removeOldCalls } from '../../server/services/webhooks/call-database.ts'
import { webhooksFindings } from '../../server/tools/doctor/webhooks-findings.ts'
import { addCall, newSender } from '../support/calls.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { database: asking } = newSender(t, database.authenticatorUri)
const url = 'http://127.0.0.1/'

t.test('nothing waits', async (t) => {
  t.strictSame(await storedCalls(asking), { waiting: 0, sending: 0, dead: 0, oldest_waiting_ms: null })
  t.equal(await nextCallIn(asking), undefined)
})

t.test('counts calls by their state, without reading those that are delivered', async (t) => {
  await database.query(`insert into rowhouse.calls (method, url, host, headers, timeout_ms, depth, retries, created_by, state, finished_at)
    select 'POST', '${url}', '127.0.0.1', '{}', 1000, 1, true, 'postgres', 'delivered', now() - interval '1 hour'
    from generate_series(1, 20000)`)
  const ids: string[] = []
  for (let number = 0; number < 7; number++) ids.push(await addCall(database, { url, key: number < 4 ? 'k' : null }))
  await database.query(
    `update rowhouse.calls set behind = true, created_at = now() - interval '1 day' where id = any ($1)`,
    [ids.slice(1, 4)],
  )
  await database.query(`update rowhouse.calls set state = 'sending', holder = 'h' where id = $1`, [ids[5]])
  await database.query(`update rowhouse.calls set state = 'dead', finished_at = now() where id = $1`, [ids[6]])
  await database.query('vacuum analyze rowhouse.calls')
  const stored = await storedCalls(asking)
  t.match(stored, { waiting: 5, sending: 1, dead: 1 })
  t.ok(Number(stored.oldest_waiting_ms) >= 86_400_000, 'also of those behind others')
  t.equal(await nextCallIn(asking), 0)
  // Before, a collector has the statistics, some time later.
  if (database.majorVersion < 15) return
  const reads = async (): Promise<number> => {
    await database.query('select pg_stat_force_next_flush()')
    const { rows } = await database.query(
      `select seq_tup_read + coalesce(idx_tup_fetch, 0) as read from pg_stat_user_tables where relname = 'calls'`,
    )
    return Number(rows[0]?.read)
  }
  const before = await reads()
  await database.query('select rowhouse.call_figures()')
  t.ok((await reads()) - before < 100, 'few rows are read')
})

t.test('removes old calls, many at a time, and keeps those that are open', async (t) => {
  await removeOldCalls(asking, 60, 3600)
  t.match(await storedCalls(asking), { waiting: 5, sending: 1, dead: 1 })
  const { rows } = await database.query('select count(*)::int as left from rowhouse.calls')
  t.equal(rows[0]?.left, 7)
})

t.test('the doctor finds those that are due, fail, or were put aside', async (t) => {
  const codes = async (uri: string): Promise<string[]> =>
    withClient(uri, async (client) =>
      (await webhooksFindings({ services: ['webhooks'] }, client)).map(({ code, what }) => `${code}: ${what}`),
    )
  await database.query(`delete from rowhouse.calls`)
  t.strictSame(await codes(database.adminUri), [])
  const ids = [await addCall(database, { url }), await addCall(database, { url }), await addCall(database, { url })]
  await database.query(
    `update rowhouse.calls set next_at = now() - interval '10 minutes', attempts = 1, last_error = 'no route' where id = $1`,
    [ids[0]],
  )
  await database.query(
    `update rowhouse.calls set state = 'dead', finished_at = now(), last_error = 'gone' where id = $1`,
    [ids[1]],
  )
  const expected = [
    'calls_not_sent: 1 call is due, the first for 10 minutes, and no server sends them.',
    'calls_failing: 1 call is waiting after a failed attempt, most of them for 127.0.0.1: no route.',
    'calls_dead: 1 call was put aside in the last day, most of them because: gone.',
  ]
  t.strictSame(await codes(database.adminUri), expected)
  t.strictSame(await codes(database.authenticatorUri), expected, 'also as the serving role')
})
