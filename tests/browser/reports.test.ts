// The reports page of the console: prices with the estimate, and the queue, as a user and as an administrator.
import t from 'tap'
import { startConsoleServer } from '../support/console.ts'
import { fill, launchBrowser, lookAs, openConsole, openPage, press, shows } from './support/browser.ts'

const attack = 'Golf <img src=x onerror=alert(1)>'

/** Six sellers, each with five approved reports, and a seventh whose report is pending; Ada is an administrator. */
const market = `
  insert into auth.users (id, aud, role, email, app_role, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
  select gen_random_uuid(), 'authenticated', 'authenticated', name || '@example.com',
    case when name = 'ada' then 'admin' end, '{}', '{}', now(), now()
  from unnest(array['ada', 's1', 's2', 's3', 's4', 's5', 's6', 'tim']) as names (name);
  insert into public.reports (user_id, manufacturer, model, year, mileage, price, lat, lng, status)
  select users.id, 'VW', '${attack}', 2018, 20000 * place, 25000 - 1500 * place, 52.5, 13.4, 'approved'
  from auth.users, generate_series(1, 5) as places (place) where email like 's%';
  insert into public.reports (user_id, manufacturer, model, year, mileage, price, lat, lng)
  select users.id, 'VW', '${attack}', 2018, 50000, price, 52.5, 13.4
  from auth.users, unnest(array[21500, 99999]) as prices (price) where email like 'tim%'`

t.test('prices and the queue', async (t) => {
  const [browser, server] = await Promise.all([launchBrowser(t), startConsoleServer(t, {}, market)])
  const { page, faults } = await openConsole(browser, server)
  await openPage(page, '#/reports', 'Reports')
  t.ok(await shows(page, 'permission denied'), 'anon')
  await press(page, 'Look as service_role')
  t.ok(await shows(page, `VW ${attack} (32)`, 'select'), 'all reports')
  t.ok(await shows(page, 'From 30 approved reports', '.market'))
  await page.waitForFunction(() => (document.querySelector('.plot canvas')?.getBoundingClientRect().width ?? 0) > 400)
  const before = await page.$eval('.market .figure', (it) => it.textContent)
  await fill(page, 'Mileage in km', '100000')
  await page.waitForFunction((text) => document.querySelector('.market .figure')?.textContent !== text, {}, before)
  t.ok(await shows(page, 'at 100,000 km', '.market'))

  await lookAs(page, 'tim@example.com')
  t.ok(await shows(page, `VW ${attack} (2)`, 'select'), 'his own reports')
  await press(page, 'Queue')
  t.ok(await shows(page, 'only an administrator sees the reports of others'))
  await lookAs(page, 'ada@example.com')
  t.ok(await shows(page, 'above the range', 'table'))
  await press(page, 'Reject', 'tbody tr:has(.badge.warning)')
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
  await press(page, 'Approve')
  t.ok(await shows(page, 'No report awaits a review'))
  const { rows } = await server.database.query(
    'select price::int, status from public.reports where price in (21500, 99999) order by price',
  )
  t.same(rows, [
    { price: 21500, status: 'approved' },
    { price: 99999, status: 'rejected' },
  ])
  t.same(faults, [])
})
