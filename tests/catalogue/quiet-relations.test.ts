// What the schema cache proves about `response.headers` and `response.status`. Each case adds objects to a database with a
// table, `api.plain`, a view of it, `side.members`, and functions as Supabase's policies call them. `side.announce` sets
// the headers, although it is declared stable.
import t from 'tap'
import pg from 'pg'
import { loadSchemaCache } from '../../server/catalogue/load.ts'
import { createDatabase, createMigratedDatabase } from '../support/database.ts'
import { loadFrom } from '../support/schema-cache.ts'

const headers = `set_config('response.headers', '[{"x-set":"1"}]', true)`
const database = await createDatabase()
t.teardown(() => database.drop())
await database.query(`
  create schema side;
  create schema api;
  create function side.uid() returns int stable language sql as $$
    select (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::int $$;
  create function side.announce(value int default 1) returns boolean stable language plpgsql as $$
    begin perform ${headers}; return true; end $$;
  create function side.act() returns boolean language plpgsql as $$ begin perform ${headers}; return true; end $$;
  create function side.touch() returns trigger language plpgsql as $$ begin new.name = ''; return new; end $$;
  create table side.members (id int, user_id int);
  create table api.plain (id int primary key, name text);
  insert into api.plain values (1, 'one');
  insert into side.members values (1, 1);
  create view api.plain_view as select id, name from api.plain;
  create type api.pair as (a int, b int)`)

/** A policy of the table. */
const policy = (condition: string, table = 'api.plain'): string =>
  `alter table ${table} enable row level security; create policy guard on ${table} using (${condition})`
/** A function that is declared stable. */
const stable = (signature: string, body: string, more = ''): string =>
  `create function ${signature} ${signature.includes(' returns ') ? '' : 'returns boolean'} stable ${more}
    language ${/\bend$/.test(body) ? 'plpgsql' : 'sql'} as $body$ ${body} $body$`
const block = (statements: string): string => `begin ${statements}; return true; end`
const aggregate = `${stable('side.step(int, int) returns int', 'select 1 from side.announce()')}; create aggregate side.all_of(int) (sfunc = side.step, stype = int)`
const long = `long_${'x'.repeat(80)}`
const both = ['plain', 'plain_view']
const readPlain = 'select * from api.plain'

/** What is added, and the quiet relations and functions. */
const quiet: readonly (readonly [string, string, readonly string[]])[] = [
  ['nothing', 'select', both],
  ['a policy of the caller', policy('id = side.uid() or id = (select side.uid())'), both],
  ['a policy with a function that reads', `${stable('side.is_member(int)', 'select exists (select from side.members m where m.user_id = side.uid() and id = $1)', 'security definer')};
    ${policy('side.is_member(id)')}; ${policy('user_id = side.uid()', 'side.members')}`, both],
  ['in PL/pgSQL', `${stable('side.is_member(wanted int)', `declare found int; begin select user_id into found from side.members where id = wanted;
    if found is null then raise log 'none of the set'; end if; return found = side.uid(); end`)}; ${policy('side.is_member(id)')}`, both],
  ['with a body of the SQL standard', `create function side.is_member(int) returns boolean stable return exists (select from side.members where user_id = side.uid()); ${policy('side.is_member(id)')}`, both],
  ['with a default', `${stable('side.is_member(int default side.uid())', 'select $1 > 0')}; ${policy('side.is_member()')}`, both],
  ['with functions of PostgreSQL that are declared volatile', `${stable('side.is_recent(int)', 'select clock_timestamp() > now()')}; ${policy('side.is_recent(id)')}`, both],
  ['functions in C', `create extension citext schema side; alter table api.plain add code side.citext; ${policy("code operator(side.<>) 'x' or true")}`, both],
  ['a trigger with the name of a column', `alter function side.touch() rename to user_id; create trigger stamp before update on side.members for each row execute function side.user_id();
    ${stable('side.is_member(int)', 'select exists (select user_id from side.members)')}; ${policy('side.is_member(id)')}`, both],
  ['a computed column of a table that a function reads', `create function side.label(side.members) returns text language sql as 'select 1::text';
    ${stable('side.is_member(int)', 'select exists (select from side.members)')}; ${policy('side.is_member(id)')}`, both],
  ['a materialised view', 'create materialized view api.kept as select side.announce() with no data', ['kept', ...both]],
  ['an operator, a cast and a domain', `${stable('side.equal(api.pair, api.pair)', 'select $1.a = $2.a')}; create operator api.=== (function = side.equal, leftarg = api.pair, rightarg = api.pair);
    ${stable('side.text(api.pair) returns text', 'select null::text')}; create cast (api.pair as text) with function side.text;
    ${stable('side.is_code(int)', 'select $1 > 0')}; create domain api.code as int check (side.is_code(value))`, both],
  ['functions', `${stable('api.me() returns int', 'select side.uid()')}; ${stable('api.plains() returns setof api.plain', readPlain)}; create function api.volatile() returns int language sql as 'select 1'`, ['me()', 'plains()', ...both]],
  ['a setting of the role that has nothing to do with it', `alter role quiet_reader set "response.other" = '1'`, both],
] // prettier-ignore

/** What is added, the quiet relations and functions, and a statement that then sets the headers. */
const loud: readonly (readonly [string, string, readonly string[], string?])[] = [
  ['a policy', policy('side.announce(id)'), [], readPlain],
  ['a policy that calls it by a function', `${stable('side.outer()', 'select side.announce()')}; ${policy('side.outer()')}`, [], readPlain],
  ['by two', `${stable('side.outer()', 'select side.announce()')}; ${stable('side.outmost()', block('perform side.outer()'))}; ${policy('side.outmost()')}`, [], readPlain],
  ['a function that calls a volatile one', `${stable('side.outer()', 'select side.act()', 'security definer')}; ${policy('side.outer()')}`, [], readPlain],
  ['a view', 'create view api.acting as select side.announce()', both, 'select * from api.acting'],
  ['a view of such a view', 'create view side.acting as select side.announce(); create view api.outer as select * from side.acting', both, 'select * from api.outer'],
  ['a policy of the table that a function reads', `${policy('side.announce(id)', 'side.members')}; ${stable('side.outer()', 'select exists (select from side.members)')}; ${policy('side.outer()')}`, [], readPlain],
  ['a view that a function reads', `create view side.acting as select side.announce(); ${stable('api.outer()', 'select exists (select * from side.acting a where a.announce)')}`, both, 'select api.outer()'],
  ['a computed column', stable('api.computed(api.plain)', `select ${headers} is null`), ['plain_view'], 'select api.computed(plain) from api.plain'],
  ['a computed column of a parent', `create table api.parent (id int); alter table api.plain inherit api.parent; ${stable('side.computed(api.parent)', 'select side.announce()')}`, ['plain_view'], 'select side.computed(plain) from api.plain'],
  ['a computed column of any row', stable('side.computed(record)', block('perform side.announce()')), [], 'select side.computed(plain) from api.plain'],
  ['a function', stable('api.outer()', 'select side.announce()'), both, 'select api.outer()'],
  ['an overload', `${stable('api.me(int)', 'select true')}; ${stable('api.me(text)', 'select side.announce()')}`, both, `select api.me('')`],
  ['a function that calls an overload', `${stable('side.me(int)', 'select true')}; ${stable('side.me(text)', 'select side.announce()')}; ${stable('api.outer()', `select side.me('')`)}`, both, 'select api.outer()'],
  ['a function of the same name in another schema', `${stable('api.me()', 'select true')}; ${stable('side.me()', 'select side.announce()')}; ${stable('api.outer()', 'select side.me()')}`, ['me()', ...both], 'select api.outer()'],
  ['a quoted name', `${stable('side."Say it"()', 'select side.announce()')}; ${stable('api.outer()', 'select side."Say it"()')}`, both, 'select api.outer()'],
  ['a name without letters of ASCII', `${stable('side."é"()', 'select side.announce()')}; ${stable('api.outer()', 'select side.é()')}`, both, 'select api.outer()'],
  ['a name with an escape', stable('api.outer()', String.raw`select pg_catalog.U&"set\005Fconfig"('response.headers', '[]', true) is null`), both, 'select api.outer()'],
  ['a name that is too long', `${stable(`side.${long}()`, 'select side.announce()')}; ${stable('api.outer()', `select side.${long}()`)}`, both, 'select api.outer()'],
  ['another case', stable('api.outer()', `select ${headers.replace('set_config', 'PG_CATALOG.Set_Config')} is null`), both, 'select api.outer()'],
  ['a dollar before the name', `${stable('side."$say"()', 'select side.announce()')}; ${stable('api.outer()', 'select side."$say"()')}`, both, 'select api.outer()'],
  ['EXECUTE', stable('api.outer()', `begin execute 'select set_' || 'config($1, $2, true)' using 'response.headers', '[]'; return true; end`), both, 'select api.outer()'],
  ['a loop over EXECUTE', stable('api.outer()', `declare r record; begin for r in execute 'select side.' || 'announce()' loop return true; end loop; end`), both, 'select api.outer()'],
  ['a query that is a value', stable('api.outer()', `select exists (select from ts_stat($$select to_tsvector('a') where side.announce()$$))`), both, 'select api.outer()'],
  ['XML of a query', stable('api.outer()', `select query_to_xml('select side.' || 'announce()', true, false, '') is null`), both],
  ['XML of a table', stable('api.outer()', `select table_to_xml('side.members', true, false, '') is null`), both],
  ['a body of the SQL standard', `create function api.outer() returns boolean stable return side.announce(); create function api.outmost() returns boolean stable return api.outer()`, both, 'select api.outmost()'],
  ['one that reads', `${policy('side.announce(id)', 'side.members')}; create function api.outer() returns boolean stable begin atomic select exists (select from side.members); end`, both, 'select api.outer()'],
  ['a default', `${stable('side.outer(boolean default side.announce())', 'select $1')}; ${policy('side.outer()')}`, [], readPlain],
  ['a default that is set_config', `${stable(`side.outer(text default ${headers})`, 'select $1 is null')}; ${stable('api.outer()', 'select side.outer()')}`, both, 'select api.outer()'],
  ['an aggregate', `${aggregate}; create view api.sums as select side.all_of(id) from api.plain`, both, 'select * from api.sums'],
  ['a window', `${aggregate}; create view api.sums as select side.all_of(id) over () from api.plain`, both, 'select * from api.sums'],
  ['a function that calls an aggregate', `${aggregate}; ${stable('api.outer()', 'select side.all_of(id) = 1 from side.members')}`, both, 'select api.outer()'],
  ['an operator', `${stable('side.equal(int, api.pair)', 'select side.announce()')}; create operator api.=== (function = side.equal, leftarg = int, rightarg = api.pair)`, [], `select 1 operator(api.===) null::api.pair`],
  ['a cast', `${stable('side.cast(api.pair) returns text', 'select side.announce()::text')}; create cast (api.pair as text) with function side.cast`, [], `select row(1, 1)::api.pair::text`],
  ['a domain', 'create domain api.checked as int check (side.announce(value))', [], 'select 1::api.checked'],
  ['an order', `create function side.hash(api.pair) returns int immutable language sql as 'select 1 from side.announce()';
    create operator class api.pairs for type api.pair using hash as function 1 side.hash(api.pair)`, []],
  ['a function of another name in C', `create function api.outer(text, text, boolean) returns text stable language internal as 'set_config_by_name'`, both, `select api.outer('response.headers', '[]', true)`],
  ['a function in C that runs a query', 'create extension tablefunc schema api', both, `select * from api.crosstab('select ''a''::text, ''b''::text, side.announce()::text') as (a text, b text)`],
  ['a foreign table that a function reads', `create foreign data wrapper nothing; create server nowhere foreign data wrapper nothing;
    create foreign table side.far (id int) server nowhere; ${stable('api.outer()', 'select exists (select from side.far)')}`, both],
  ['a setting of the function', stable('api.outer()', 'select true', `set "Response.Headers" = '[]'`), both],
  ['a setting of a role', `alter role quiet_reader set "RESPONSE.headers" = '[]'`, []],
  ['a setting of a database', `alter database "${database.name}" set response.status = '201'`, []],
  ['a setting of the connection', `select set_config('response.status', '201', true)`, []],
] // prettier-ignore

/** Of a view that PostgreSQL 14 cannot have. */
const ofInvoker: typeof loud = [
  ['of the table of a view that a function reads', `${policy('side.announce(id)', 'side.members')}; create view side.all_of_them with (security_invoker) as select * from side.members;
    ${stable('side.outer()', block('return exists (select from side.all_of_them)'))}; ${policy('side.outer()')}`, [], readPlain],
] // prettier-ignore

for (const [label, added, expected, statement] of [
  ...quiet,
  ...loud,
  ...(database.majorVersion >= 15 ? ofInvoker : []),
]) {
  t.test(label, async (t) => {
    const client = new pg.Client({ connectionString: database.adminUri })
    await client.connect()
    t.teardown(() => client.end())
    // Everything is rolled back.
    await client.query(`begin; create role quiet_reader; ${added}`)
    const cache = await loadSchemaCache(
      async (text, values) => (await client.query<Record<string, string>>(text, values)).rows,
      { schemas: ['api'], extraSearchPath: [], hoistedSettings: [] },
    )
    const nameOf = (key: string): string => key.split('\0')[1] ?? ''
    const names = [
      ...[...cache.quietRelations].map(nameOf),
      ...[...cache.quietRoutines].map((key) => `${nameOf(key)}()`),
    ]
    t.strictSame(names.sort(), [...expected].sort())
    t.ok([...cache.quietRelations].every((key) => cache.stableRelations.has(key)))
    await client.query(`set local search_path = public; grant usage on schema api, side to quiet_reader;
      grant select on all tables in schema api, side to quiet_reader; set local role quiet_reader`)
    if (statement !== undefined) await client.query(statement)
    const { rows } = await client.query<{ headers: string }>(
      `select current_setting('response.headers', true) as headers`,
    )
    t.equal(Boolean(rows[0]?.headers), statement !== undefined, 'the headers are set')
    await client.query('rollback')
  })
}

/** A trigger whose function is declared stable. */
const stamp = (body: string, on = 'insert or update on api.plain'): string =>
  `create function side.stamp() returns trigger stable language plpgsql as $body$${body}$body$;
   create trigger stamp before ${on} for each row execute function side.stamp()`
/** What is added, and whether `api.plain` and the partitioned table `api.parts` are written quietly. */
const written: readonly (readonly [string, string, readonly string[]])[] = [
  ['nothing', 'select', ['parts', 'plain']],
  ['defaults, checks, indexes and policies of the caller', `alter table api.plain add at timestamptz default now(), add key uuid default gen_random_uuid(), add check (name <> 'x');
    create unique index on api.plain (lower(name)); create policy guard on api.plain with check (id = side.uid())`, ['parts', 'plain']],
  ['a default', 'alter table api.plain alter name set default side.announce()::text', ['parts']],
  ['a default that calls it by a function', `${stable('side.outer()', 'select side.announce()')}; alter table api.plain alter name set default side.outer()::text`, ['parts']],
  ['a default that is set_config', `alter table api.plain alter name set default ${headers}`, ['parts']],
  ['a policy for what is written', `create policy guard on api.plain for insert with check (side.announce(id))`, ['parts']],
  ['a policy for what is read', policy('side.announce(id)'), ['parts']],
  ['a check', 'alter table api.plain add check (side.announce(id))', ['parts']],
  ['a volatile check', 'alter table api.plain add check (side.act())', ['parts']],
  ['an index', `create function side.loud_key(int) returns int immutable language sql as 'select 1 from side.announce()'; create index on api.plain (side.loud_key(id))`, ['parts']],
  ['a predicate of an index', `create function side.is_loud(int) returns boolean immutable language sql as 'select side.announce()'; create index on api.plain (id) where side.is_loud(id)`, ['parts']],
  ['a generated column', `create function side.loud_sum(int) returns int immutable language sql as 'select 1 from side.announce()'; alter table api.plain add sum int generated always as (side.loud_sum(id)) stored`, ['parts']],
  ['a check of a partition', 'alter table side.low_part add check (side.announce(id))', ['plain']],
  ['a stable trigger that sets nothing', stamp("begin if new.name is null then raise 'no name'; end if; return new; end"), ['parts', 'plain']],
  ['a stable trigger that sets the headers', stamp(`begin perform ${headers}; return new; end`), ['parts']],
  ['a stable trigger that calls what sets the headers', stamp('begin perform side.announce(); return new; end'), ['parts']],
  ['a trigger that calls it, of rows that refer to the table', `create table side.child (id int references api.plain on delete cascade); ${stamp('begin perform side.announce(); return old; end', 'delete on side.child')}`, ['parts']],
  ['a default of rows that refer to it', `create table side.child (id int default side.announce()::int references api.plain on delete set default)`, ['parts']],
  ['a trigger of rows that refer to it, and stay', `create table side.child (id int references api.plain); ${stamp('begin perform side.announce(); return old; end', 'delete on side.child')}`, ['parts', 'plain']],
  ['a trigger of a partition', stamp('begin perform side.announce(); return new; end', 'insert on side.low_part'), ['plain']],
  ['a check of a domain, which can be in any table', 'create domain side.loud_id as int check (side.announce(value))', []],
  ['a quiet check of a domain', 'create domain side.positive as int check (value > 0)', ['parts', 'plain']],
  ['a rule', 'create rule also as on insert to api.plain do also select 1', ['parts']],
  ['a style of dates of the session', `set local datestyle = 'German'`, []],
  ['of a role', `alter role quiet_reader set datestyle = 'SQL, DMY'`, []],
  ['of the database', `alter database "${database.name}" set datestyle = 'Postgres'`, []],
  ['another order of dates', `alter role quiet_reader set datestyle = 'ISO, DMY'`, ['parts', 'plain']],
] // prettier-ignore

for (const [label, added, expected] of written) {
  t.test(`writes: ${label}`, async (t) => {
    const client = new pg.Client({ connectionString: database.adminUri })
    await client.connect()
    t.teardown(() => client.end())
    await client.query(`begin; create role quiet_reader; create table api.parts (id int) partition by range (id);
      create table side.low_part partition of api.parts for values from (0) to (10); ${added};
      set local response.headers = ''`)
    const cache = await loadSchemaCache(
      async (text, values) => (await client.query<Record<string, string>>(text, values)).rows,
      { schemas: ['api'], extraSearchPath: [], hoistedSettings: [] },
    )
    const names = [...cache.quietlyWritten].map((key) => key.split('\0')[1])
    t.strictSame(names.sort(), expected)
    await client.query('rollback')
  })
}

t.test('PostgreSQL refuses to run commands such as SET in functions that are not volatile', async (t) => {
  const set = `set response.headers = '[]'`
  for (const [language, body] of [
    ['sql', `${set}; select true`],
    ['plpgsql', block(set)],
  ] as const) {
    await database.query(stable(`side.sets_${language}()`, body))
    await t.rejects(database.query(`select side.sets_${language}()`), {
      message: /SET is not allowed in a non-volatile function/,
    })
  }
})

t.test('everything of this project that is stable is quiet', async (t) => {
  const own = await createMigratedDatabase()
  t.teardown(() => own.drop())
  const cache = await loadFrom(own, { schemas: ['public', 'auth', 'storage'], extraSearchPath: [] })
  t.ok(cache.stableRelations.size > 15)
  t.strictSame(cache.quietRelations, cache.stableRelations)
  const stable = [...cache.routines].filter(([, all]) => all.every(({ volatility }) => volatility !== 'volatile'))
  t.ok(stable.length > 70)
  for (const [name] of stable) t.ok(cache.quietRoutines.has(name), name)
})
