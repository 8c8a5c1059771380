// Nested writes of rows that may exist already, by several users.
import t from 'tap'
import { exchangeAll } from '../support/request-table.ts'
import { startNested } from '../support/nested-service.ts'
import { nestedUpsertTables, seed } from '../tables/nested-upserts.ts'

const { url, database } = await startNested(t)
await database.query(seed)

for (const { title, rows } of await nestedUpsertTables()) t.test(title, (t) => exchangeAll(t, url, rows))
