// Reads, over HTTP, below the mount path: the tables of `tables/reads/`.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createGarage } from '../support/garage.ts'
import { exchangeAll } from '../support/request-table.ts'
import { commonSettings, readTables } from '../tables/reads/read-tables.ts'

const garage = await createGarage(t)
const { PGRST_DB_URI: uri = '', ...environment } = garage.environment

for (const { title, settings, rows } of readTables) {
  t.test(title, async (t) => {
    const { url } = await startApplication(t, uri, { ...environment, ...commonSettings, ...settings })
    await exchangeAll(t, url, rows)
  })
}
