// A dump of a database, restored into an empty one, has everything that the first one has. A restore that fails changes
// nothing.
import { Readable, Writable } from 'node:stream'
import t from 'tap'
import type { Client } from '../../server/postgres/connection/client.ts'
import { withClient } from '../../server/postgres/connection/client.ts'
import { connectionConfig } from '../../server/postgres/connection/pool-config.ts'
import { bundledPgDump } from '../../server/tools/database-access/bundled-pg-dump.ts'
import { dumpDatabase } from '../../server/tools/database-access/dump.ts'
import { restoreDatabase, type RestoreCounts } from '../../server/tools/database-access/restore.ts'
import { createDatabase, createMigratedDatabase, type TestDatabase } from '../support/database.ts'

/** Things that a dump must preserve, beyond those of the program's own schema. */
const fixture = `
  create schema shop;
  create type shop.mood as enum ('good', 'it''s "bad"');
  create domain shop.price as numeric(10, 2) check (value >= 0);
  create table shop.items (
    id integer generated always as identity (start 5 increment 5) primary key,
    "Name of it" text collate "C", mood shop.mood default 'good', price shop.price, bytes bytea, tags text[], data jsonb,
    twice numeric generated always as (price * 2) stored, at timestamptz, number double precision
  );
  comment on table shop.items is E'It''s a\\\\table\\nof two lines; with -- signs';
  insert into shop.items ("Name of it", price, bytes, tags, data, at, number) values
    (E'tab\\t, line\\nfeed, return\\r, \\\\. and \\\\N', 1.5, '\\xdeadbeef', '{a,"b,c",NULL}', '{"a": [1, null]}', '2026-01-02 03:04:05.678901+05', 0.1),
    (null, null, null, null, null, '-infinity', 'NaN'), ('', 0, '', '{}', 'null', null, 1e300), ('\\.', 3, null, null, null, null, -0.0);
  create table shop.nothing ();
  create table shop.wide as select n, repeat(md5(n::text), 600) as text from generate_series(1, 200) as n;
  create table shop.days (day date not null, note text) partition by range (day);
  create table shop.days_2026 partition of shop.days for values from ('2026-01-01') to ('2027-01-01');
  create table shop.days_other partition of shop.days default;
  insert into shop.days values ('2026-05-05', 'in'), ('2030-01-01', 'out');
  create table shop.parent (a integer);
  create table shop.child (b integer) inherits (shop.parent);
  insert into shop.parent values (1); insert into shop.child values (2, 3);
  create function shop.total(items shop.items) returns numeric language sql stable begin atomic select items.price + 1; end;
  create view shop.dear with (security_invoker) as select id, shop.total(items) from shop.items where price > 1;
  create materialized view shop.moods as select mood, count(*) from shop.items group by mood;
  create function shop.touch() returns trigger language plpgsql as $f$ begin raise exception 'a trigger ran'; end $f$;
  create trigger touch before insert on shop.items for each row execute function shop.touch();
  create sequence shop.counter; select nextval('shop.counter') from generate_series(1, 41);
  alter table shop.items enable row level security;
  create policy mine on shop.items as restrictive for update to authenticated using (id > 3) with check (price > 0);
  grant select ("Name of it"), update (price) on shop.items to authenticated;
  grant usage on schema shop to anon;
  alter default privileges in schema shop grant select on tables to anon;
  select lo_from_bytea(4711, decode(repeat('00ff', 300000), 'hex'));
  grant select on large object 4711 to authenticated with grant option;
  comment on large object 4711 is 'an object';
  -- A name that is no reserved word.
  create function shop.begin() returns integer language sql begin atomic select 1; end;
`

const connect = <T>(database: TestDatabase, use: (client: Client) => Promise<T>): Promise<T> =>
  withClient(connectionConfig(database.adminUri, {}), use)

async function dump(database: TestDatabase): Promise<string> {
  const chunks: Buffer[] = []
  const output = new Writable({
    // Small, so that results have to wait.
    highWaterMark: 1000,
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk)
      setImmediate(done)
    },
  })
  await connect(database, (client) =>
    dumpDatabase(client, output, (args) => connect(database, (other) => bundledPgDump(other, args))),
  )
  return Buffer.concat(chunks).toString()
}

const restore = (database: TestDatabase, text: string | Buffer, replace = false): Promise<RestoreCounts> =>
  connect(database, (client) =>
    restoreDatabase(client, { input: Readable.from([Buffer.from(text)]), file: 'dump.sql', replace }),
  )

/** Catalogue and rows, as texts that can be compared. */
const facts: Readonly<Record<string, string>> = {
  policies: 'select * from pg_policies order by schemaname, tablename, policyname',
  grants: `select relnamespace::regnamespace::text as schema, relname, relkind, acl::text, pg_get_userbyid(relowner) as owner
    from pg_class, unnest(coalesce(relacl, acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner))) as acl
    where relnamespace::regnamespace::text !~ '^(pg_|information)' order by 1, 2, 4`,
  columns: `select attrelid::regclass::text, attname, acl::text from pg_attribute, unnest(attacl) as acl
    where attrelid >= 16384 order by 1, 2, 3`,
  functions: `select oid::regprocedure::text, prosecdef, proconfig::text, acl::text from pg_proc, unnest(coalesce(proacl, acldefault('f', proowner))) as acl
    where pronamespace::regnamespace::text !~ '^(pg_|information)' order by 1, 4`,
  defaults: `select pg_get_userbyid(defaclrole), defaclnamespace::regnamespace::text, defaclobjtype, defaclacl::text from pg_default_acl order by 1, 2, 3`,
  sequences: 'select schemaname, sequencename, last_value, increment_by from pg_sequences order by 1, 2',
  objects:
    "select oid, md5(lo_get(oid)), lomacl::text, obj_description(oid, 'pg_largeobject') from pg_largeobject_metadata",
  triggers: `select tgrelid::regclass::text, tgname, tgenabled from pg_trigger where not tgisinternal order by 1, 2`,
  'event triggers': 'select evtname, evtevent, evtenabled from pg_event_trigger order by 1',
  comments: `select obj_description('shop.items'::regclass, 'pg_class')`,
  'a view': 'select * from shop.dear order by id',
  'a materialized view': 'select * from shop.moods order by mood',
  'only the parent': 'select * from only shop.parent',
}

async function rowsOf(database: TestDatabase): Promise<object> {
  const { rows: tables } = await database.query(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname !~ '^(pg_|information)' order by 1`,
  )
  const found: Record<string, unknown> = {}
  for (const name of tables.map((row) => String(row.name))) {
    found[name] = (await database.query(`select t::text from ${name} as t order by 1`)).rows
  }
  for (const [name, sql] of Object.entries(facts)) found[name] = (await database.query(sql)).rows
  return found
}

const source = await createMigratedDatabase()
t.teardown(() => source.drop())
await source.query(fixture)
/** Everyone may choose such a value for their own role. */
const setting = `it's 100%I \\ $rowhouse$; select error; do $rowhouse$ begin null; end $rowhouse$`
await source.query(`
  alter database ${source.name} set statement_timeout = '77s'; comment on database ${source.name} is 'the 5% shop';
  alter database ${source.name} set app.a = '${setting.replaceAll("'", "''")}';
  alter role authenticator in database ${source.name} set app.b = '${setting.replaceAll("'", "''")}'`)
await source.query(`
  insert into rowhouse.leases values ('calls', 'one', now() + interval '1 hour');
  select rowhouse.claim_calls('one', 10, 1000, 10, '{}');
  select net.http_get('https://example.com/')`)
const text = await dump(source)

t.test('everything is restored', async (t) => {
  const target = await createDatabase()
  t.teardown(() => target.drop())
  const counts = await restore(target, text)
  t.ok(counts.statements > 1000 && counts.rows > 10)
  const restored = await rowsOf(target)
  t.strictSame(restored, await rowsOf(source))
  t.match(
    restored,
    { 'shop.items': [{}, {}, {}, {}], objects: [{}], 'event triggers': [{}] },
    'the comparison is not of nothing',
  )
  const analyzed = await target.query(
    "select reltuples::integer as rows from pg_class where oid = 'shop.items'::regclass",
  )
  t.strictSame(analyzed.rows, [{ rows: 4 }], 'the planner knows the rows')
  t.strictSame((await target.query("select current_setting('statement_timeout') as value")).rows, [{ value: '77s' }])
  const { rows } = await target.query(`
    select current_setting('app.a') as a, shobj_description(oid, 'pg_database') as comment, (
      select setconfig from pg_db_role_setting where setdatabase = oid and setrole = 'authenticator'::regrole) as b
    from pg_database where datname = current_database()`)
  t.strictSame(rows, [{ a: setting, comment: 'the 5% shop', b: [`app.b=${setting}`] }])
  t.strictSame((await target.query("select nextval('shop.counter')::integer as value")).rows, [{ value: 42 }])

  const claimed = await target.query("select from rowhouse.claim_calls('one', 10, 1000, 10, '{}')")
  t.equal(claimed.rowCount, 0, 'a call that the original sends is not sent by the copy')
  const calls = await target.query('select state, last_error from rowhouse.calls')
  t.match(calls.rows, [{ state: 'dead', last_error: /^not sent: this database is a copy or was restored/ }])

  t.test('a database with contents is refused, or replaced', async (t) => {
    await target.query('create table public.other (a integer); create extension if not exists plpgsql')
    await t.rejects(restore(target, text), {
      name: 'RestoreError',
      message: /^The database is not empty: it has table auth\.api_keys, .* and more\. .*--replace/,
    })
    await restore(target, text, true)
    t.strictSame(await rowsOf(target), await rowsOf(source))
    const { rows } = await target.query("select to_regclass('public.other') as other")
    t.strictSame(rows, [{ other: null }])
  })
})

t.test('what is no dump, or fails, changes nothing', async (t) => {
  const target = await createDatabase()
  t.teardown(() => target.drop())
  const head = '-- rowhouse dump of PostgreSQL 18\n'
  const end = '\n-- rowhouse dump complete\n'
  const made = 'create table made (a integer);\n'
  const table: [name: string, text: string | Buffer, message: RegExp][] = [
    ['an empty file', '', /^dump\.sql is empty\.$/],
    ['an archive', 'PGDMP\u0001\u0010', /is an archive of pg_dump\. Convert it to SQL first: pg_restore --file=dump\.sql/],
    ['an image', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 10, 10]), /^dump\.sql is not a dump in SQL/],
    ['other SQL', made, /^dump\.sql is not a dump in SQL.*rowhouse psql -f FILE/],
    ['a half of a dump', text.slice(0, text.length / 2), /^dump\.sql is incomplete|^dump\.sql:\d+: /],
    ['a dump without its end', `${head}${made}`, /incomplete: its last line is not "-- rowhouse dump complete"/],
    ['half of the rows', `${head}${made}copy made from stdin;\n1\n`, /incomplete: it ends within the rows of a table/],
    ['an open quotation', `${head}select '${end}`, /incomplete/],
    ['an error', `${head}${made}\nselect *\nfrom nowhere;${end}`, /^dump\.sql:4: relation "nowhere" does not exist\nNothing was changed\.$/],
    ['a wrong row', `${head}${made}copy made from stdin;\n1\nx\n\\.\n${end}`, /^dump\.sql:3: invalid input syntax for type integer: "x"\nCOPY made, line 2/],
    ['its own transactions', `${head}${made}commit;${end}`, /^dump\.sql:3: commit: a dump is restored in one transaction/],
    ['a command of psql', `${head}${made}\\! rm -rf x\n${end}`, /^dump\.sql:3: \\! rm -rf x is a command of psql/],
    ['bytes that are not UTF-8', Buffer.concat([Buffer.from(`${head}${made}-- `), Buffer.from([0xe9]), Buffer.from(end)]), /^dump\.sql:3: not UTF-8\.$/],
    ['the end of its connection', `${head}${made}select pg_terminate_backend(pg_backend_pid());${end}`, /^dump\.sql:3: terminating connection/],
  ] // prettier-ignore
  for (const [name, given, message] of table) {
    await t.rejects(restore(target, given), { message }, name)
    await t.rejects(restore(target, given, true), { message }, `${name}, replacing`)
  }
  const { rows } = await target.query("select to_regclass('public.made') as made, to_regnamespace('auth') as auth")
  t.strictSame(rows, [{ made: null, auth: null }])
})

t.test('the output of pg_dump is restored', async (t) => {
  const target = await createDatabase()
  t.teardown(() => target.drop())
  await restore(
    target,
    `--
-- PostgreSQL database dump
--

\\restrict abc

SET transaction_timeout = 0;
create table made (a text, b text);
COPY made (a, b) FROM stdin;
1\t\\N
;\tx
\\.

\\unrestrict abc
--
-- PostgreSQL database dump complete
--
`,
  )
  t.strictSame((await target.query('select * from made')).rows, [{ a: '1', b: null }, { a: ';', b: 'x' }]) // prettier-ignore
})

t.test('messages of pg_dump are passed on', async (t) => {
  await t.rejects(
    connect(source, (client) => bundledPgDump(client, ['--section=nothing'])),
    { message: /unrecognized section name: "nothing"/ },
  )
  await t.rejects(
    connect(source, (client) => bundledPgDump(client, ['--schema=nowhere'])),
    { message: /no matching schemas were found/ },
  )
})
