// The policies page in Chromium: a hidden row is explained, a weaker policy is found, and a test that the page writes notices it
// on the command line.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { fill, launchBrowser, lookAs, openConsole, openPage, press, shows } from './support/browser.ts'
import { startConsoleServer } from '../support/console.ts'
import { main } from '../support/program.ts'

const ann = '00000000-0000-4000-8000-00000000000a'
const bob = '00000000-0000-4000-8000-00000000000b'
const migration = `
  create table public.notes (id int primary key, owner uuid not null default auth.uid(), text text);
  create index on public.notes (owner);
  alter table public.notes enable row level security;
  grant select on public.notes to authenticated;
  create policy own_notes on public.notes for select to authenticated using (owner = (select auth.uid()));`
const seed = `
  insert into auth.users (id, email, email_confirmed_at) values
    ('${ann}', 'ann@example.org', now()), ('${bob}', 'bob@example.org', now());
  insert into public.notes (id, owner, text) values (1, '${ann}', 'of Ann'), (2, '${bob}', 'of Bob');`

const folder = await mkdtemp(join(tmpdir(), 'rowhouse-policies-page-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const migrations = join(folder, 'migrations')
await mkdir(migrations)
await writeFile(join(migrations, '001_notes.sql'), migration)
await writeFile(join(folder, 'seed.sql'), seed)

const env = { MIGRATIONS_DIR: migrations, DATA_DIR: join(folder, 'data'), PGRST_DB_ANON_ROLE: 'anon' }
const [browser, server] = await Promise.all([launchBrowser(t), startConsoleServer(t, env, migration + seed)])
const { page, faults } = await openConsole(browser, server)
page.setDefaultTimeout(180_000)

/** Runs `rowhouse test` on the project. */
const test = (): Promise<{ readonly code: number; readonly out: string }> =>
  new Promise((resolve) => {
    const inherited = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(PGRST_|PG|DATABASE_URL|MIGRATION)/.test(name)),
    )
    execFile(
      process.execPath,
      [main, 'test'],
      { cwd: folder, env: { ...inherited, DATA_DIR: join(folder, 'data') } },
      (error, out, err) => resolve({ code: typeof error?.code === 'number' ? error.code : 0, out: out + err }),
    )
  })

t.test('what lets roles through', async (t) => {
  await openPage(page, '#/policies', 'Policies')
  t.ok(await shows(page, 'own_notes', '.matrix'))
  await press(page, '◐ own_notes', '[aria-label="public.notes"]')
  t.ok(await shows(page, 'using ((owner =', 'dialog'))
  await page.keyboard.press('Escape')
  await openPage(page, '#/policies/findings', 'Policies')
  t.ok(await shows(page, 'Nothing is wrong'))
})

t.test('a hidden row is explained, and becomes a test', async (t) => {
  await lookAs(page, 'bob@example.org')
  const query = new URLSearchParams({ request: 'GET /rest/v1/notes?id=eq.1' })
  await openPage(page, `#/explain?${query.toString()}`, 'Explain')
  t.ok(await shows(page, 'gets 0 of 1 row', '.explained'))
  t.ok(await shows(page, `owner = '${bob}'`, '.denial'))
  await press(page, 'Make this a policy test')
  await fill(page, 'What it says', 'Bob cannot see the note of Ann', 'dialog')
  await press(page, 'Write the test', 'dialog')
  t.ok(await shows(page, 'requests.yaml', 'dialog'))
  const written = await readFile(join(folder, 'policy-tests', 'requests.yaml'), 'utf8')
  t.match(written, 'as: bob@example.org\n    request: GET /rest/v1/notes?id=eq.1\n    rows: 0')
})

t.test('the mutant of the policy is noticed, and what is not is shown beside its policy', async (t) => {
  await openPage(page, '#/policies/tests', 'Policies')
  await press(page, 'Find what they miss')
  t.ok(await shows(page, 'done', '[aria-label="The run"]'))
  t.ok(await shows(page, 'weaker rules not noticed'))
  t.notMatch(
    await page.evaluate(() => [...document.querySelectorAll('.mutant strong')].map((it) => it.textContent).join('\n')),
    /using true/,
    'a policy that lets every row pass is noticed',
  )
  const grant = await page.evaluate(() =>
    [...document.querySelectorAll('.mutant strong')].map((it) => it.textContent).find((it) => it.includes('grant')),
  )
  t.match(grant, 'public.notes: grant')
})

t.test('the test passes on the command line, and fails with a weaker policy', async (t) => {
  const passing = await test()
  t.match([passing.code, passing.out], [0, /ok 1 - Bob cannot see the note of Ann/])
  await writeFile(join(migrations, '002_weaker.sql'), 'alter policy own_notes on public.notes using (true);')
  const failing = await test()
  t.match([failing.code, failing.out], [1, /not ok 1 - Bob cannot see the note of Ann/])
  await press(page, 'Run')
  t.ok(await shows(page, 'tests fail'), 'the page says so, too')
  t.ok(await shows(page, 'Bob cannot see the note of Ann', '.problem'))
})

t.test('the weaker policy is explained at once', async (t) => {
  await server.database.query('alter policy own_notes on public.notes using (true)')
  const query = new URLSearchParams({ request: 'GET /rest/v1/notes?id=eq.1&select=text' })
  await openPage(page, `#/explain?${query.toString()}`, 'Explain')
  t.ok(await shows(page, 'gets 1 of 1 row', '.explained'))
})

t.test('scripts had no fault', (t) => {
  t.strictSame(faults, [])
  t.end()
})
