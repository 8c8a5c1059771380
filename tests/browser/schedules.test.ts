// The page of schedules in Chromium.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { fill, launchBrowser, openConsole, openPage, press, shows } from './support/browser.ts'
import { startConsoleServer } from '../support/console.ts'
import { until } from '../support/until.ts'

const markup = '<img src=x onerror=alert(1)>'

t.test('jobs, and their runs', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'console-schedules-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const [browser, server] = await Promise.all([
    launchBrowser(t),
    startConsoleServer(t, { MIGRATIONS_DIR: folder }, 'create table public.done (id int)'),
  ])
  const { page, faults } = await openConsole(browser, server)
  const { query } = server.database
  await openPage(page, '#/schedules', 'Schedules')
  t.ok(await shows(page, 'No jobs yet'))
  await press(page, 'New job')
  await fill(page, 'Name', markup, 'dialog')
  await fill(page, 'Schedule', 'every day', 'dialog')
  await fill(page, 'SQL', 'insert into public.done values (1), (2)', 'dialog')
  await press(page, 'Show the SQL', 'dialog')
  await press(page, 'Run it as the owner', 'dialog')
  t.ok(await shows(page, 'invalid schedule: every day', 'dialog .problem'))
  await fill(page, 'Schedule', '0 3 * * *', 'dialog')
  await press(page, 'Show the SQL', 'dialog')
  await press(page, 'Run it as the owner', 'dialog')
  t.ok(await shows(page, markup, '.jobs'), 'the name is text')
  t.ok(await shows(page, 'next in', '.jobs'))

  await press(page, 'Run now')
  t.ok(await shows(page, 'succeeded', '.jobs'))
  t.same((await query('select count(*)::int as n from public.done')).rows, [{ n: 2 }])

  await page.click('.jobs [role=switch]')
  await page.waitForFunction(() => !document.querySelector<HTMLInputElement>('.jobs [role=switch]')?.checked)
  t.same((await query('select active from cron.job')).rows, [{ active: false }])

  await press(page, 'Change', '.jobs')
  await fill(page, 'Schedule', '@hourly', 'dialog')
  await press(page, 'Show the SQL', 'dialog')
  await fill(page, 'Name', 'hourly', 'dialog')
  await press(page, 'Write the file', 'dialog')
  t.ok(await shows(page, 'rowhouse migrate applies it', 'dialog'))
  t.match(await readdir(folder), [/_hourly\.sql$/])
  await page.keyboard.press('Escape')

  await query(`
    insert into cron.job_run_details (jobid, command, username, status, return_message, start_time, end_time)
    select jobid, '${markup}', 'postgres', 'failed', 'ERROR: ${markup}', now(), now() + interval '90 s'
    from cron.job, generate_series(1, 60)`)
  let looks = 0
  page.on('request', (request) => {
    if (request.url().endsWith('/console/api/schedules')) looks++
  })
  await page.evaluate(() => Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true }))
  await pause(4000)
  const whenHidden = looks
  await pause(4000)
  t.equal(looks, whenHidden, 'a hidden tab asks for nothing')
  await page.evaluate(`
    Object.defineProperty(document, 'visibilityState', { value: 'visible' })
    document.dispatchEvent(new Event('visibilitychange'))`)
  t.ok(await until(() => Promise.resolve(looks > whenHidden)), 'until it is shown again')

  await press(page, 'Runs', '.tabs')
  t.ok(await shows(page, `ERROR: ${markup}`, '.job-runs'), 'errors are text')
  t.ok(await shows(page, '1.5 min', '.job-runs'))
  await press(page, 'Earlier runs')
  await page.waitForFunction(() => document.querySelectorAll('.job-runs tbody tr').length === 61)
  await press(page, 'Jobs', '.tabs')

  await press(page, 'Remove', '.jobs')
  await press(page, 'Run it as the owner', 'dialog')
  t.ok(await shows(page, 'No jobs yet'))
  t.equal(await page.$('main img, dialog img'), null)
  t.same(faults, [])
})
