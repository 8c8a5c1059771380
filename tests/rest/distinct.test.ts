// Distinct rows, distinct aggregates and conditions on groups.
import { createClient } from '@supabase/supabase-js'
import t from 'tap'
import { valuesOf } from '../../server/rest/cache/request-values.ts'
import { groupingParameters } from '../../server/rest/extensions/distinct/groupings.ts'
import { cursorParameter } from '../../server/rest/extensions/keyset-pages/page-request.ts'
import { parseQueryParams } from '../../server/rest/request/query-params.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { loadFixture } from '../support/fixture.ts'
import { runSection, sectionFunction } from '../support/readme-section.ts'
import { exchangeAll } from '../support/request-table.ts'
import { bearer } from '../support/token.ts'
import { distinctTables } from '../tables/distinct.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await loadFixture(database, 'sales')
const settings = {
  PGRST_DB_SCHEMAS: 'sales',
  PGRST_DB_EXTRA_SEARCH_PATH: 'public',
  SESSION_SECRETS: 's'.repeat(32),
  PGRST_LOG_LEVEL: 'crit',
}
const withAggregates = { ...settings, PGRST_DB_AGGREGATES_ENABLED: 'true' }
const { url } = await startApplication(t, database.authenticatorUri, withAggregates)

for (const { title, settings: more, rows } of distinctTables) {
  t.test(title, async (t) => {
    const server = more ? await startApplication(t, database.authenticatorUri, { ...withAggregates, ...more }) : { url }
    await exchangeAll(t, server.url, rows)
  })
}

t.test('the examples of the README', async (t) => {
  const token = (await bearer('authenticated')).slice('Bearer '.length)
  t.equal(
    await runSection('distinct-curl', { URL: url, TOKEN: token }),
    '[{"client_id":3,"placed":"2024-01-03T09:00:00+00:00"}, \n {"client_id":2,"placed":"2024-01-02T09:00:00+00:00"}, \n' +
      ' {"client_id":1,"placed":"2024-01-01T09:00:00+00:00"}]' +
      '[{"status":"open","count":2}, \n {"status":"paid","count":2}]',
  )
  // The client requires a WebSocket, which Node 20 lacks. It is not used here.
  const client = createClient(url, token, { db: { schema: 'sales' }, realtime: { transport: class {} as never } })
  const examples = await sectionFunction<[unknown]>('distinct', ['client'], ['latest', 'cities', 'statuses', 'either'])
  for (let time = 0; time < 3; time++) {
    const { latest, cities, statuses, either } = await examples(client)
    t.match(latest, { data: [{ client_id: 3 }, { client_id: 2 }, { client_id: 1 }], error: null })
    t.match(cities, { data: [{ city: 'Oslo' }, { city: 'Rome' }, { city: null }], error: null })
    const found = (statuses as { data: { status: string; count: number }[] }).data
    t.strictSame(
      new Map(found.map(({ status, count }) => [status, count])),
      new Map([
        ['open', 2],
        ['paid', 2],
      ]),
    )
    const groups = (either as { data: { status: string }[] }).data.map(({ status }) => status)
    t.strictSame(groups.sort(), ['open', 'paid'])
  }
})

t.test('the plan cache', (t) => {
  const split = (query: string) => {
    const params = parseQueryParams(query, false, true, 'rejected', [groupingParameters, cursorParameter])
    return { key: params.key, values: valuesOf(params, undefined) }
  }
  const key = (query: string) => split(query).key
  const { key: one, values } = split('select=status&having=count().gt.1')
  t.strictSame(values, ['1'])
  t.equal(key('select=status&having=count().gt.2'), one)
  t.not(key('select=status&having=count().lt.1'), one)
  t.not(key('select=status&having=id.count().gt.1'), one)
  t.not(key('select=status&having=id.count(distinct).gt.1'), key('select=status&having=id.count().gt.1'))
  // Client libraries encode parentheses.
  t.equal(key('select=status&having=count%28%29.gt.1'), one)
  t.strictSame(split('having=or.(count().gt.1,a.max().like.x*)').values, ['1', 'x%'])
  t.not(key('distinct=on.(a)'), key('distinct=on.(b)'))
  t.equal(key('having=eq.1'), key('having=eq.2'))
  t.end()
})
