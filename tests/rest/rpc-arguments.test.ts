// Functions: how arguments are read from a request, and how the function is chosen.
// https://docs.postgrest.org/en/stable/references/api/functions.html
import t from 'tap'
import { exchangeAll } from '../support/request-table.ts'
import { startWrites } from '../support/writes-service.ts'
import { argumentTables } from '../tables/rpc-arguments.ts'

const { url } = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage' })

for (const { title, rows } of argumentTables) {
  t.test(title, (t) => exchangeAll(t, url, rows))
}
