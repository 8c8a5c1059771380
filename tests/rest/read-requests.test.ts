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

t.test('a long URL is read by fetch, whose limit for headers is 16 KiB', async (t) => {
  const { url } = await startApplication(t, uri, { ...environment, ...commonSettings })
  const read = async (ids: number) => {
    const response = await fetch(`${url}/rest/v1/cars?select=id&id=in.(1,${'9,'.repeat(ids)}2)&order=id`)
    t.strictSame(await response.json(), [{ id: 1 }, { id: 2 }], `${ids} ids`)
    return response.headers.get('content-location')
  }
  t.match(await read(200), /^\/.*cars\?/, 'up to 2 kB, the response repeats the URL')
  t.equal(await read(1000), null)
  t.equal(await read(7000), null)
})
