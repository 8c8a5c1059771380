// The page of webhooks in Chromium.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { fill, launchBrowser, openConsole, openPage, press, shows } from './support/browser.ts'
import { startConsoleServer } from '../support/console.ts'

const markup = '<img src=x onerror=alert(1)>'

/** No server sends calls: another process has the lease. */
const prepare = `
  insert into rowhouse.leases (name, holder, until) values ('calls', 'a test', now() + interval '1 hour');
  create table public.orders (id int primary key, note text);
  create trigger "${markup}" after insert on public.orders for each row when (new.note <> '${markup}')
    execute function supabase_functions.http_request(
      'https://erp.example/in', 'POST', '{"Authorization": "Bearer hunter2"}', '{}', '2000'
    );
  insert into public.orders values (1, 'hello');
  update rowhouse.calls set state = 'dead', attempts = 3, last_status = 500, last_error = 'the receiver answered 500 ${markup}',
    last_duration_ms = 1234, finished_at = now(), first_attempt_at = now(), response = '<script>alert(1)</script>${markup}',
    response_headers = '{"content-type": "text/html"}', response_type = 'text/html';
  insert into rowhouse.calls (method, url, host, headers, timeout_ms, depth, retries, state, attempts, last_status, created_by, finished_at)
  select 'GET', 'https://other.example/' || n, 'other.example', '{}', 1000, 1, false, 'delivered', 1, 200, 'service_role', now()
  from generate_series(1, 60) as n`

t.test('webhooks, and their calls', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'console-webhooks-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const [browser, server] = await Promise.all([
    launchBrowser(t),
    startConsoleServer(t, { MIGRATIONS_DIR: folder }, prepare),
  ])
  const { page, faults } = await openConsole(browser, server)
  const { query } = server.database
  await openPage(page, '#/webhooks', 'Webhooks')
  t.ok(await shows(page, 'https://erp.example/in', 'td'))
  t.ok(await shows(page, `when new.note <> '${markup}'`, 'td'), 'the condition is text')
  await press(page, markup, 'td')
  t.ok(await shows(page, 'the receiver answered 500 <img', '.calls'), 'the calls of the webhook')
  t.equal((await page.$$('.calls tbody tr')).length, 1)

  await press(page, 'POST https://erp.example/in', '.calls')
  t.ok(await shows(page, `<script>alert(1)</script>${markup}`, 'dialog'), 'the response is text')
  t.ok(await shows(page, 'Authorization: hidden', 'dialog'))
  t.ok(await shows(page, '"note": "hello"', 'dialog'))
  t.notMatch(await page.evaluate(() => document.body.innerText), /hunter2/)
  t.equal(await page.$('main img, main dialog img, dialog script'), null)
  await press(page, 'Send again', 'dialog')
  t.ok(await shows(page, 'waiting', 'dialog'))
  await page.keyboard.press('Escape')
  const { rows } = await query('select state from rowhouse.calls where webhook is not null')
  t.same(rows, [{ state: 'waiting' }])

  await page.select('select[aria-label=Webhook]', '')
  await page.select('select[aria-label=State]', 'delivered')
  await page.waitForFunction(() => document.querySelectorAll('.calls tbody tr').length === 50)
  await press(page, 'Older calls')
  await page.waitForFunction(() => document.querySelectorAll('.calls tbody tr').length === 60)
  t.pass('the second page is below the first one')
  await page.type('input[type=search]', 'EXAMPLE/17')
  await page.waitForFunction(() => document.querySelectorAll('.calls tbody tr').length === 1)
  t.ok(await shows(page, 'https://other.example/17', '.calls'))
  await page.type('input[type=search]', 'nothing')
  t.ok(await shows(page, 'No call fulfils the conditions'))
  // Typed just before, so that its search is about to begin.
  await page.evaluate(() => {
    const { setTimeout: later } = globalThis
    Object.assign(globalThis, {
      setTimeout: (task: () => void, time: number) =>
        later(() => {
          const buttons = time === 300 ? [...document.querySelectorAll('button')] : []
          buttons.find(({ textContent }) => textContent === 'Show all')?.click()
          task()
        }, time),
    })
  })
  await page.type('input[type=search]', '!')
  await page.waitForFunction(() => document.querySelectorAll('.calls tbody tr').length === 50)
  t.equal(await page.evaluate(() => document.querySelector<HTMLInputElement>('input[type=search]')?.value), '')

  await query(
    "update rowhouse.calls set state = 'dead' where method = 'GET' and id in (select id from rowhouse.calls limit 7)",
  )
  await page.select('select[aria-label=State]', 'dead')
  await press(page, 'Send all of them again')
  // The server is not there for one request.
  await page.setRequestInterception(true)
  let isCut = true
  page.on('request', (request) => {
    if (isCut && request.url().endsWith('/webhooks/resend')) void request.abort()
    else void request.continue()
  })
  await press(page, 'Send again', 'dialog')
  await page.waitForSelector('dialog .problem')
  isCut = false
  await press(page, 'Send again', 'dialog')
  t.ok(await shows(page, 'calls are sent again.', 'dialog'), 'after an error, they can be sent all the same')
  await press(page, 'Close', 'dialog')
  t.ok(await shows(page, 'No call fulfils the conditions'))
  t.same((await query("select from rowhouse.calls where state = 'dead'")).rows, [])

  await press(page, 'Webhooks', '.tabs')
  await press(page, 'New webhook')
  await fill(page, 'Table', 'public.orders', 'dialog')
  await fill(page, 'URL', 'https://example.com/hook', 'dialog')
  await fill(page, 'Only rows with', 'new.total > 100', 'dialog')
  await press(page, 'Show the migration', 'dialog')
  t.ok(await shows(page, 'total', 'dialog .problem'), 'the condition is tried out')
  await fill(page, 'Only rows with', "new.note = 'paid'", 'dialog')
  await press(page, 'Show the migration', 'dialog')
  t.ok(await shows(page, 'create or replace trigger "orders_webhook_on_insert"', 'dialog'))
  await press(page, 'Write the file', 'dialog')
  t.ok(await shows(page, 'rowhouse migrate applies it', 'dialog'))
  t.match(await readdir(folder), [/_webhook_orders_insert\.sql$/])
  t.same(faults, [])
})
