// The page of operations in Chromium.
import t from 'tap'
import { fill, launchBrowser, openConsole, openPage, press, shows } from './support/browser.ts'
import { startConsoleServer } from '../support/console.ts'

const markup = '<img src=x onerror=alert(1)>'

t.test('operations', async (t) => {
  const [browser, server] = await Promise.all([
    launchBrowser(t),
    startConsoleServer(t, { GOTRUE_SMTP_PASS: 'hunter2', PGRST_DB_MAX_ROWS: '321' }),
  ])
  const { page, faults } = await openConsole(browser, server)
  await openPage(page, '#/operations', 'Operations')
  await press(page, 'Examine')
  t.ok(await shows(page, 'nothing to do'))

  await press(page, 'Migrations')
  t.ok(await shows(page, 'Of the server'))

  await press(page, 'Settings')
  t.ok(await shows(page, '321'))
  t.notMatch(await page.content(), 'hunter2')

  await press(page, 'Backups and replicas')
  t.ok(await shows(page, 'No backups yet'))

  await press(page, 'Keys')
  await press(page, 'Create a key')
  await fill(page, 'What it is for', markup, 'dialog')
  await press(page, 'Create', 'dialog')
  t.ok(await shows(page, 'Copy it now', 'dialog'))
  const key = await page.evaluate(() => document.querySelector('dialog pre')?.textContent ?? '')
  t.match(key, /^sb_publishable_/)
  await press(page, 'Done', 'dialog')
  t.ok(await shows(page, markup))
  t.notMatch(await page.content(), key)
  const request = (): Promise<number> =>
    fetch(`${server.url}/rest/v1/`, { headers: { apikey: key } }).then(({ status }) => status)
  t.equal(await request(), 200)
  await press(page, 'Limits')
  await fill(page, 'max_rows', '7', 'dialog')
  await press(page, 'Save', 'dialog')
  t.ok(await shows(page, 'max_rows 7'))
  await press(page, 'Revoke')
  await press(page, 'Revoke', 'dialog')
  t.ok(await shows(page, 'No keys'))
  t.equal(await request(), 401)

  await press(page, 'Changes')
  t.ok(await shows(page, 'revoke key'))
  t.equal(await page.$('main img'), null)
  t.same(faults, [])
})
