// What the schema cache proves about side effects. Each case adds objects to a database with one table, `api.plain`, a
// view of it, and a volatile function `side.act`.
import t from 'tap'
import pg from 'pg'
import { qualifiedKey } from '../../server/catalogue/identifier.ts'
import { loadSchemaCache } from '../../server/catalogue/load.ts'
import { createDatabase } from '../support/database.ts'

const database = await createDatabase()
t.teardown(() => database.drop())
await database.query(`
  create schema side;
  create schema api;
  create function side.act(value int) returns int volatile language plpgsql as $$ begin return value; end $$;
  create table api.plain (id int primary key, name text);
  create view api.plain_view as select id, name from api.plain;
  create type api.pair as (a int, b int)`)

const volatileOf = (argument: string): string =>
  `create function api.computed(${argument}) returns int volatile language plpgsql as $f$ begin return 1; end $f$`
const both = ['plain', 'plain_view']

/** The added objects, the relations then proved to be stable, and whether anything can be proved. */
const table: readonly (readonly [string, string, readonly string[], boolean?])[] = [
  ['nothing', 'select', both],
  ['a computed column', volatileOf('api.plain'), []],
  ['of a view', volatileOf('api.plain_view'), ['plain']],
  ['with a default', volatileOf('a api.plain, b int default 1'), []],
  ['of the rows of a variadic argument', volatileOf('variadic rows api.plain[]'), []],
  ['of a domain over rows', `create domain api.some as api.plain; ${volatileOf('api.some')}`, []],
  ['of a domain over a domain', `create domain api.some as api.plain; create domain api.more as api.some; ${volatileOf('api.more')}`, []],
  ['of any row', volatileOf('record'), [], false],
  ['of anything', volatileOf('anyelement'), [], false],
  ['of anything compatible', volatileOf('anycompatible'), [], false],
  ['of any variadic arguments', volatileOf('variadic anyarray'), [], false],
  ['of what rows become by themselves', `create function side.pair(api.plain) returns api.pair immutable language sql as 'select null::api.pair';
    create cast (api.plain as api.pair) with function side.pair as implicit; ${volatileOf('api.pair')}`, [], false],
  ['of no row', volatileOf('int'), both],
  ['a parent with a computed column', `create table api.parent (id int); alter table api.plain inherit api.parent; ${volatileOf('api.parent')}`, []],
  ['a foreign child', `create foreign data wrapper nothing; create server nowhere foreign data wrapper nothing;
    create foreign table side.child () inherits (api.plain) server nowhere`, []],
  ['a partition that is foreign', `create table api.parted (id int) partition by list (id); create foreign data wrapper nothing;
    create server nowhere foreign data wrapper nothing; create foreign table side.part partition of api.parted for values in (1) server nowhere`, both],
  ['a view that calls it', 'create view api.acting as select side.act(id) from api.plain', both],
  ['a view of such a view', 'create view side.acting as select side.act(id) from api.plain; create view api.outer as select from side.acting', both],
  ['a view that calls it in a subquery', 'create view api.acting as select (select side.act(1)) as n from api.plain', both],
  ['a policy', 'alter table api.plain enable row level security; create policy acting on api.plain using (side.act(id) = 1)', []],
  ['a policy over another table', `create table side.acl (id int); alter table side.acl enable row level security; create policy acting on side.acl using (side.act(id) = 1);
    alter table api.plain enable row level security; create policy acl on api.plain using (id in (select id from side.acl))`, []],
  ['an operator', 'create operator api.### (function = side.act, rightarg = int)', [], false],
  ['a cast', `create function side.cast(api.pair) returns text volatile language plpgsql as 'begin return null; end'; create cast (api.pair as text) with function side.cast`, [], false],
  ['a domain', 'create domain api.checked as int check (side.act(value) > 0)', [], false],
  ['a domain with a function of PostgreSQL', 'create domain api.checked as float8 check (random() < value)', [], false],
  ['an aggregate in a view', `create function side.step(int, int) returns int volatile language plpgsql as 'begin return 1; end';
    create aggregate side.all_of(int) (sfunc = side.step, stype = int); create view api.sums as select side.all_of(id) from api.plain`, both],
] // prettier-ignore

for (const [label, added, stable, isSound = true] of table) {
  t.test(label, async (t) => {
    const client = new pg.Client({ connectionString: database.adminUri })
    await client.connect()
    t.teardown(() => client.end())
    await client.query(`begin; ${added}`)
    const cache = await loadSchemaCache(
      async (text, values) => (await client.query<Record<string, string>>(text, values)).rows,
      { schemas: ['api'], extraSearchPath: [], hoistedSettings: [] },
    )
    t.equal(cache.isSound, isSound)
    const names = [...cache.stableRelations].map((key) => key.split('\0')[1]).sort()
    t.strictSame(names, stable)
    await client.query('rollback')
  })
}

const trigger = (name: string, events: string, on: string): string =>
  `create function side.${name}() returns trigger language plpgsql as 'begin return null; end';
   create trigger ${name} ${events} on ${on} for each row execute function side.${name}()`
/** A trigger of updates of `plain`, with the body of its function. */
const touch = (body: string, more = '', when = ''): string =>
  `alter table api.plain add at timestamptz; create function side.touch() returns trigger language plpgsql ${more} as $body$${body}$body$;
   create trigger touch before update on api.plain for each row ${when} execute function side.touch()`
const stamp = 'begin new.at := now(); return new; end'
const child = (action: string): string => `create table side.child (id int references api.plain ${action})`

/** The added objects, and whether an INSERT into `plain`, and any write to it, may then run functions with other effects. */
const writes: readonly (readonly [string, string, boolean, boolean])[] = [
  ['nothing', 'select', false, false],
  ['a trigger of updates', trigger('touch', 'before update', 'api.plain'), false, true],
  ['a trigger of deletes', trigger('gone', 'after delete', 'api.plain'), false, true],
  ['a trigger of inserts', trigger('made', 'before insert', 'api.plain'), true, true],
  ['a trigger of both', trigger('any_write', 'after insert or update', 'api.plain'), true, true],
  ['a disabled trigger', `${trigger('made', 'before insert', 'api.plain')}; alter table api.plain disable trigger made`, false, false],
  ['a trigger that sets a time', touch(stamp), false, false],
  ['as others write it', touch('\nBEGIN\n  NEW.at = now();\n  NEW."name" = CURRENT_TIMESTAMP;\n  RETURN NEW;\nEND;\n'), false, false],
  ['with a search path', touch(stamp, "set search_path = ''"), false, false],
  ['the time of UTC', touch(`begin new.at = timezone('utc'::text, now()); new."at" = pg_catalog.clock_timestamp() at time zone 'utc'; return new; end;`), false, false],
  ['with another setting', touch(stamp, "set response.headers = '[]'"), false, true],
  ['when the row has changed', touch(stamp, '', 'when (old.* is distinct from new.* and old.id > 1)'), false, false],
  ['with an operator in its condition', `create function side.both(int, int) returns boolean stable language sql as 'select true';
    create operator side.>>> (function = side.both, leftarg = int, rightarg = int); ${touch(stamp, '', 'when (new.id operator(side.>>>) 1)')}`, false, true],
  ['and another trigger', `${touch(stamp)}; ${trigger('other', 'before update', 'api.plain')}`, false, true],
  ['with another function of the name', `create function side.now() returns timestamptz language sql as 'select null::timestamptz'; ${touch(stamp)}`, false, true],
  ['with a condition', touch(stamp, '', 'when (side.act(new.id) = 1)'), false, true],
  ['with another condition', touch(stamp, '', "when (set_config('a.b', 'c', false) = 'c')"), false, true],
  ['another value', touch("begin new.name := set_config('a.b', 'c', false); return new; end"), false, true],
  ['another statement', touch("begin new.at := now(); perform set_config('a.b', 'c', false); return new; end"), false, true],
  ['another statement before it', touch("begin execute 'set a.b to c'; new.at := now(); return new; end"), false, true],
  ['another statement in between', touch("begin new.at := now(); listen x; new.at := now(); return new; end"), false, true],
  ['after the end', touch('begin new.at := now(); return new; listen x; end'), false, true],
  ['an expression', touch("begin new.at := now() + side.act(1) * interval '1s'; return new; end"), false, true],
  ['in a field of it', touch('begin new.at[side.act(1)] := now(); return new; end'), false, true],
  ['a variable', touch('declare a int := side.act(1); begin new.at := now(); return new; end'), false, true],
  ['a comment', touch('begin /* ; */ new.at := now(); return new; end'), false, true],
  ['a stable trigger', touch("begin if new.name is null then raise 'no name'; end if; return new; end", 'stable'), false, false],
  ['a stable trigger that sets something', touch("begin perform set_config('a.b', 'c', false); return new; end", 'stable'), false, true],
  ['a trigger of PostgreSQL', 'create trigger same before update on api.plain for each row execute function suppress_redundant_updates_trigger()', false, false],
  ['a trigger of an extension', `create extension moddatetime schema side; alter table api.plain add at timestamptz;
    create trigger touch before update on api.plain for each row execute function side.moddatetime(at)`, false, false],
  ['a trigger of another extension', `create extension refint schema side;
    create trigger keys before update on api.plain for each row execute function side.check_primary_key('id', 'side.other', 'id')`, false, true],
  ['instead of writes to a view', `${touch(stamp)}; create view api.shown as select * from api.plain; create trigger shown instead of update on api.shown for each row execute function side.touch()`, false, false],
  ['a default', 'alter table api.plain alter name set default side.act(1)::text', true, true],
  ['a default of PostgreSQL', 'alter table api.plain alter name set default random()::text', false, false],
  ['a check', 'alter table api.plain add check (side.act(id) > 0)', true, true],
  ['a foreign key to it', `${child('')}; ${trigger('gone', 'after delete', 'side.child')}`, false, false],
  ['a foreign key that cascades', `${child('on delete cascade')}; ${trigger('gone', 'after delete', 'side.child')}`, false, true],
  ['a foreign key that sets null', `${child('on update set null')}; ${trigger('changed', 'after update', 'side.child')}`, false, true],
  ['a foreign key that cascades to nothing', child('on delete cascade'), false, false],
  ['a foreign key over another', `${child('on delete cascade')}; alter table side.child add unique (id);
    create table side.grandchild (id int references side.child (id) on delete cascade); ${trigger('gone', 'after delete', 'side.grandchild')}`, false, true],
  ['a rule', `create table side.log (id int); ${trigger('made', 'after insert', 'side.log')};
    create rule log as on insert to api.plain do also insert into side.log values (new.id)`, true, true],
] // prettier-ignore

for (const [label, added, insert, write] of writes) {
  t.test(`what writes run: ${label}`, async (t) => {
    const client = new pg.Client({ connectionString: database.adminUri })
    await client.connect()
    t.teardown(() => client.end())
    await client.query(`begin; ${added}`)
    const cache = await loadSchemaCache(
      async (text, values) => (await client.query<Record<string, string>>(text, values)).rows,
      { schemas: ['api'], extraSearchPath: [], hoistedSettings: [] },
    )
    for (const name of ['plain', 'plain_view']) {
      const { insertRunsFunctions, writeRunsFunctions } = cache.tables.get(qualifiedKey('api', name)) ?? {}
      t.strictSame([insertRunsFunctions, writeRunsFunctions], [insert, write], name)
    }
    await client.query('rollback')
  })
}
