// Functions: return types, and parameters that apply to the result.
// https://docs.postgrest.org/en/v14/references/api/functions.html
import t from 'tap'
import { exchangeAll } from '../support/request-table.ts'
import { startWrites } from '../support/writes-service.ts'
import { resultTables } from '../tables/rpc-results.ts'

const { call, url } = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage' })

for (const [title, rows] of Object.entries(resultTables)) {
  t.test(title, (t) => exchangeAll(t, call, rows))
}

t.test('binary results are unchanged', async (t) => {
  const response = await fetch(`${url}/rest/v1/rpc/picture`, { headers: { Accept: 'image/png' } })
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'image/png')
  t.equal(response.headers.get('content-length'), '9')
  t.strictSame(Buffer.from(await response.arrayBuffer()).toString('hex'), '89504e470d0a1a0aff')
})
