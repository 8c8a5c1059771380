// The console in Chromium: its link, its first page, as whom one looks.
import t from 'tap'
import { launchBrowser, lookAs, openConsole, shows } from './support/browser.ts'
import { startConsoleServer } from '../support/console.ts'

t.test('a link opens the console once', async (t) => {
  const [browser, server] = await Promise.all([launchBrowser(t), startConsoleServer(t)])
  const { page, faults } = await openConsole(browser, server)
  t.ok(await shows(page, 'What runs'))
  t.notMatch(page.url(), /code/, 'the code is no longer in the address')
  t.equal(await page.$eval('.viewer', (it) => it.textContent), 'as anon', 'the role with the fewest rights')
  await lookAs(page, 'service_role')
  t.ok(await page.$('.viewer.danger'), 'the role that bypasses policies is marked')

  await page.reload()
  await page.waitForSelector('.viewer')
  t.equal(await page.$eval('.viewer', (it) => it.textContent), 'as anon', 'it is chosen each time')
  await lookAs(page, 'authenticated')
  await page.reload()
  await page.waitForSelector('.viewer')
  t.equal(await page.$eval('.viewer', (it) => it.textContent), 'as authenticated', 'others remain')

  const link = await server.link()
  await page.goto(link)
  const other = await (await browser.createBrowserContext()).newPage()
  await other.goto(link)
  t.ok(await shows(other, 'rowhouse console'))
  await page.reload()
  t.ok(await shows(page, 'What runs'), 'the cookie remains')
  t.same(faults, [])
})
