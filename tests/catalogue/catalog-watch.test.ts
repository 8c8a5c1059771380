// Reloading without notifications: the version of the catalog, and the checks of `db-reload-interval`.
import t from 'tap'
import pg from 'pg'
import { changedCatalogs, readCatalogVersion, type CatalogVersion } from '../../server/catalogue/catalog-version.ts'
import { qualifiedKey } from '../../server/catalogue/identifier.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const role = `watched_${database.name}`
t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))
await database.query(`
  create role ${role};
  create schema watched;
  create table watched.items (id int primary key, label text, kind text);
  create table watched.parts (id int primary key, item int);
  create view watched.list as select id, label from watched.items;
  create materialized view watched.totals as select count(*) from watched.items;
  create type watched.colour as enum ('red');
  create domain watched.code as text;
  create sequence watched.numbers;
  create function watched.f(int) returns int stable language sql as 'select 1';
  create function watched.t() returns trigger language plpgsql as 'begin return null; end'`)

const reader = new pg.Client({ connectionString: database.authenticatorUri })
await reader.connect()
t.teardown(() => reader.end())
const version = async (): Promise<CatalogVersion> => {
  await reader.query('begin isolation level repeatable read read only')
  try {
    return await readCatalogVersion(async (text, values) => (await reader.query<{ row: unknown }>(text, values)).rows)
  } finally {
    await reader.query('rollback')
  }
}

/** What differs, without catalogs that other tests of the cluster may change. */
const changes = (before: CatalogVersion, after: CatalogVersion): readonly string[] =>
  changedCatalogs(before, after).filter((name) => !['pg_roles', 'pg_auth_members', 'pg_db_role_setting'].includes(name))

t.test('every change of what settings and schema cache are read from is a new version', async (t) => {
  const parameters: typeof statements =
    database.majorVersion >= 15
      ? [
          ['pg_parameter_acl', `grant set on parameter work_mem to ${role}`],
          ['pg_parameter_acl', `revoke set on parameter work_mem from ${role}`],
        ]
      : []
  const statements: readonly (readonly [catalog: string, sql: string])[] = [
    ['pg_attribute', 'alter table watched.items add column size int'],
    ['pg_attribute', 'alter table watched.items rename column size to length'],
    ['pg_attribute', 'alter table watched.items alter column length set not null'],
    ['pg_attribute', 'alter table watched.items alter column length type bigint'],
    ['pg_attrdef', 'alter table watched.items alter column length set default 1'],
    ['pg_attribute', 'alter table watched.items drop column length'],
    ['pg_attribute', `grant select (id) on watched.items to ${role}`],
    ['pg_class', `grant insert on watched.parts to ${role}`],
    ['pg_class', `revoke insert on watched.parts from ${role}`],
    ['pg_class', `alter table watched.parts owner to ${role}`],
    ['pg_class', 'alter table watched.items enable row level security'],
    ['pg_class', 'alter view watched.list set (security_barrier = true)'],
    ['pg_class', 'alter table watched.parts rename to pieces'],
    ['pg_class', 'alter sequence watched.numbers rename to others'],
    ['pg_policy', 'create policy p on watched.items using (true)'],
    ['pg_policy', 'alter policy p on watched.items using (false)'],
    ['pg_policy', 'drop policy p on watched.items'],
    ['pg_constraint', 'alter table watched.pieces add constraint k foreign key (item) references watched.items'],
    ['pg_constraint', 'alter table watched.pieces drop constraint k'],
    ['pg_rewrite', 'create or replace view watched.list as select id, kind as label from watched.items'],
    ['pg_trigger', 'create trigger t instead of insert on watched.list for each row execute function watched.t()'],
    ['pg_trigger', 'drop trigger t on watched.list'],
    ['pg_description', "comment on column watched.items.kind is 'what it is'"],
    ['pg_description', "comment on column watched.items.kind is 'what it was'"],
    ['pg_description', 'comment on column watched.items.kind is null'],
    ['pg_proc', 'alter function watched.f(int) volatile'],
    ['pg_proc', `revoke execute on function watched.f(int) from public`],
    ['pg_proc', "create or replace function watched.f(int) returns int stable language sql as 'select 2'"],
    ['pg_proc', 'drop function watched.f(int)'],
    ['pg_enum', "alter type watched.colour add value 'green'"],
    ['pg_enum', "alter type watched.colour rename value 'green' to 'blue'"],
    ['pg_type', 'alter domain watched.code set not null'],
    ['pg_cast', 'create cast (watched.colour as watched.code) with inout'],
    ['pg_inherits', 'create table watched.more () inherits (watched.items)'],
    ['pg_namespace', `grant usage on schema watched to ${role}`],
    ['pg_namespace', 'alter schema watched rename to seen'],
    ['pg_namespace', 'alter schema seen rename to watched'],
    ['pg_roles', `alter role ${role} inherit login`],
    ['pg_db_role_setting', `alter role ${role} in database ${database.name} set statement_timeout = '3s'`],
    ['pg_auth_members', `grant ${role} to authenticator`],
    ['pg_auth_members', `revoke ${role} from authenticator`],
    ...parameters,
  ]
  let before = await version()
  for (const [catalog, sql] of statements) {
    await database.query(sql)
    const after = await version()
    t.ok(changedCatalogs(before, after).includes(catalog), `${sql}: ${String(changedCatalogs(before, after))}`)
    before = after
  }
})

t.test('a transaction that commits after a later one is a new version', async (t) => {
  const late = new pg.Client({ connectionString: database.adminUri })
  await late.connect()
  await late.query('begin')
  await late.query('alter table watched.items alter column label set not null')
  await database.query('alter table watched.pieces alter column item set not null')
  const before = await version()
  await late.query('commit')
  await late.end()
  t.ok(changes(before, await version()).includes('pg_attribute'))
})

t.test('other changes are not', async (t) => {
  const statements = [
    "insert into watched.items (id, label) values (1, 'a')",
    'analyze watched.items',
    'vacuum freeze',
    'truncate watched.items cascade',
    'refresh materialized view watched.totals',
    'create index on watched.items (kind)',
    'reindex table watched.items',
    'begin; alter table watched.items add column gone int; rollback',
  ]
  // Whatever a session creates for itself.
  const temporary = `
    create temporary table own (id serial primary key, label text default 'a' check (label <> ''));
    create index on own (label);
    create temporary view seen as select id from own;
    create type pg_temp.kind as enum ('a');
    create function pg_temp.one() returns int language sql as 'select 1';
    create trigger t before insert on own execute function watched.t();
    alter table own enable row level security;
    create policy p on own using (true);
    comment on column own.label is 'a'`
  const before = await version()
  for (const sql of statements) {
    await database.query(sql)
    t.strictSame(changes(before, await version()), [], sql)
  }
  const client = new pg.Client({ connectionString: database.adminUri })
  await client.connect()
  await client.query(temporary)
  t.strictSame(changes(before, await version()), [], 'temporary objects')
  await client.end()
})

t.test('a server that does not listen notices changes', async (t) => {
  const { call, logged, reload, service } = await startApplication(t, database.authenticatorUri, {
    PGRST_DB_CHANNEL_ENABLED: 'false',
    PGRST_DB_SCHEMAS: 'watched',
    PGRST_DB_ANON_ROLE: 'anon',
    DB_RELOAD_INTERVAL: '1',
    SERVICES: 'rest',
  })
  const status = async (path: string): Promise<number> => (await call('GET', `/rest/v1${path}`)).status
  t.equal(await status('/arrivals'), 404)
  await database.query(`
    grant usage on schema watched to anon;
    create table watched.arrivals (id int);
    grant select on watched.arrivals to anon`)
  t.ok(await until(async () => (await status('/arrivals')) === 200))
  t.ok(logged().some(({ msg }) => String(msg).startsWith('Reloading, because the database has changed: pg_attribute')))
  await database.query(`alter role authenticator in database ${database.name} set pgrst.db_max_rows = '0'`)
  t.ok(await until(() => service.engine.snapshot.config.dbMaxRows === 0), 'settings')
  await reload({ DB_RELOAD_INTERVAL: '0' })
  await database.query('drop table watched.arrivals')
  await new Promise((resolve) => setTimeout(resolve, 1300))
  t.ok(
    service.engine.snapshot.schemaCache?.tables.has(qualifiedKey('watched', 'arrivals')),
    'the checks can be switched off',
  )
  await reload({ DB_RELOAD_INTERVAL: '1' })
  t.ok(await until(async () => (await status('/arrivals')) === 404), 'and on')
})

t.test('an invalid interval is reported', async (t) => {
  for (const interval of ['often', '-1', '0.5', '86401']) {
    const started = startApplication(t, database.authenticatorUri, { DB_RELOAD_INTERVAL: interval })
    await t.rejects(started, { name: 'ConfigError', message: /DB_RELOAD_INTERVAL: must be/ }, interval)
  }
})
