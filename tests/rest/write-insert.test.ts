// POST to tables and views.
// https://docs.postgrest.org/en/stable/references/api/tables_views.html#insert
import t from 'tap'
import { exchangeAll } from '../support/request-table.ts'
import { startWrites } from '../support/writes-service.ts'
import { insertRowTables } from '../tables/write-insert-rows.ts'
import { insertBodyTables } from '../tables/write-insert.ts'

const { url } = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage' })

for (const { title, rows } of [...insertBodyTables, ...insertRowTables]) {
  t.test(title, (t) => exchangeAll(t, url, rows))
}
