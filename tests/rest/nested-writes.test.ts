// POST with related rows.
import t from 'tap'
import { exchangeAll } from '../support/request-table.ts'
import { startNested } from '../support/nested-service.ts'
import { nestedWriteTables } from '../tables/nested-writes.ts'

const { url } = await startNested(t, { PGRST_DB_PLAN_ENABLED: 'true' })

for (const { title, rows } of await nestedWriteTables()) t.test(title, (t) => exchangeAll(t, url, rows))
