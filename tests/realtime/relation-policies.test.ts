// What a subscription needs to know of tables.
import t from 'tap'
import type { Database } from '../../server/postgres/database.ts'
import { describePublished } from '../../server/services/realtime/policies/relation-policies.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

t.test('tables are described without JIT, which compiles that statement for seconds', async (t) => {
  const shown = await withClient(database.authenticatorUri, async (client) => {
    let rows: unknown
    const runWith: Database['runWith'] = async (_statement, settings) => {
      await client.query('set jit = on')
      await client.query('begin')
      await client.query(settings.text, [...settings.values])
      rows = (await client.query('show jit')).rows
      await client.query('rollback')
      return []
    }
    await describePublished({ runWith }, 'anon', 'supabase_realtime', [{ schema: 'public', table: 'reports' }])
    return rows
  })
  t.strictSame(shown, [{ jit: 'off' }])
})
