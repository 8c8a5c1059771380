// The page of realtime in Chromium: two viewers subscribe to the same.
import t from 'tap'
import { fill, launchBrowser, openConsole, openPage, press, shows } from './support/browser.ts'
import { startConsoleServer } from '../support/console.ts'

const markup = '<img src=x onerror=alert(1)>'

t.test('events, who gets them and why another does not', async (t) => {
  const [browser, server] = await Promise.all([
    launchBrowser(t),
    startConsoleServer(
      t,
      {},
      `create table public.notes (id int primary key, text text, is_public boolean not null default false);
       alter table public.notes enable row level security;
       create policy only_public on public.notes for select to anon using (is_public);
       grant select on public.notes to anon; grant all on public.notes to service_role;
       create table public.drafts (id int primary key);
       grant select on public.drafts to anon, service_role;
       alter publication supabase_realtime add table public.notes`,
    ),
  ])
  const { page, faults } = await openConsole(browser, server)
  await openPage(page, '#/realtime', 'Realtime')
  await page.waitForFunction(() => document.querySelector('.wish select option[value*=notes]'))
  await page.select('.wish select', 'public\u0000drafts')
  await press(page, 'Subscribe', 'form')
  t.ok(await shows(page, 'alter publication supabase_realtime add table "public"."drafts"'), 'what a refusal asks for')
  await press(page, 'Run it as the owner')
  t.ok(await shows(page, 'Waiting for events'), 'it subscribes again')
  t.ok(await shows(page, 'is subscribed', '.subscriptions'))
  await press(page, 'Stop')

  await page.select('.wish select', 'public\u0000notes')
  await press(page, 'Subscribe', 'form')
  await page.waitForFunction(
    () => document.querySelector('.subscriptions')?.textContent.split('is subscribed').length === 3,
  )
  await server.database.query(`insert into public.notes values (1, '${markup}', true)`)
  t.ok(await shows(page, 'anon gets it', '.events'))
  t.ok(await shows(page, 'service_role gets it', '.events'))
  await server.database.query(`insert into public.notes values (2, 'secret', false)`)
  t.ok(await shows(page, 'anon does not get it', '.events'))
  await press(page, 'Why not?')
  t.ok(await shows(page, 'only_public', 'dialog'), 'the policy that hides the row')
  await page.keyboard.press('Escape')

  await press(page, 'Channels')
  t.ok(await shows(page, 'Messages delivered'))
  await press(page, 'Subscribe', '.tabs')

  await press(page, 'Broadcast and presence')
  await fill(page, 'Topic', 'room-1')
  await press(page, 'Subscribe', 'form')
  await page.waitForFunction(
    () => document.querySelector('.subscriptions')?.textContent.split('is subscribed').length === 3,
  )
  await fill(page, 'Payload', JSON.stringify({ text: markup }))
  await press(page, 'Send as anon')
  t.ok(await shows(page, 'broadcast', '.events'))
  t.ok(await shows(page, 'service_role gets it', '.events'))
  await press(page, 'Enter presence')
  t.ok(await shows(page, '1 present', '.events'))
  t.equal(await page.$('main img'), null)
  // Leaving the page closes its sockets, for which the server would wait.
  await openPage(page, '#/', 'rowhouse')
  t.same(faults, [])
})
