import t from 'tap'
import { startApplication } from './support/application.ts'
import { createMigratedDatabase } from './support/database.ts'
import { greenLake, lake } from './support/test-image.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { url, logged } = await startApplication(t, database.authenticatorUri, { IMAGE_TIMEOUT: '120' })
t.test('smoke', async (t) => {
  for (const image of [await lake(), await greenLake()]) {
    const body = new FormData()
    body.append('file', new Blob([new Uint8Array(image)], { type: 'image/jpeg' }), 'a.jpg')
    const response = await fetch(`${url}/api/v1/water-hyacinth/predict`, { method: 'POST', body })
    console.log(response.status, await response.text(), response.headers)
  }
  console.log(JSON.stringify(logged(), null, 1))
  for (const path of ['', '/health', '/ready', '/nope', '/docs/', '/openapi.json', '/predict', '/ws/live-detect']) {
    const r = await fetch(`${url}/api/v1/water-hyacinth${path}`)
    console.log(path, r.status, (await r.text()).slice(0, 300))
  }
  console.log(await (await fetch(url)).text())
})
