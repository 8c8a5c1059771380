// Functions: return types, and parameters that apply to the result.
// https://docs.postgrest.org/en/stable/references/api/functions.html
import t from 'tap'
import { exchangeAll } from '../support/request-table.ts'
import { startWrites } from '../support/writes-service.ts'
import { resultTables } from '../tables/rpc-results.ts'

const { url } = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage' })

for (const { title, rows } of resultTables) {
  t.test(title, (t) => exchangeAll(t, url, rows))
}
