// SQL of people runs in one transaction as the chosen caller, and leaves nothing behind unless it is committed.
import t, { type Test } from 'tap'
import type { SqlRequest, SqlRun } from '../../server/services/console/sql-protocol.ts'
import type { BeforeCommit, SqlIdentity } from '../../server/services/console/database-tools.ts'
import { runSql, type SqlPlace } from '../../server/tools/console/run-sql.ts'
import { withClient } from '../../server/postgres/connection/client.ts'
import { toPoolConfig } from '../../server/running/connection-setting.ts'
import { sqlLogin, sqlLoginRole } from '../../server/tools/console/sql-login.ts'
import { createTenantsDatabase, tenantUsers } from '../support/tenants.ts'
import { until } from '../support/until.ts'

const database = await createTenantsDatabase()
t.teardown(() => database.drop())

const owner = toPoolConfig(database.adminUri, {})
const place: SqlPlace = { login: () => sqlLogin(owner, 'authenticator'), owner: undefined, channel: 'pgrst' }
const development: SqlPlace = { ...place, owner }
const withLogin = (uri: string): SqlPlace => ({ ...place, login: () => Promise.resolve(toPoolConfig(uri, {})) })
const patient = new AbortController().signal

const serviceRole: SqlIdentity = { role: 'service_role', claims: {} }
const anonymous: SqlIdentity = { role: 'anon', claims: {} }
const unannounced: BeforeCommit = () => Promise.resolve()
const run = (
  sql: string,
  more: Partial<SqlRequest> = {},
  identity: SqlIdentity = serviceRole,
  at = place,
  beforeCommit = unannounced,
): Promise<SqlRun> => runSql(at, { sql, caller: { role: '' }, ...more }, identity, patient, beforeCommit)
const asOwner = (sql: string, more: Partial<SqlRequest> = {}): Promise<SqlRun> => run(sql, more, 'owner', development)

/** Sessions of other runs that are still open. */
const sessions = async (): Promise<number> =>
  Number(
    (
      await database.query(
        `select count(*) as n from pg_stat_activity
         where datname = current_database() and usename = $1`,
        [sqlLoginRole],
      )
    ).rows[0]?.n,
  )

async function noSessions(t: Test): Promise<void> {
  t.ok(await until(async () => (await sessions()) === 0), 'no session remains')
}

const tasks = async (): Promise<unknown> =>
  (await database.query('select count(*)::int as n from public.tasks')).rows[0]?.n

t.test('results of each statement, with types, tags and notices', async (t) => {
  const { results, error, notices, role, outcome } = await run(
    `select 1 as a, null::text as b, now()::timestamptz(3) as c, array[1,2] as d;
     do $$ begin raise notice 'hello %', 1; end $$; -- a comment
     create temp table x (id int); insert into x values (1), (2) returning id`,
  )
  t.equal(error, null)
  t.match([role, outcome], ['service_role', 'rolled back'])
  t.strictSame(
    results.map(({ tag }) => tag),
    ['SELECT 1', 'DO', 'CREATE TABLE', 'INSERT 0 2'],
  )
  t.strictSame(results[0]?.columns, [
    { name: 'a', type: 'integer' },
    { name: 'b', type: 'text' },
    { name: 'c', type: 'timestamp(3) with time zone' },
    { name: 'd', type: 'integer[]' },
  ])
  t.match(results[0]?.rows[0]?.[3], '{1,2}')
  t.strictSame([results[1]?.columns, results[3]?.rows], [null, [['1'], ['2']]])
  t.strictSame(
    results.map(({ line }) => line),
    [1, 2, 3, 3],
  )
  t.strictSame(notices, [{ severity: 'NOTICE', message: 'hello 1' }])
})

t.test('as a role, as a user, as the owner', async (t) => {
  const sql = 'select current_user, auth.uid(), count(*) from public.tasks'
  const claims = { sub: tenantUsers.dora, role: 'authenticated' }
  const user = await run(sql, {}, { role: 'authenticated', claims })
  t.strictSame(user.results[0]?.rows, [['authenticated', tenantUsers.dora, '2']])
  t.match((await run('select * from public.tasks', {}, anonymous)).error, {
    code: '42501',
    message: /permission denied/,
  })
  t.match(await run('select 1', {}, { role: 'postgres', claims: {} }), { error: { code: '42501' }, results: [] })
  t.match(await run('select 1', {}, 'owner'), { error: { message: /development only/ } })
  const owner = await asOwner('select count(*) from public.tasks')
  t.strictSame([owner.error, owner.results[0]?.rows], [null, [['8']]])
})

t.test('errors have their place in the whole text', async (t) => {
  const sql = "select 'ä😀';\nselect 'ö😀', missing from public.tasks"
  const { results, error } = await run(sql)
  t.equal(results.length, 1)
  t.match(error, { code: '42703', message: 'column "missing" does not exist' })
  t.equal(sql.slice(error?.position ?? 0).slice(0, 7), 'missing')
  const explained = await run('select 1; select missing', { explain: 'analyze' })
  t.equal('select 1; select missing'.slice(explained.error?.position ?? 0), 'missing')
  const syntax = await run('selec 1')
  t.match(syntax.error, { code: '42601', position: 0 })
})

t.test('commands that end the transaction are refused', async (t) => {
  for (const sql of [
    'commit',
    '/* /* */ x */ COMMIT',
    'commit and chain',
    'end',
    'rollback',
    'rollback work and chain',
    'abort',
    'begin',
    'start transaction',
    "prepare transaction 'x'",
    "commit prepared 'x'",
    "rollback prepared 'x'",
  ]) {
    const { error, results, outcome } = await run(`delete from public.tasks; ${sql}; select 1`)
    t.match(error, { message: /is refused/, code: null }, sql)
    t.strictSame([results, outcome], [[], 'rolled back'])
  }
  t.equal(await tasks(), 8)
  const { error } = await run('savepoint a; delete from public.tasks; rollback to a; rollback work to savepoint a')
  t.equal(error, null, 'savepoints are allowed')
})

t.test('nothing commits inside of functions, quotations or several commands in one', async (t) => {
  for (const sql of [
    'do $$ begin delete from public.tasks; commit; end $$',
    "do $$ begin execute 'delete from public.tasks'; execute 'commit'; end $$",
    'create procedure pg_temp.p() language plpgsql as $$ begin delete from public.tasks; commit; end $$; call pg_temp.p()',
    // The server reads the strings otherwise than the text was split.
    "set standard_conforming_strings = off; select 'a\\'; delete from public.tasks; commit; --'",
    "set standard_conforming_strings = off; select E'a\\'; commit; --' from public.tasks",
  ]) {
    await run(sql)
    t.equal(await tasks(), 8, sql)
  }
  await noSessions(t)
})

t.test('what is left in a session ends with it', async (t) => {
  const { error } = await run(
    `select pg_advisory_lock(4711); select set_config('role', 'anon', false);
     prepare left_over as select 1; listen left_over; create temp table left_over (id int);
     set session statement_timeout = 0; select set_config('request.jwt.claims', '{}', false)`,
  )
  t.equal(error, null)
  await noSessions(t)
  const locks = await database.query(
    `select count(*)::int as n from pg_locks join pg_database on pg_database.oid = database
     where locktype = 'advisory' and datname = current_database()`,
  )
  t.equal(locks.rows[0]?.n, 0)
  t.match(await run('reset role; delete from public.tasks'), { outcome: 'rolled back' })
  t.match(await run('reset role; set role service_role; delete from public.tasks', {}, anonymous), {
    error: null,
    outcome: 'rolled back',
  })
  t.equal(await tasks(), 8)
})

/** Statements that want to be the server. */
const presumptions = [
  'select * from auth.users',
  "insert into rowhouse.console_log (actor, action, details) values ('forged', 'sign in', '{}')",
  "insert into rowhouse.console_sessions (token_hash, is_code, actor, expires_at) values (sha256('x'), false, 'x', now() + '1 day')",
  'select * from rowhouse.console_sessions',
  'set role supabase_auth_admin',
  'set role supabase_storage_admin',
  'set role authenticator',
  'set session authorization authenticator',
  'grant authenticator to console_authenticator',
  "alter role authenticator set pgrst.jwt_secret = 'x'",
  "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'authenticator' and datname = current_database()",
]

t.test('without the choice of a role, statements are not the server', async (t) => {
  const { rows } = await database.query('select count(*)::int as n from rowhouse.console_log')
  await withClient(toPoolConfig(database.authenticatorUri, {}), async (client) => {
    for (const sql of presumptions) {
      for (const text of [
        sql,
        `reset role; ${sql}`,
        `set role service_role; reset role; do $x$ begin ${sql.replace(/^select/, 'perform')}; end $x$`,
      ]) {
        t.match(
          await run(text, { commit: true }, anonymous),
          { error: { code: '42501' }, outcome: 'rolled back' },
          text,
        )
      }
    }
    t.equal((await client.query('select 1')).rowCount, 1, 'sessions of the server remain')
  })
  t.strictSame((await database.query('select count(*)::int as n from rowhouse.console_log')).rows, rows)
})

t.test('what statements do to their login role is undone', async (t) => {
  const spoiling = `
    reset role; alter role ${sqlLoginRole} password 'mine'; alter role ${sqlLoginRole} set role = 'anon';
    do $$ begin execute format('alter role ${sqlLoginRole} in database %I set search_path = nowhere', current_database()); end $$`
  t.match(await run(spoiling, { commit: true }, anonymous), { error: null, outcome: 'committed' })
  t.match(await run('reset role; select current_user, current_setting($$search_path$$)'), {
    error: null,
    results: [{}, { rows: [[sqlLoginRole, /^((?!nowhere).)*$/]] }],
  })
})

t.test('the login role follows the roles of the server', async (t) => {
  const [plain, own] = [`console_plain_${process.pid}`, `console_own_${process.pid}`]
  await database.query(`create role ${plain} noinherit; create role ${own} noinherit; grant ${plain}, ${own} to authenticator;
    grant supabase_auth_admin to ${own}`)
  t.teardown(() => database.query(`drop role ${plain}; drop role ${own}`))
  t.match(await run(`set role ${plain}; select current_user`), { error: null, results: [{}, { rows: [[plain]] }] })
  t.match(await run(`set role ${own}`), { error: { code: '42501' } }, 'not to those that can become the server')
  await database.query(`grant supabase_storage_admin to ${plain}`)
  t.match(await run(`set role ${plain}`), { error: { code: '42501' } }, 'nor to those that can do so now')
  await database.query(`revoke supabase_storage_admin from ${plain}`)
  t.match(await run(`set role ${plain}`), { error: null })
  await database.query(`revoke ${plain} from authenticator`)
  t.match(await run(`set role ${plain}`), { error: { code: '42501' } })
})

t.test('outside of development, the login role can take the roles of requests only', async (t) => {
  const secrets = 'reset role; set role supabase_auth_admin; select encrypted_password from auth.users'
  for (const uri of [database.authenticatorUri, database.adminUri]) {
    const { error, results } = await run(secrets, {}, anonymous, withLogin(uri))
    t.match(error, { message: /the server's own/, hint: /CONSOLE_DATABASE_URL/ })
    t.same(results, [])
  }
  const name = `console_sql_${process.pid}`
  await database.query(`create role ${name} login noinherit password 'x'; grant anon, service_role to ${name}`)
  t.teardown(() => database.query(`drop role ${name}`))
  const uri = new URL(database.authenticatorUri)
  uri.username = name
  uri.password = 'x'
  const at = withLogin(uri.href)
  t.match(await run('select count(*) from public.tasks', {}, serviceRole, at), { error: null, role: 'service_role' })
  await withClient(toPoolConfig(database.authenticatorUri, {}), async () => {
    for (const sql of presumptions) {
      t.match(await run(`reset role; ${sql}`, {}, anonymous, at), { error: { code: '42501' } }, sql)
    }
  })
})

t.test('COPY is refused', async (t) => {
  for (const sql of ['copy public.tasks from stdin', 'copy public.tasks to stdout', "copy (select 1) to program 'x'"]) {
    t.match((await asOwner(sql)).error, { message: /^COPY is refused/ }, sql)
  }
})

t.test('large results are cut, and those that are too large end the run', async (t) => {
  const many = await run(
    'select n from generate_series(1, 1000) n; select n from generate_series(1, 100000) n; select 7',
  )
  t.strictSame(
    many.results.map(({ rows, isCut, tag }) => [rows.length, isCut, tag]),
    [
      [1000, false, 'SELECT 1000'],
      [1000, true, null],
      [1, false, 'SELECT 1'],
    ],
  )
  const wide = await run("select repeat('x', 1000000) from generate_series(1, 20)")
  t.match([wide.results[0]?.rows.length, wide.results[0]?.isCut, wide.error], [4, true, null])
  const huge = await run("delete from public.tasks; select repeat('x', 80000000)", { timeout: 120_000 })
  t.match(huge.error, { message: /larger than 64 MiB/ })
  t.equal(huge.results.length, 1)
  await noSessions(t)
  t.equal(await tasks(), 8)
})

t.test('the time limit', async (t) => {
  const slow = await run('select pg_sleep(30)', { timeout: 200 })
  t.match(slow.error, { code: '57014', message: /statement timeout/ })
  const evading =
    'set statement_timeout = 0; do $$ begin loop begin perform pg_sleep(10); exception when query_canceled then null; end; end loop; end $$'
  const { error, results } = await run(evading, { timeout: 200 })
  t.match([error?.message, results.length], [/longer than 0.2 s/, 1])
  await noSessions(t)
})

t.test('a run ends when its reader is gone', async (t) => {
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 300)
  const { error } = await runSql(
    place,
    { sql: 'select pg_sleep(60)', caller: { role: 'anon' }, timeout: 60_000 },
    anonymous,
    controller.signal,
    unannounced,
  )
  t.match(error, { message: 'The run was cancelled.' })
  await noSessions(t)
})

t.test('commits only when it is chosen', async (t) => {
  const created = await asOwner('create table public.kept (id int primary key); insert into public.kept values (1)', {
    commit: true,
  })
  t.match(created, { error: null, outcome: 'committed' })
  await run('insert into public.kept values (2)')
  await asOwner('insert into public.kept values (3)')
  const failed = await asOwner('insert into public.kept values (4); insert into public.kept values (1)', {
    commit: true,
  })
  t.match(failed, { error: { code: '23505', detail: /already exists/ }, outcome: 'rolled back' })
  t.strictSame((await database.query('select id from public.kept')).rows, [{ id: 1 }])
})

t.test('what is to precede a commit does, with the transaction, and prevents it where it fails', async (t) => {
  const insert = 'create table public.recorded as select 1 as n'
  const exists = async (): Promise<unknown> =>
    (await database.query("select to_regclass('public.recorded') is not null as it")).rows[0]?.it
  let announced: string | null | undefined
  const note: BeforeCommit = async (transaction) => {
    announced = transaction
    t.equal(await exists(), false, 'nothing is committed yet')
  }
  t.match(await run(insert, {}, 'owner', development, note), { outcome: 'rolled back', error: null })
  t.match(await run('select 1 / 0', { commit: true }, 'owner', development, note), { error: { code: '22012' } })
  t.equal(announced, undefined, 'no commit, no call')
  const refuse: BeforeCommit = () => Promise.reject(new Error('no entry'))
  const refused = await run(insert, { commit: true }, 'owner', development, refuse)
  t.match(refused, { outcome: 'rolled back', error: { message: 'no entry' } })
  t.equal(await exists(), false)
  const hostile = `
    create schema evil; create type evil.text as enum ('forged');
    create function evil.pg_current_xact_id_if_assigned() returns text language sql as $$ select 'forged' $$;
    set search_path = evil, pg_catalog; ${insert}`
  t.match(await run(hostile, { commit: true }, 'owner', development, note), { outcome: 'committed' })
  t.strictSame(
    (await database.query('select xmin::text from public.recorded')).rows,
    [{ xmin: String(BigInt(announced ?? 0) & 0xffffffffn) }],
    'the id of the transaction that wrote',
  )
  await database.query('drop table public.recorded; drop schema evil cascade')
  t.match(await run('select 1', { commit: true }, anonymous, place, note), { outcome: 'committed' })
  t.equal(announced, null, 'nothing was changed')
})

t.test('deferred constraints are checked as at a commit', async (t) => {
  const sql = `create temp table one (id int unique deferrable initially deferred); insert into one values (1), (1)`
  t.match(await run(sql), { error: { code: '23505' }, outcome: 'rolled back' })
})

t.test('plans', async (t) => {
  const { results, error } = await run('create temp table x (id int); select * from public.tasks', {
    explain: 'analyze',
  })
  t.equal(error, null)
  t.match(results, [
    { tag: 'CREATE TABLE', plan: null },
    { tag: 'EXPLAIN', columns: null, plan: [{ Plan: { 'Actual Rows': 8, 'Actual Total Time': Number } }] },
  ])
  const written = await run('delete from public.tasks', { explain: 'analyze' })
  t.match(written.results[0]?.plan, [{ Plan: { Operation: 'Delete' } }])
  t.equal(await tasks(), 8)
  const planned = await run('delete from public.tasks', { explain: 'plan' })
  t.notMatch(planned.results[0]?.plan, [{ 'Execution Time': Number }])
})

t.test('texts without statements, and with too many', async (t) => {
  t.match((await run(' ; -- nothing')).error, { message: /no statement/ })
  t.match((await run('select 1;'.repeat(1001))).error, { message: /at most 1000/ })
  t.match((await run("select '\0'")).error, { message: /U\+0000/ })
  t.match(
    (
      await runSql(
        withLogin('postgres://127.0.0.1:1/x'),
        { sql: 'select 1', caller: { role: 'anon' } },
        anonymous,
        patient,
        unannounced,
      )
    ).error,
    {
      message: /ECONNREFUSED/,
    },
  )
})
