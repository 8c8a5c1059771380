// Reads, over HTTP, below the mount path: the tables of `reads/`.
import t from 'tap'
import { commonSettings, topics } from '../reads/topics.ts'
import { startApplication } from '../support/application.ts'
import { matches, readRequest, send } from '../support/exchange.ts'
import { createGarage } from '../support/garage.ts'

const mountPath = '/rest/v1'
const garage = await createGarage(t)
const { PGRST_DB_URI: uri = '', ...settings } = garage.environment

for (const topic of topics) {
  t.test(topic.title, async (t) => {
    const { url } = await startApplication(t, uri, { ...settings, ...commonSettings, ...topic.settings })
    for (const [request, expected] of topic.exchanges) {
      const sent = readRequest(request)
      matches(t, await send(url + mountPath, sent), expected, mountPath, `${sent.method ?? 'GET'} ${sent.path}`)
    }
  })
}
