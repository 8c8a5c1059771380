// `rowhouse doctor` as a program, on a database that is made sick in each way, and beside services that are.
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { rowhouse } from '../../support/command.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { listen } from '../../support/listening.ts'
import { until } from '../../support/until.ts'

const database = await createMigratedDatabase()
const login = `doctor_${randomBytes(4).toString('hex')}`
const slot = login
t.teardown(async () => {
  await database.query(`select pg_drop_replication_slot('${slot}')`)
  await database.query(`drop owned by ${login}; drop role ${login}`)
  await database.drop()
})

const env = {
  DATABASE_URL: database.uri(login, 'doctor'),
  MIGRATION_DATABASE_URL: database.adminUri,
  PGRST_JWT_SECRET: 's'.repeat(40),
  SESSION_SECRETS: 's'.repeat(40),
  PGRST_DB_POOL: '2000',
}

type Found = { readonly code: string; readonly level: string; readonly subject: string; readonly fix?: string }
type Report = { readonly findings: readonly Found[]; readonly skipped: readonly { readonly area: string }[] }

t.test('the database gets sick', async (t) => {
  // Each statement is a sickness.
  await database.query(`
  create role ${login} login createrole noinherit password 'doctor';
  grant anon, authenticated, service_role to ${login};
  create table public.bloated (id integer, payload text) with (autovacuum_enabled = off);
  insert into public.bloated select n, repeat('x', 500) from generate_series(1, 30000) n;
  delete from public.bloated where id % 10 <> 0;
  create table public.doubles (id integer);
  insert into public.doubles values (1), (1);
  create table public.notes (id integer primary key, owner uuid);
  insert into public.notes select n from generate_series(1, 3000) n;
  alter table public.notes enable row level security;
  create policy own on public.notes for select to authenticated using (owner = auth.uid());
  grant select on public.notes to authenticated;
  update pg_extension set extversion = '0.9' where extname = 'plpgsql';
  select pg_create_physical_replication_slot('${slot}', true);
`)
  await t.rejects(database.query('create unique index concurrently doubles_id on public.doubles (id)'))
  const isCounted = `select from pg_stat_user_tables where relname = 'bloated' and n_dead_tup > 20000`
  t.ok(await until(async () => (await database.query(isCounted)).rowCount === 1))
  // An estimate of bloat needs the widths of the columns.
  await database.query('analyze public.bloated')
  t.ok(await until(async () => (await database.query(isCounted)).rowCount === 1))
})

t.test('a sick database, and a sick service', async (t) => {
  const url = await listen(t, (_request, response) => {
    response.writeHead(503, { Date: new Date(Date.now() - 100_000).toUTCString(), Server: 'rowhouse/0.0.1' })
    response.end('{"status":"not ready","checks":{"database":false},"reasons":{"database":"unreachable"}}')
  })
  const { code, out, err } = await rowhouse(['doctor', '--json', '--url', url], env)
  t.equal(err, '')
  t.equal(code, 1)
  const { findings, skipped } = JSON.parse(out) as Report
  const found = new Map(findings.map((it) => [`${it.code} ${it.subject}`, it]))
  const expected = [
    `login_role_powerful ${login}`,
    'pool_too_large PGRST_DB_POOL',
    'realtime_role changes of rows',
    'extension_outdated plpgsql',
    'auth_rls_initplan public.notes',
    'policy_column_without_index public.notes',
    'autovacuum_off public.bloated',
    'dead_rows public.bloated',
    'table_bloat public.bloated',
    'index_invalid public.doubles_id',
    `replication_slot ${slot}`,
    'clock_skew the service',
    'service_version service',
    `service_not_ready ${url}`,
  ]
  for (const name of expected) t.ok(found.has(name), name)
  t.match(found.get('service_not_ready ' + url), { level: 'ERROR', what: /503: \{"database":"unreachable"\}/ })
  t.notOk(found.has('clock_skew the database'))
  t.notOk([...found.keys()].some((name) => name.startsWith('pooler') || name.startsWith('database_not')))
  t.strictSame(skipped, [
    { area: 'backup', reason: 'backups: those of a database of your own are made by its tools' },
    { area: 'policies', reason: 'slow statements: the extension pg_stat_statements is not installed and loaded' },
  ])

  // What it says to do, done.
  for (const { code, subject, fix } of findings) {
    const isOurs = [
      'extension_outdated',
      'autovacuum_off',
      'table_bloat',
      'auth_rls_initplan',
      'login_role_powerful',
      'realtime_role',
    ].includes(code)
    if (!isOurs || !/plpgsql|bloated|notes|doctor|changes/.test(subject)) continue
    if (code === 'extension_outdated')
      await database.query(`update pg_extension set extversion = '1.0' where extname = 'plpgsql'`)
    else await database.query(fix ?? t.fail(`${code} has no statements`).toString())
  }
  await database.query('drop index public.doubles_id')
  const after = JSON.parse((await rowhouse(['doctor', '--json'], { ...env, PGRST_DB_POOL: '5' })).out) as Report
  const left = new Set(after.findings.map((it) => `${it.code} ${it.subject}`))
  for (const name of expected) {
    if (/slot|without_index/.test(name)) t.ok(left.has(name), `${name} is still there`)
    else t.notOk(left.has(name), `${name} is mended`)
  }
})

t.test('as text, beside a service that does not respond', async (t) => {
  const { code, out } = await rowhouse(['doctor', '--url', 'http://127.0.0.1:1'], env)
  t.equal(code, 1)
  t.match(out, /^Nothing to do about .*clocks, tls, pooler/)
  t.match(out, /\nERROR service_unreachable {2}http:\/\/127\.0\.0\.1:1\n {4}It does not respond: .*ECONNREFUSED/)
  t.match(out, /\nFound \d+ errors?, \d+ warnings?/)
})
