// POST to tables and views.
// https://docs.postgrest.org/en/v14/references/api/tables_views.html#insert
import t from 'tap'
import { exchangeAll } from './support/request-table.ts'
import { startWrites } from './support/writes-service.ts'
import { insertTables } from './tables/write-insert.ts'

const { call } = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage' })

for (const [title, rows] of Object.entries(insertTables)) {
  t.test(title, (t) => exchangeAll(t, call, rows))
}
