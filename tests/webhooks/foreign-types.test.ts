// Roles that may create types, and so attach code to them, which must not run with the rights of the functions of outgoing calls.
import t from 'tap'
import { createMigratedDatabase, withClient } from '../support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

/** The roles as which functions of `attack` run, that are called while `statements` are executed by anon. */
const rolesOf = (attack: string, statements: readonly string[]): Promise<{ roles: string[]; errors: string[] }> =>
  withClient(database.adminUri, async (client) => {
    const roles = new Set<string>()
    const errors: string[] = []
    client.on('notice', ({ message = '' }) => roles.add(message))
    await client.query('set session authorization authenticator')
    await client.query('set role anon')
    await client.query(attack)
    for (const statement of statements) {
      await client.query(statement).catch((error: Error) => errors.push(error.message))
    }
    return { roles: [...roles], errors }
  })

const tell = `plpgsql as $$ begin raise notice '%', current_user; return true; end $$`
const temporaryTypes = ['text', 'jsonb', 'uuid', 'pg_lsn']
  .map(
    (type) => `
      create function pg_temp.tell_${type}(value pg_catalog.${type}) returns boolean language ${tell};
      create domain pg_temp.${type} as pg_catalog.${type} check (pg_temp.tell_${type}(value));`,
  )
  .join('')

t.test('temporary types named as those of Postgres are not used', async (t) => {
  const attack = `${temporaryTypes}
    create temporary table changed (id int);
    create trigger hook after insert on changed for each row
      execute function supabase_functions.http_request('http://localhost/', 'POST', '{"a":"b"}', '{"c":"d"}', '1000');`
  const { roles, errors } = await rolesOf(attack, [
    `select net.http_post('http://localhost/', '{}', '{"a":"b"}')`,
    `select net.http_get('http://localhost/', '{"a":"b"}')`,
    `select net.http_delete('http://localhost/')`,
    'insert into changed values (1)',
  ])
  t.strictSame(errors, [])
  t.strictSame(roles, [])
})

t.test('casts to json do not run with the rights of the trigger', async (t) => {
  const attack = `
    create type pg_temp.colour as enum ('red');
    create function pg_temp.as_json(pg_temp.colour) returns json language plpgsql
      as $$ begin raise notice '%', current_user; return '1'; end $$;
    create cast (pg_temp.colour as json) with function pg_temp.as_json;
    create type pg_temp.pair as (number int, colours pg_temp.colour[]);
    create domain pg_temp.shade as pg_temp.colour;
    create temporary table direct (value pg_temp.colour);
    create temporary table nested (value pg_temp.pair);
    create temporary table derived (value pg_temp.shade);
    create temporary table harmless (value int);
    ${['direct', 'nested', 'derived', 'harmless']
      .map(
        (name) => `create trigger hook after insert on ${name} for each row
          execute function supabase_functions.http_request('http://localhost/', 'POST');`,
      )
      .join('')}`
  const { roles, errors } = await rolesOf(attack, [
    `insert into direct values ('red')`,
    `insert into nested values ((1, '{red}'))`,
    `insert into derived values ('red')`,
    'insert into harmless values (1)',
  ])
  t.strictSame(roles, [])
  t.equal(errors.length, 3)
  for (const error of errors) t.match(error, /the rows of \S+ cannot be sent: .* by the function pg_temp\S*as_json$/)
})

t.test('casts of the owner and of superusers are used', async (t) => {
  await database.query(`
    create type public.size as enum ('small');
    create function public.size_json(public.size) returns json language sql as $$ select '{"size":"small"}'::json $$;
    create cast (public.size as json) with function public.size_json;
    create table public.shirts (size public.size);
    create trigger hook after insert on public.shirts for each row
      execute function supabase_functions.http_request('http://localhost/', 'POST');
    insert into public.shirts values ('small')`)
  const { rows } = await database.query(`select body::json -> 'record' -> 'size' ->> 'size' as size from rowhouse.calls
    where webhook = 'public.shirts.hook'`)
  t.strictSame(rows, [{ size: 'small' }])
})

t.test('conditions of webhooks do not run casts of the owner of the table', async (t) => {
  const role = `keeper_${database.name}`
  await database.query(`
    create role ${role};
    create schema shop authorization ${role};
    set role ${role};
    create table shop.orders (total int);
    reset role;
    create trigger hook after insert on shop.orders referencing new table as changed_rows
      execute function rowhouse.webhook('http://localhost/', '{"when": "new.total > 100"}');
    set role ${role};
    create type shop.evil as (number int);
    create function shop.number(shop.evil) returns int language sql
      as $$ select case when pg_catalog.current_setting('is_superuser') = 'on' and current_user = '${role}' then 1 else 1000 end $$;
    create cast (shop.evil as int) with function shop.number as implicit;
    alter table shop.orders alter total type shop.evil using row(total)::shop.evil;`)
  t.teardown(() => database.query(`drop owned by ${role} cascade; drop role ${role}`))
  await t.rejects(database.query(`set role ${role}; insert into shop.orders values (row(1)); reset role`), {
    message: /^the rows of shop\.orders cannot be sent/,
  })
})
