// A database with columns of many types, and the API on it.
import type { Test } from 'tap'
import { fetchHandler } from '../../server/adapters/fetch.ts'
import { createRest, type RestOptions } from '../../server/index.ts'
import { connect } from '../../server/postgres/index.ts'
import { createDatabase, type TestDatabase } from './database.ts'
import type { Ask } from './page-walk.ts'

type Closing = Pick<Test, 'teardown'>

export type PagedDatabase = TestDatabase & { readonly role: string }

/** Creates the tables of the tests of pages: 40 rows with nulls, ties and extreme values. */
export async function createPagedDatabase(t: Closing): Promise<PagedDatabase> {
  const database = await createDatabase()
  t.teardown(() => database.drop())
  const role = `pages_${database.name}`
  await database.query(`
    create role ${role} nologin;
    grant ${role} to current_user;
    create collation anycase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    create type kind as enum ('small', 'Large', 'medium');
    create type spot as (x int, y text);
    create table clients (id int primary key, name text);
    insert into clients values (1, 'ann'), (2, null), (3, 'zoe'), (4, 'ann');
    create table items (
      id bigint primary key, name text, title text collate anycase, code char(3), score float8, ratio real, at timestamptz, day date,
      length interval, amount numeric, kind kind, raw bytea, data jsonb, tags text[], spot spot, uid uuid, flag boolean not null,
      span int4range, about regclass, client_id int references clients
    );
    create function label(items) returns text stable language sql as $$ select nullif(upper($1.name), 'N3') $$;
    insert into items
    select n,
      (array['a', 'A', E'\\t"%,&;=()\\\\', 'ü 😀', '', null, 'n3', 'a'])[n % 8 + 1],
      (array['x', 'X', 'y', null])[n % 4 + 1],
      (array['b', 'bc', null])[n % 3 + 1],
      (array['NaN'::float8, 'Infinity', '-Infinity', 0.1::float8 + 0.2::float8, 1e-300, -0.0, 0, null, 0.3])[n % 9 + 1],
      (array[0.1::real, 16777217, 'NaN', null])[n % 4 + 1],
      case when n % 6 > 0 then timestamptz '2026-01-01 00:00:00.000001+00' + (n % 5) * interval '1 microsecond' end,
      (array[date 'infinity', '-infinity', '0044-03-15 BC', '2026-01-01', null])[n % 5 + 1],
      (array[interval '1 mon', '30 days', '-1 sec', null])[n % 4 + 1],
      (array[1.0, 1.00, 12345678901234567890.123456789, 'NaN', null])[n % 5 + 1],
      (array['small', 'Large', 'medium', null])[n % 4 + 1]::kind,
      (array['\\x00ff', '\\x', '\\x22', null])[n % 4 + 1]::bytea,
      (array['{"a":1,"b":"x"}', '{"a":"1","b":null}', '[1]', '"s"', 'null', null, '{"a":[2]}'])[n % 7 + 1]::jsonb,
      (array['{}', '{a,"b,c"}', '{NULL,"\\""}', '{NULL}', null])[n % 5 + 1]::text[],
      (array['(1,a)', '(1,)', '(,"x,y")', null])[n % 4 + 1]::spot,
      case when n % 3 > 0 then md5((n % 6)::text)::uuid end,
      n % 2 = 0,
      (array['[1,5)', 'empty', '(,3)', null])[n % 4 + 1]::int4range,
      (array['clients', 'items', null])[n % 3 + 1]::regclass,
      n % 5
    from generate_series(1, 40) n where n % 5 <> 0
    union all select n, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, false, null, null, null
    from generate_series(100, 104) n;
    create index on items (name, id);
    create table pairs (b int, a int, note text, primary key (a, b));
    insert into pairs select n % 4, n / 4, 'p' from generate_series(1, 11) n;
    create table accounts (email text not null unique, nick text unique, age int);
    insert into accounts select 'e' || n, nullif('n' || n, 'n3'), n % 2 from generate_series(1, 7) n;
    create table bare (n int, m int);
    insert into bare select n / 3, n from generate_series(1, 9) n;
    create table cursors (id int primary key, cursor text);
    insert into cursors select n, 'c' || n from generate_series(1, 5) n;
    create view names as select id, name, client_id from items;
    create view repeated as select c.id, i.id as item from clients c join items i on i.client_id = c.id;
    create view only_client as select c.id from clients c join items i on i.client_id = c.id;
    create function from_id(minimum int) returns setof items stable language sql as $$ select * from items where id >= minimum $$;
    create function outline(minimum int) returns table (n int, twice int) stable language sql
      as $$ select g, 2 * g from generate_series(minimum, 9) g $$;
    create function risky() returns setof items volatile language sql as $$ select * from items $$;
    create function numbers() returns setof int stable language sql as $$ select generate_series(1, 9) $$;
    create function single() returns items stable language sql as $$ select * from items limit 1 $$;
    create function from_cursor(cursor text) returns setof clients stable language sql
      as $$ select id, cursor from clients $$;
    create function echo(cursor text) returns text immutable language sql as $$ select cursor $$;
    grant all on all tables in schema public to ${role}`)
  t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))
  return { ...database, role }
}

/** The API on a database. `X-User` is the claim `sub`, `X-Role` another role. */
export async function startPaged(
  t: Closing,
  { adminUri, role }: Pick<PagedDatabase, 'adminUri' | 'role'>,
  settings: RestOptions['settings'] = {},
  more: Partial<RestOptions> = {},
): Promise<Ask> {
  const database = connect(adminUri, { dbPool: 2 })
  const rest = await createRest({
    database,
    schemas: ['public'],
    identify: (request) => ({
      role: request.header('x-role') ?? role,
      claims: { sub: request.header('x-user') ?? '' },
    }),
    settings: { dbAggregatesEnabled: true, ...settings },
    cursorSecrets: ['a secret of cursors in tests, 32 or more'],
    onSchema: () => undefined,
    ...more,
  })
  t.teardown(async () => {
    await rest.close()
    await database.close()
  })
  const handle = fetchHandler(rest)
  return (path, headers = {}, method = 'GET') => handle(new Request(`http://localhost${path}`, { headers, method }))
}
