// Nested writes of rows that may exist already, by several users, with and without a check of their cost.
import t from 'tap'
import { exchangeAll } from '../support/request-table.ts'
import { startNested } from '../support/nested-service.ts'
import { nestedUpsertTables, seed } from '../tables/nested-upserts.ts'

const tables = await nestedUpsertTables()

for (const env of [{}, { DB_MAX_COST: '100000' }]) {
  t.test(JSON.stringify(env), async (t) => {
    const { url, database } = await startNested(t, env)
    await database.query(seed)
    for (const { title, rows } of tables) await t.test(title, (t) => exchangeAll(t, url, rows))
  })
}
