// A link from elsewhere that opens the console changes neither as whom one looks, nor runs a request by itself.
import t from 'tap'
import { launchBrowser, openConsole, press, shows } from './support/browser.ts'
import { startConsoleServer } from '../support/console.ts'

const [browser, server] = await Promise.all([launchBrowser(t), startConsoleServer(t, { PGRST_DB_ANON_ROLE: 'anon' })])

t.test('a link to the explanation of a request', async (t) => {
  const { page } = await openConsole(browser, server)
  const opened = await page.browserContext().newPage()
  const query = new URLSearchParams({ request: 'GET /rest/v1/profiles?select=id', role: 'service_role' })
  const explained: string[] = []
  opened.on('request', (request) => explained.push(...(request.url().endsWith('/api/explain') ? [request.url()] : [])))
  await opened.goto(`${server.url}/console/#/explain?${query.toString()}`)
  t.ok(await shows(opened, 'Explain this request?'))
  t.ok(await shows(opened, 'anon', '.viewer'))
  t.strictSame(explained, [])
  await press(opened, 'Explain', 'form')
  t.ok(await shows(opened, 'service_role', '.viewer'))
  t.ok(await shows(opened, 'row', '.explained'))
})
