// The SQL page in Chromium: as whom statements run, what remains of them, and what they return.
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'puppeteer-core'
import t from 'tap'
import { launchBrowser, lookAs, openConsole, openPage, fill, press, shows } from './support/browser.ts'
import { startConsoleServer } from '../support/console.ts'

const markup = '<img src=x onerror="alert(1)">'
const ann = '00000000-0000-4000-8000-00000000000a'
const bob = '00000000-0000-4000-8000-00000000000b'
const sql = `
  create table public.notes (id int primary key, owner uuid not null default auth.uid(), text text);
  alter table public.notes enable row level security;
  grant select, insert, update, delete on public.notes to authenticated;
  create policy own_notes on public.notes to authenticated using (owner = (select auth.uid()));
  insert into auth.users (id, email, email_confirmed_at) values
    ('${ann}', 'ann@example.org', now()), ('${bob}', 'bob@example.org', now());
  insert into public.notes values (1, '${ann}', 'of Ann'), (2, '${bob}', 'of Bob'), (3, '${ann}', '${markup}');`

const folder = await mkdtemp(join(tmpdir(), 'rowhouse-sql-page-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
await mkdir(join(folder, 'migrations'))
const [browser, server] = await Promise.all([
  launchBrowser(t),
  startConsoleServer(t, { MIGRATIONS_DIR: join(folder, 'migrations'), PGRST_DB_ANON_ROLE: 'anon' }, sql),
])
const { page, faults } = await openConsole(browser, server)

/** Opens the page with a text, and runs it. */
async function run(text: string, button = 'Run'): Promise<void> {
  await openPage(page, `#/sql?${new URLSearchParams({ sql: text }).toString()}`, 'SQL')
  await page.waitForFunction(
    (wanted) =>
      document
        .querySelector<HTMLElement & { shadowRoot: Document | null }>('.sql-editor')
        // The editor is put there a moment after its element.
        ?.shadowRoot?.querySelector('.cm-content')?.textContent === wanted,
    {},
    text,
  )
  await press(page, button)
  await page.waitForSelector('.results')
}

const notes = async (): Promise<unknown> =>
  (await server.database.query('select count(*)::int as n from public.notes')).rows[0]?.n

const cells = (of: Page): Promise<readonly string[]> =>
  of.evaluate(() => [...document.querySelectorAll('.rows td')].map((it) => it.textContent))

t.test('the same statement as two users', async (t) => {
  const text = 'select id, text from notes order by id'
  await lookAs(page, 'ann@example.org')
  await run(text)
  t.strictSame(await cells(page), ['1', 'of Ann', '3', markup], 'markup is shown as text')
  await lookAs(page, 'bob@example.org')
  await run(`${text} limit 9`)
  t.strictSame(await cells(page), ['2', 'of Bob'])
  t.ok(await shows(page, 'as authenticated', '.results'))
})

t.test('nothing remains without commit', async (t) => {
  await run("delete from notes; create temp table x (); do $$ begin raise notice 'about %', 1; end $$")
  t.ok(await shows(page, 'rolled back', '.results'))
  t.ok(await shows(page, 'DELETE 1', '.results'))
  t.ok(await shows(page, 'about 1', '.results'))
  t.equal(await notes(), 3)
  await run('delete from notes; commit')
  t.ok(await shows(page, 'COMMIT is refused', '.results'))
  t.equal(await notes(), 3)
})

t.test('commits when it is chosen', async (t) => {
  await openPage(page, '#/policies', 'Policies')
  await openPage(page, '#/sql', 'SQL')
  await page.click('.sql input[type=checkbox]')
  await run('delete from notes where id = 2', 'Run and commit')
  t.ok(await shows(page, 'committed', '.results'))
  t.equal(await notes(), 2)
  const { rows } = await server.database.query("select details from rowhouse.console_log where action = 'commit sql'")
  t.match(rows, [{ details: { sql: 'delete from notes where id = 2', as: { user: bob } } }])
})

t.test('an error has its place, and its text is no markup', async (t) => {
  await openPage(page, '#/policies', 'Policies')
  await run(`select "${markup.replaceAll('"', '')}"`)
  t.ok(await shows(page, '42703', '.results'))
  t.ok(await shows(page, '<img src=x', '.results .problem'))
  await press(page, 'Show the place')
})

t.test('a plan with times', async (t) => {
  await openPage(page, '#/policies', 'Policies')
  await run('select * from notes', 'Plan with times')
  t.ok(await shows(page, 'Seq Scan on notes', '.plan'))
  t.ok(await shows(page, 'run in', '.plan'))
})

t.test('history, and a migration', async (t) => {
  await press(page, 'History')
  t.ok(await shows(page, 'delete from notes where id = 2', 'dialog'))
  await page.keyboard.press('Escape')
  await press(page, 'Save as migration')
  await fill(page, 'Name', 'read notes', 'dialog')
  await press(page, 'Write the file', 'dialog')
  t.ok(await shows(page, 'read_notes.sql', 'dialog'))
  const written = await page.evaluate(() => document.querySelector('dialog p code')?.textContent ?? '')
  t.equal(await readFile(written, 'utf8'), 'select * from notes\n')
})

t.test('nothing ran that came from the database', (t) => {
  t.strictSame(faults, [])
  t.end()
})
