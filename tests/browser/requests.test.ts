// The page of requests in Chromium.
import t from 'tap'
import { launchBrowser, openConsole, openPage, press, shows } from './support/browser.ts'
import { startConsoleServer } from '../support/console.ts'

const markup = '<img src=x onerror=alert(1)>'

t.test('requests appear as they end, and are explained', async (t) => {
  const [browser, server] = await Promise.all([
    launchBrowser(t),
    startConsoleServer(
      t,
      {},
      `create table public.things (id int primary key); grant select on public.things to anon;
       alter table public.things enable row level security; create policy few on public.things using (id < 3);
       insert into public.things select n from generate_series(1, 30) n; notify pgrst, 'reload schema'`,
    ),
  ])
  const { page, faults } = await openConsole(browser, server)
  await openPage(page, '#/requests', 'Requests')
  t.ok(await shows(page, 'Waiting for requests'))
  await fetch(`${server.url}/console/`)
  await openPage(page, '#/requests?own=yes', 'Requests')
  t.ok(await shows(page, 'GET /console/', '.request-table'))
  await openPage(page, '#/requests', 'Requests')
  t.ok(await shows(page, 'Waiting for requests'), "the console's own do not count")
  await fetch(`${server.url}/rest/v1/things?select=id&id=gt.1`)
  await fetch(`${server.url}/rest/v1/things?select=${encodeURIComponent(markup)}`)
  await fetch(`${server.url}/auth/v1/health`)
  t.ok(await shows(page, '/rest/v1/things?select=id&id=gt.1', '.request-table'))
  t.ok(await shows(page, '/auth/v1/health', '.request-table'))
  t.ok(await page.waitForSelector('.uplot canvas'), 'charts are drawn')
  t.equal(await page.$('.request-table img'), null)

  await page.select('select[aria-label="Status"]', '4')
  await page.waitForFunction(() => document.querySelectorAll('.request-table tbody tr').length === 1)
  t.match(page.url(), /status=4/)
  await page.select('select[aria-label="Status"]', '')

  await press(page, 'GET /rest/v1/things?select=id&id=gt.1')
  t.ok(await shows(page, 'Plan of the last statement', 'dialog'))
  t.ok(await shows(page, '"public"."things"', 'dialog'))
  await press(page, 'Explain it: policies, hidden rows and cost', 'dialog')
  t.ok(await shows(page, 'Explain a request'))
  t.ok(await shows(page, 'few'), 'the policy that hides rows')

  await openPage(page, '#/requests/statements', 'Requests')
  await fetch(`${server.url}/rest/v1/things?select=id`)
  await page.waitForFunction(async () => {
    const refresh = [...document.querySelectorAll('main button')].find((it) => it.textContent === 'Refresh')
    refresh?.click()
    await new Promise((resolve) => setTimeout(resolve, 300))
    return document.querySelectorAll('table tbody tr').length > 0
  })
  t.same(faults, [])
})
