// Distinct rows, distinct aggregates and conditions on groups.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { loadFixture } from '../support/fixture.ts'
import { exchangeAll } from '../support/request-table.ts'
import { distinctTables } from '../tables/distinct.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await loadFixture(database, 'sales')
const settings = {
  PGRST_DB_SCHEMAS: 'sales',
  PGRST_DB_EXTRA_SEARCH_PATH: 'public',
  SESSION_SECRETS: 's'.repeat(32),
  PGRST_LOG_LEVEL: 'crit',
}
const withAggregates = { ...settings, PGRST_DB_AGGREGATES_ENABLED: 'true' }
const { url } = await startApplication(t, database.authenticatorUri, withAggregates)

for (const { title, settings: more, rows } of distinctTables) {
  t.test(title, async (t) => {
    const server = more ? await startApplication(t, database.authenticatorUri, { ...withAggregates, ...more }) : { url }
    await exchangeAll(t, server.url, rows)
  })
}
