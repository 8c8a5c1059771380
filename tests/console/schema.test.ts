// What the console shows of a schema, read as the role that serves.
import pg from 'pg'
import t from 'tap'
import { readRelation, readSchema, type SchemaSource } from '../../server/services/console/schema.ts'
import { signInToConsole, startConsoleServer } from '../support/console.ts'
import { withClient } from '../support/database.ts'
import { loadFrom } from '../support/schema-cache.ts'

const schema = `
  create schema shop;
  create type shop.mood as enum ('sad', '<b>happy</b>');
  create domain shop.email as text check (value like '%@%');
  create table shop.teams (id bigint generated always as identity primary key, name text not null unique);
  create table shop.people (
    id uuid primary key default gen_random_uuid(),
    team_id bigint references shop.teams,
    mood shop.mood,
    moods shop.mood[],
    email shop.email,
    code character varying(20) default 'x',
    settings jsonb,
    twice text generated always as (code || code) stored
  );
  comment on table shop.people is 'Who works <i>here</i>';
  comment on column shop.people.code is 'A code';
  alter table shop.people enable row level security;
  create policy own on shop.people for select to authenticated using (id = (select auth.uid()));
  create policy anyone on shop.people as restrictive for insert with check (code <> '');
  grant usage on schema shop to anon, authenticated;
  grant select, insert on shop.people to authenticated;
  grant select (id, code) on shop.people to anon;
  create view shop.happy with (security_invoker) as select id, code from shop.people where mood = '<b>happy</b>';
  create table shop.events (at date not null, note text) partition by range (at);
  create table shop.events_2026 partition of shop.events for values from ('2026-01-01') to ('2027-01-01');
  insert into shop.events select '2026-05-01', 'x' from generate_series(1, 20);
  analyze shop.events_2026;
  create function shop.greet(name text, times integer default 1) returns setof text language sql stable as $$ select $1 $$;
`
const server = await startConsoleServer(t, { PGRST_DB_SCHEMAS: 'shop' }, schema)
const { database } = server
const exposed = ['shop']
const cache = await loadFrom(database, { schemas: exposed, extraSearchPath: ['public'] })

const reading = <T>(use: (source: SchemaSource) => Promise<T>): Promise<T> =>
  withClient(database.authenticatorUri, async (client: pg.Client) => {
    await client.query('begin read only')
    return use({
      query: async (text, values) => (await client.query<Record<string, unknown>>(text, values)).rows,
      cache,
      exposed,
    })
  })

t.test('the list has relations, functions, roles and privileges', async (t) => {
  const listed = await reading((source) => readSchema(source))
  t.strictSame(
    listed.relations.map(({ name, kind, hasRls, policyCount }) => [name, kind, hasRls, policyCount]),
    [
      ['events', 'partitioned table', false, 0],
      ['happy', 'view', false, 0],
      ['people', 'table', true, 2],
      ['teams', 'table', false, 0],
    ],
  )
  const [events, happy, people] = listed.relations
  t.equal(events?.rows, 20, 'the rows of partitions are added')
  t.equal(happy?.rows, null)
  t.equal(people?.comment, 'Who works <i>here</i>')
  t.strictSame(people?.access, { anon: 's', authenticated: 'SI' })
  t.strictSame(people?.columns.slice(0, 4), [
    ['id', 'uuid'],
    ['team_id', 'bigint'],
    ['mood', 'shop.mood'],
    ['moods', 'shop.mood[]'],
  ])
  t.ok(listed.schemas.includes('public') && listed.schemas.includes('shop'))
  t.notOk(listed.schemas.includes('pg_catalog'))
  t.equal(listed.roles.find(({ name }) => name === 'service_role')?.bypassesRls, true)
  t.equal(listed.roles.find(({ name }) => name === 'anon')?.bypassesRls, false)
  t.strictSame(listed.routines, [
    {
      schema: 'shop',
      name: 'greet',
      comment: null,
      volatility: 'stable',
      parameters: [
        { name: 'name', type: 'text', isRequired: true, isVariadic: false },
        { name: 'times', type: 'integer', isRequired: false, isVariadic: false },
      ],
      returns: { type: 'text', isSet: true },
    },
  ])
  t.equal(listed.isCut, false)
})

t.test('other schemas are listed when they are asked for', async (t) => {
  const { relations, routines } = await reading((source) => readSchema(source, ['auth']))
  t.ok(relations.some(({ name }) => name === 'users'))
  t.strictSame(routines, [])
})

t.test('one relation has its columns, keys, links and policies', async (t) => {
  const people = await reading((source) => readRelation(source, 'shop', 'people'))
  if (!people) throw new Error('it is missing')
  t.match(people, { isExposed: true, isInsertable: true, isUpdatable: true, isDeletable: true, isVersioned: false })
  t.strictSame(people.primaryKey, ['id'])
  const columns = Object.fromEntries(people.columns.map((column) => [column.name, column]))
  t.match(columns.mood, { baseType: 'mood', category: 'E', isArray: false, enumValues: ['sad', '<b>happy</b>'] })
  t.match(columns.moods, { baseType: 'mood', isArray: true, enumValues: ['sad', '<b>happy</b>'] })
  t.match(columns.email, { type: 'shop.email', baseType: 'text' })
  t.match(columns.code, { type: 'character varying(20)', default: "'x'::character varying", comment: 'A code' })
  t.match(columns.code?.access, { anon: 'S', authenticated: 'SI' })
  t.match(columns.twice, { default: null, generated: /code/ })
  t.match(people.policies, [
    { name: 'anyone', command: 'INSERT', isPermissive: false, roles: ['public'], using: null },
    { name: 'own', command: 'SELECT', isPermissive: true, roles: ['authenticated'], using: /auth\.uid\(\)/ },
  ])
  t.match(people.links, [{ direction: 'to', schema: 'shop', name: 'teams', columns: [['team_id', 'id']] }])
  const teams = await reading((source) => readRelation(source, 'shop', 'teams'))
  t.match(teams, { isVersioned: true, columns: [{ identity: 'always' }, {}] })
  t.match(
    teams?.links.map(({ direction, name }) => [direction, name]),
    [['from', 'people']],
  )
})

t.test('relations that are not exposed, and those that do not exist', async (t) => {
  const users = await reading((source) => readRelation(source, 'auth', 'users'))
  t.match(users, { isExposed: false, isInsertable: false, primaryKey: [], links: [] })
  t.equal(await reading((source) => readRelation(source, 'shop', 'nothing')), undefined)
  t.equal(await reading((source) => readRelation(source, "x'; drop table shop.people; --", 'people')), undefined)
})

t.test('2,000 tables are listed quickly, and no more than 3,000', { timeout: 300_000 }, async (t) => {
  await database.query(`create schema wide; do $$ begin
    for i in 1..2000 loop
      execute format('create table wide.t%s (id int, a text, b text, c text, d date, e date, f int, g int, h int, i int)', i);
    end loop; end $$`)
  const start = performance.now()
  const { relations } = await reading((source) => readSchema(source, ['wide']))
  t.equal(relations.length, 2000)
  t.comment(`${Math.round(performance.now() - start)} ms, ${JSON.stringify(relations).length} bytes`)
  t.ok(performance.now() - start < 20_000)
})

t.test('the routes need a session', async (t) => {
  const { call } = await signInToConsole(server)
  const { status, body } = await call('GET', 'schema')
  t.equal(status, 200)
  t.match(body.details, { exposed: ['shop'], relations: [{ name: 'events' }, {}, {}, {}] })
  t.match((await call('GET', 'schema?schemas=auth,nothing')).body.details, { exposed: ['shop'], routines: [] })
  t.match((await call('GET', 'schema/relation?schema=shop&name=people')).body.details, { name: 'people' })
  t.match(await call('GET', 'schema/relation?schema=shop&name=nobody'), { status: 404 })
  t.match(await call('GET', 'schema/relation?schema=shop'), { status: 400 })
  t.match(await call('GET', 'schema?other=1'), { status: 400 })
  for (const path of ['schema', 'schema/relation?schema=shop&name=people', 'types']) {
    t.equal((await fetch(`${server.url}/console/api/${path}`)).status, 401)
    t.equal((await call('GET', path, undefined, { 'X-Console-Token': 'wrong' })).status, 403, path)
  }
})

t.test('the types are those of the command line', async (t) => {
  const { call } = await signInToConsole(server)
  const { status, body } = await call('GET', 'types')
  t.equal(status, 200)
  const { types } = body.details as { readonly types: string }
  t.match(types, /export type Database = \{[^]* {2}shop: \{[^]*people: \{\n {8}Row: \{/)
  t.match(await call('GET', 'types?schemas=nothing'), { status: 404 })
})
