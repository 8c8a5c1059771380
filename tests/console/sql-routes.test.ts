// The routes of SQL, checks, explanations and policy tests: as whom they act, what they record and write, and what only the
// development mode allows.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import type {
  CheckReport,
  PolicyTestRun,
  PolicyTests,
  ShownExplanation,
} from '../../server/services/console/policy-protocol.ts'
import type { SqlRun } from '../../server/services/console/sql-protocol.ts'
import { signInToConsole, startConsoleServer } from '../support/console.ts'

const folder = await mkdtemp(join(tmpdir(), 'rowhouse-console-'))
t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
const ann = '00000000-0000-4000-8000-00000000000a'
const bob = '00000000-0000-4000-8000-00000000000b'
const migration = `
  create table public.notes (id int primary key, owner uuid not null default auth.uid(), text text);
  alter table public.notes enable row level security;
  grant select, insert, update, delete on public.notes to authenticated;
  create policy own_notes on public.notes to authenticated using (owner = (select auth.uid()));`
const seed = `
  insert into auth.users (id, email, email_confirmed_at) values
    ('${ann}', 'ann@example.org', now()), ('${bob}', 'bob@example.org', now());
  insert into public.notes (id, owner, text) values (1, '${ann}', 'of Ann'), (2, '${bob}', 'of Bob');`
await mkdir(join(folder, 'migrations'))
await writeFile(join(folder, 'migrations', '001_notes.sql'), migration)
await writeFile(join(folder, 'seed.sql'), seed)

const env = { MIGRATIONS_DIR: join(folder, 'migrations'), DATA_DIR: join(folder, 'data'), PGRST_DB_ANON_ROLE: 'anon' }
const server = await startConsoleServer(t, env, migration + seed)
const { call } = await signInToConsole(server)
const { database } = server

const sql = async (body: object): Promise<SqlRun> => (await call('POST', 'sql', body)).body.details as SqlRun
const logged = async (action: string): Promise<unknown[]> =>
  (await database.query('select details from rowhouse.console_log where action = $1', [action])).rows.map(
    ({ details }) => details,
  )

t.test('SQL as a user and as the owner', async (t) => {
  const asBob = await sql({ sql: 'select id from public.notes', caller: { user: bob } })
  t.match(asBob, { role: 'authenticated', error: null, outcome: 'rolled back', results: [{ rows: [['2']] }] })
  t.match(await sql({ sql: 'create table public.extra ()', caller: { owner: true } }), { error: null })
  t.strictSame(await logged('commit sql'), [], 'what is rolled back is not recorded')
  const committed = await sql({ sql: 'create table public.extra ()', caller: { owner: true }, commit: true })
  t.match(committed, { outcome: 'committed' })
  t.match(await logged('commit sql'), [
    { sql: 'create table public.extra ()', as: { owner: true }, transaction: /^\d+$/ },
  ])
  const missing = await call('POST', 'sql', { sql: 'select 1', caller: { role: 'postgres' } })
  t.equal(missing.status, 404)
  const invalid = await call('POST', 'sql', { sql: 'select 1', caller: {}, timeout: 1 })
  t.equal(invalid.status, 400)
})

t.test('statements cannot remove the entry of their own commit, nor commit without one', async (t) => {
  const owner = { caller: { owner: true }, commit: true, timeout: 500 }
  const entries = async (): Promise<readonly unknown[]> =>
    (await database.query('select action, details from rowhouse.console_log order by id desc limit 2')).rows
  const erasing = 'delete from rowhouse.console_log; create table public.erasing ()'
  t.match(await sql({ sql: erasing, ...owner }), { outcome: 'committed' })
  t.match(await entries(), [{ action: 'commit sql', details: { sql: erasing, transaction: /^\d+$/ } }])
  for (const prevention of [
    'lock table rowhouse.console_log in access exclusive mode',
    'drop table rowhouse.console_log',
    'alter table rowhouse.console_log rename to other',
    'revoke insert on rowhouse.console_log from authenticator; lock table rowhouse.console_log',
    'create rule forgets as on insert to rowhouse.console_log do instead nothing',
    "create function public.forgets() returns trigger language plpgsql as 'begin return null; end'; create trigger forgets before insert on rowhouse.console_log for each row execute function public.forgets()",
  ]) {
    const run = await sql({ sql: `${prevention}; create table public.unrecorded ()`, ...owner })
    t.match(run, { outcome: 'rolled back', error: { message: /longer than 0.5 s/ } }, prevention)
    const [last, before] = (await entries()) as { readonly action: string; readonly details: { transaction: string } }[]
    t.match([last?.action, before?.action], ['sql not committed', 'commit sql'], 'what the entry announced')
    t.equal(last?.details.transaction, before?.details.transaction)
  }
  t.strictSame((await database.query("select to_regclass('public.unrecorded') as it")).rows, [{ it: null }])
})

t.test('without a session, or without its header', async (t) => {
  const body = { sql: 'select 1', caller: { role: 'anon' } }
  for (const path of ['sql', 'explain', 'migrations', 'check/fixes', 'policy-tests', 'policy-tests/run']) {
    t.equal((await call('POST', path, body, { cookie: '' })).status, 401, path)
    t.equal((await call('POST', path, body, { 'X-Console-Token': 'x' })).status, 403, path)
  }
  t.equal((await call('GET', 'check', undefined, { cookie: '' })).status, 401)
})

t.test('explanations whose effects may remain are recorded', async (t) => {
  const request = 'GET /rest/v1/notes?id=eq.2'
  const caller = { user: bob }
  t.equal((await call('POST', 'explain', { request, caller, trusted: [] })).status, 200)
  t.strictSame(await logged('explain with effects'), [])
  t.equal((await call('POST', 'explain', { request, caller, trusted: ['public.notify'] })).status, 200)
  t.strictSame(await logged('explain with effects'), [{ request, trusted: ['public.notify'], as: caller }])
})

t.test('a hidden row and a denied write are explained', async (t) => {
  const caller = { user: bob }
  const { body } = await call('POST', 'explain', { request: 'GET /rest/v1/notes?id=eq.1', caller })
  const explanation = body.details as ShownExplanation
  t.match(explanation, {
    request: { role: 'authenticated', claims: { sub: bob } },
    rows: { before: 1, after: 0 },
    denied: { reason: 'policies', rows: [{ key: { id: 1 }, policies: [{ name: 'own_notes', clause: 'using' }] }] },
  })
  const denied = await call('POST', 'explain', {
    request: 'POST /rest/v1/notes',
    body: JSON.stringify({ id: 3, owner: ann }),
    caller,
  })
  t.match(denied.body.details, {
    response: { status: 403, error: { code: '42501' } },
    denied: { rows: [{ kind: 'new' }] },
  })
  t.equal((await database.query('select from public.notes')).rowCount, 2)
  const unreadable = await call('POST', 'explain', { request: 'FETCH /x', caller })
  t.match([unreadable.status, unreadable.body.message], [422, /The method FETCH/])
})

t.test('findings, what lets roles through, and a migration that mends', async (t) => {
  const { relations, findings } = (await call('GET', 'check')).body.details as CheckReport
  const notes = relations.find(({ name }) => name === 'notes')
  t.match(notes, {
    rls: true,
    policies: [{ name: 'own_notes', command: 'all', using: /auth\.uid\(\)/, roles: ['authenticated'] }],
  })
  t.match(
    notes?.roles.find(({ name }) => name === 'authenticated'),
    { bypassesRls: false, grants: { select: 'all', delete: 'all' } },
  )
  const unindexed = findings.find(
    ({ code, object }) => code === 'policy_column_without_index' && object === 'public.notes',
  )
  t.match(unindexed, { fix: /create index/i })
  const fixed = await call('POST', 'check/fixes', { keys: [unindexed?.key] })
  t.match(fixed.body.details, { written: /_check_fixes\.sql$/, fixes: [{ outcome: 'written' }] })
  t.match(await readFile((fixed.body.details as { written: string }).written, 'utf8'), /create index/i)
  await rm((fixed.body.details as { written: string }).written)
})

t.test('a migration from SQL', async (t) => {
  const { status, body } = await call('POST', 'migrations', { name: 'Add colours!', sql: 'select 1' })
  t.match([status, body.details], [201, { path: /002_add_colours\.sql$/ }])
  t.ok((await readdir(join(folder, 'migrations'))).includes('002_add_colours.sql'))
  t.match(await call('POST', 'migrations', { name: '!', sql: 'select 1' }), { status: 422 })
  t.strictSame((await logged('write migration')).length, 2)
})

/** Asks for the run until it has ended. */
async function ended(): Promise<PolicyTestRun> {
  for (;;) {
    const run = (await call('GET', 'policy-tests/run')).body.details as PolicyTestRun
    if (run.state !== 'running') return run
    await pause(200)
  }
}

t.test('a test is written, run, and notices a mutant', async (t) => {
  const none = await call('POST', 'policy-tests/run', { kind: 'tests' })
  t.match([none.status, none.body.message], [422, /no policy tests/])
  const added = await call('POST', 'policy-tests', {
    name: 'Bob cannot see the note of Ann',
    as: 'bob@example.org',
    request: 'GET /rest/v1/notes?id=eq.1',
    rows: 0,
  })
  t.match([added.status, added.body.details], [201, { path: /policy-tests\/requests\.yaml$/ }])
  const refused = await call('POST', 'policy-tests', { name: 'x', as: 'anon', request: 'nothing', rows: 0 })
  t.match([refused.status, refused.body.message], [422, /must be a method and a path/])
  const { files } = (await call('GET', 'policy-tests')).body.details as PolicyTests
  t.match(files, [{ tests: [{ name: 'Bob cannot see the note of Ann', request: 'GET /rest/v1/notes?id=eq.1' }] }])

  const started = await call('POST', 'policy-tests/run', { kind: 'mutants' })
  t.match([started.status, started.body.details], [202, { state: 'running' }])
  t.equal((await call('POST', 'policy-tests/run', { kind: 'tests' })).status, 409)
  const run = await ended()
  t.match(run, { state: 'done', error: null, tests: [{ problem: null }] })
  const mutant = (text: string): unknown => run.mutants.find(({ id }) => id.includes(text))
  t.match(mutant('"own_notes": using true'), {
    outcome: 'noticed',
    by: 'Bob cannot see the note of Ann',
    policy: 'own_notes',
  })
  const unnoticed = run.mutants.find(({ outcome }) => outcome === 'unnoticed')
  const accepted = await call('POST', 'policy-tests/accepted', { mutant: unnoticed?.id, reason: 'as it should be' })
  t.match([accepted.status, accepted.body.details], [201, { path: /requests\.yaml$/ }])
  t.match((await call('GET', 'policy-tests')).body.details, { files: [{ accepted: [{ mutant: unnoticed?.id }] }] })
  t.ok(run.mutants.every(({ object }) => object === 'public.notes'))
})

t.test('a run is cancelled', async (t) => {
  await call('POST', 'policy-tests/run', { kind: 'record' })
  t.match(await call('DELETE', 'policy-tests/run'), { status: 200 })
  t.match(await ended(), { state: 'cancelled' })
  await pause(3000)
  t.strictSame(await readdir(join(folder, 'policy-tests')), ['requests.yaml'], 'nothing is written')
})

t.test('the embedded database with CONSOLE=on, which a proxy on the same machine may pass requests to', async (t) => {
  const served = await startConsoleServer(t, { ...env, CONSOLE: 'on' })
  const client = await signInToConsole(served)
  t.match(client.session, { isDevelopment: false })
  const home = await (await fetch(served.url, { headers: { Accept: 'text/html' } })).text()
  t.match(home, 'The service is running.')
  t.notMatch(home, /Version|mailbox/, 'the first page says nothing else')
  t.match((await client.call('GET', 'overview')).body.details, { keys: null, database: null })
  t.match((await client.call('POST', 'sql', { sql: 'select 1', caller: { owner: true } })).body.details, {
    error: { message: /development only/ },
  })
  t.equal((await client.call('POST', 'migrations', { name: 'x', sql: 'select 1' })).status, 403)
})

t.test('outside of development', async (t) => {
  const served = await startConsoleServer(t, { ...env, ROWHOUSE_EMBEDDED: undefined, CONSOLE: 'on' })
  const client = await signInToConsole(served)
  t.match((await client.call('POST', 'sql', { sql: 'select 1', caller: { owner: true } })).body.details, {
    error: { message: /development only/ },
  })
  t.match((await client.call('POST', 'sql', { sql: 'reset role', caller: { role: 'anon' } })).body.details, {
    error: { hint: /CONSOLE_DATABASE_URL/ },
  })
  const bodies = {
    migrations: { name: 'x', sql: 'select 1' },
    'check/fixes': {},
    'policy-tests': { name: 'x', as: 'anon', request: 'GET /', status: 200 },
    'policy-tests/accepted': { mutant: 'x', reason: 'y' },
    'policy-tests/run': { kind: 'tests' },
  }
  for (const [path, body] of Object.entries(bodies)) t.equal((await client.call('POST', path, body)).status, 403, path)
})
