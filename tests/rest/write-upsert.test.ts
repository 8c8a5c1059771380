// Upserts: POST with a resolution, and PUT.
// https://docs.postgrest.org/en/stable/references/api/tables_views.html#upsert
import t from 'tap'
import { exchangeAll } from '../support/request-table.ts'
import { startWrites } from '../support/writes-service.ts'
import { mismatch, upsertTables } from '../tables/write-upsert.ts'

const { url } = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage' })

for (const { title, rows } of upsertTables) {
  t.test(title, (t) => exchangeAll(t, url, rows))
}

t.test('a refused PUT writes nothing', async (t) => {
  const { url } = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage', PGRST_DB_TX_END: 'commit' })
  await exchangeAll(t, url, [
    { send: ['PUT', '/makes?id=eq.2', { id: 7, name: 'F' }], status: 400, body: mismatch },
    { send: ['GET', '/makes?id=eq.7'], status: 200, body: [], range: '*/*' },
    { send: ['PUT', '/makes?id=eq.7', { id: 7, name: 'F' }], status: 204 },
    { send: ['GET', '/makes?id=eq.7'], status: 200, body: [{ id: 7, name: 'F' }], range: '0-0/*' },
  ])
})
