import { randomBytes } from 'node:crypto'
import pg from 'pg'
import t from 'tap'
import { exposureTable } from '../../server/tools/command-line/exposure-table.ts'
import { checkExposure, type Checked, type Finding } from '../../server/tools/check/exposure-findings.ts'
import { exposureOf } from '../../server/tools/check/exposure.ts'
import { readCatalogue } from '../../server/tools/check/run-check.ts'
import { createDatabase, withClient, type TestDatabase } from '../support/database.ts'

// Roles belong to the whole cluster, so these need unique names.
const mark = randomBytes(4).toString('hex')
const [login, web, member, staff, owner] = ['login', 'web', 'member', 'staff', 'owner'].map((name) => `${name}_${mark}`)

const fixture = `
  create role ${web} nologin; create role ${member} nologin; create role ${staff} nologin bypassrls;
  create role ${owner} nologin;
  create role ${login} login noinherit password 'secret'; grant ${web}, ${member}, ${staff} to ${login};
  create role stranger_${mark} nologin;
  create schema hidden; create schema api; create schema "Odd ""one""";
  grant usage on schema api to ${web}, ${member}, ${staff}, stranger_${mark};

  create table api.open_table (id int); grant select on api.open_table to ${web};
  create table api.no_policy (id int, note text); alter table api.no_policy enable row level security;
  grant select, delete on api.no_policy to ${web}; grant insert (note) on api.no_policy to ${member};
  grant all on api.no_policy to ${staff}; grant all on api.no_policy to stranger_${mark};
  create table api.sound (id int); alter table api.sound enable row level security;
  grant select, insert, update, delete on api.sound to ${member}; grant select on api.sound to ${web};
  create policy everybody_reads on api.sound for select using (true);
  create policy members_write on api.sound to ${member} using (true) with check (true);
  create table api.narrowed (id int); alter table api.narrowed enable row level security;
  grant select, update on api.narrowed to ${web};
  create policy narrows on api.narrowed as restrictive for select to ${web} using (id > 0);
  create policy reads on api.narrowed for select to public using (true);
  create table api.by_metadata (id int, team text); alter table api.by_metadata enable row level security;
  grant select, insert on api.by_metadata to ${member};
  create function hidden.team() returns text language sql
    return current_setting('request.jwt.claims', true)::json -> 'user_metadata' ->> 'team';
  create policy by_claim on api.by_metadata for select
    using (current_setting('request.jwt.claims', true)::json -> 'user_metadata' ->> 'admin' = 'true');
  create policy by_function on api.by_metadata for insert with check (team = hidden.team());
  create policy by_role on api.by_metadata for select
    using (current_setting('request.jwt.claims', true)::json -> 'app_metadata' ->> 'admin' = 'true');
  create table api.by_column (id int, raw_user_meta_data jsonb); alter table api.by_column enable row level security;
  create policy by_row on api.by_column for insert with check (raw_user_meta_data ? 'admin');
  create table api.owned (id int); alter table api.owned enable row level security; alter table api.owned owner to ${owner};
  grant ${owner} to ${member}; grant select on api.owned to ${web};
  create policy web_reads on api.owned for select to ${web} using (true);
  create table api.forced (id int); alter table api.forced owner to ${owner};
  alter table api.forced enable row level security; alter table api.forced force row level security;
  create table api.parted (id int) partition by list (id); alter table api.parted enable row level security;
  create table api.parted_1 partition of api.parted for values in (1);

  create view api.as_caller with (security_invoker = on) as select * from api.sound;
  create view api.as_owner as select * from api.sound;
  create view api.as_plain_owner with (security_invoker = false) as select 1 as one;
  alter view api.as_plain_owner owner to ${owner};
  create materialized view api.stored as select 1 as one;

  create function api.plain(a int, b text default '') returns int language sql return 1;
  create function api.powerful() returns int language sql security definer return 1;
  create function api.powerful_for_none() returns int language sql security definer return 1;
  revoke execute on function api.powerful_for_none() from public;
  create function api.for_triggers() returns trigger language plpgsql security definer as 'begin return null; end';
  create procedure api.a_procedure() language sql security definer as '';
  create extension citext schema api;

  create table hidden.open_table (id int); grant usage on schema hidden to ${web}; grant all on hidden.open_table to ${web};
  create table "Odd ""one""".closed_schema (id int); grant select on "Odd ""one""".closed_schema to ${web};
`

let database: TestDatabase
let checked: Checked[]

t.before(async () => {
  database = await createDatabase()
  await database.query(fixture)
  checked = await check(['api', 'Odd "one"'])
})

t.teardown(async () => {
  await database.drop()
  const other = await createDatabase()
  await other.query(
    ['login', 'web', 'member', 'staff', 'owner', 'stranger'].map((role) => `drop role ${role}_${mark};`).join(''),
  )
  await other.drop()
})

/** Without the roles of other databases in the cluster. */
const check = (schemas: string[], anonymousRole: string | null = null): Promise<Checked[]> =>
  withClient(database.uri(login ?? '', 'secret'), async (client) => {
    const scope = { schemas, anonymousRole, confirmsAddresses: false }
    const catalogue = await readCatalogue((text, values) => client.query(text, values), scope)
    const roles = catalogue.roles.map((it) => ({ ...it, isReachable: it.isReachable && it.name.endsWith(mark) }))
    return checkExposure(exposureOf({ ...catalogue, roles }))
  })

const find = (name: string): Checked | undefined => checked.find((object) => object.name === name)

t.test('findings', async (t) => {
  const table: [string, Finding[]][] = [
    ['open_table', [{ kind: 'rls-off' }]],
    [
      'no_policy',
      [
        { kind: 'policy-missing', role: member ?? '', commands: ['insert'] },
        { kind: 'policy-missing', role: web ?? '', commands: ['select', 'delete'] },
      ],
    ],
    ['sound', []],
    ['narrowed', [{ kind: 'policy-missing', role: web ?? '', commands: ['update'] }]],
    ['by_metadata', [{ kind: 'user-metadata', policies: ['by_claim', 'by_function'] }]],
    ['by_column', [{ kind: 'user-metadata', policies: ['by_row'] }]],
    // A member has the rights of the owner, who bypasses policies.
    ['owned', []],
    ['forced', [{ kind: 'policy-missing', role: member ?? '', commands: ['select', 'insert', 'update', 'delete'] }]],
    ['parted', []],
    ['parted_1', [{ kind: 'rls-off' }]],
    ['as_caller', []],
    ['as_owner', [{ kind: 'no-security-invoker', owner: 'postgres', ownerBypassesRls: true }]],
    ['as_plain_owner', [{ kind: 'no-security-invoker', owner: owner ?? '', ownerBypassesRls: false }]],
    ['stored', [{ kind: 'no-rls-possible', relation: 'materialized view' }]],
    ['plain', []],
    ['powerful', [{ kind: 'security-definer', owner: 'postgres', callers: [member ?? '', staff ?? '', web ?? ''] }]],
    ['powerful_for_none', [{ kind: 'security-definer', owner: 'postgres', callers: [] }]],
    // The role has no usage privilege on the schema.
    ['closed_schema', [{ kind: 'rls-off' }]],
  ]
  for (const [name, findings] of table) t.strictSame(find(name)?.findings, findings, name)
})

t.test('exposed tables, views and functions are listed', async (t) => {
  t.strictSame(
    checked
      .filter((object) => object.kind !== 'function' || object.extension === null)
      .map(({ name }) => name)
      .sort(),
    [
      ...['as_caller', 'as_owner', 'as_plain_owner', 'by_column', 'by_metadata', 'closed_schema', 'forced', 'narrowed'],
      ...['no_policy', 'open_table'],
      ...['owned', 'parted', 'parted_1', 'plain', 'powerful', 'powerful_for_none', 'sound', 'stored'],
    ],
    'no other schemas, no procedures, no trigger functions',
  )
  const none = { select: null, insert: null, update: null, delete: null }
  const all = { select: 'all', insert: 'all', update: 'all', delete: 'all' }
  t.match(find('no_policy'), {
    kind: 'table',
    schema: 'api',
    rls: true,
    roles: [
      { name: member, bypassesRls: false, grants: { ...none, insert: 'columns' } },
      // The connected role can switch to it through the member, but it has no usage privilege on the schema.
      { name: owner, bypassesRls: false, grants: none },
      { name: staff, bypassesRls: true, grants: all },
      { name: web, bypassesRls: false, grants: { ...none, select: 'all', delete: 'all' } },
    ],
    policies: [],
  })
  t.match(find('closed_schema'), {
    schema: 'Odd "one"',
    roles: [{ grants: none }, { grants: none }, { grants: none }, { grants: none }],
  })
  t.match(find('sound'), {
    policies: [
      { name: 'everybody_reads', command: 'select', permissive: true, roles: [member, owner, staff, web] },
      { name: 'members_write', command: 'all', permissive: true, roles: [member] },
    ],
  })
  t.match(find('plain'), {
    arguments: 'a integer, b text',
    roles: [{ execute: true }, { execute: false }, { execute: true }, { execute: true }],
  })
})

t.test('the role of requests without credentials is included', async (t) => {
  const [table] = (await check(['api'], `stranger_${mark}`)).filter(({ name }) => name === 'no_policy')
  t.strictSame(
    table?.roles.map(({ name }) => name),
    [member, owner, staff, `stranger_${mark}`, web],
  )
})

t.test('an unknown schema is an error', async (t) => {
  await t.rejects(check(['api', 'nowhere']), { code: '3F000', message: 'schema "nowhere" does not exist' })
})

t.test('the check changes nothing', async (t) => {
  const client = new pg.Client(database.uri(login ?? '', 'secret'))
  await client.connect()
  const scope = { schemas: ['api'], anonymousRole: null, confirmsAddresses: false }
  await readCatalogue((text, values) => client.query(text, values), scope)
  const { rows } = await client.query(
    "select current_setting('search_path') as path, pg_current_xact_id_if_assigned() as xact",
  )
  t.match(rows, [{ path: '"$user", public', xact: null }])
  await client.end()
})

t.test('the table for terminals', async (t) => {
  const text = exposureTable(checked).replaceAll(`_${mark}`, '')
  const lines = text.split('\n')
  t.ok(
    exposureTable(checked)
      .split('\n')
      .every((line) => line.length <= 120),
    'fits into 120 columns',
  )
  t.notOk(lines.some((line) => line.endsWith(' ')))
  const narrow = text.replace(/ {2,}/g, '  ')
  const expected = [
    'EXPOSED  KIND  RLS  ROLE  GRANTED  POLICIES',
    'api.open_table  table  off  member  -  -',
    '  ! row-level security is off',
    'api.no_policy  table  on  member  insert*  -',
    '  staff  select insert update delete  bypasses RLS',
    '  ! web has the grant to select, delete, but no policy allows it',
    'api.stored  matview  -',
    '  ! a materialized view has no row-level security: every role with a grant sees all rows',
    '  ! policies on user_metadata, which all users can change themselves (app_metadata is safe): by_claim, by_function',
    '  ! view without security_invoker: it reads with the rights of its owner postgres, which bypasses all policies',
    'api.plain(a integer, b text)  function  -  member  execute  -',
    '  ! security definer function in an exposed schema: it runs with the rights of its owner postgres',
    '* on some columns only',
  ]
  for (const line of expected) t.ok(narrow.includes(line), line)
  t.match(narrow, /narrows \(restrictive,\s+select\)/)
  t.match(narrow, /api: \d+ of the extension citext {2}function {2}- {2}member {2}execute/, 'extensions are summarised')
  t.equal(lines.at(-1), `14 findings (!) in 13 of ${checked.length} exposed objects.`)
})

t.test('names of roles are not broken, and the roles of the server are not listed', (t) => {
  const long = 'a_role_with_a_name_that_is_longer_than_its_column'
  const roles = [long, 'supabase_auth_admin', 'supabase_storage_admin', 'web']
  const grants = { select: 'all', insert: null, update: null, delete: null } as const
  const objects = checked.map((object): Checked =>
    object.kind === 'function'
      ? { ...object, roles: roles.map((name) => ({ name, execute: true })) }
      : { ...object, roles: roles.map((name) => ({ name, bypassesRls: false, grants })) },
  )
  const text = exposureTable(objects)
  t.match(text, long)
  t.notMatch(text, /supabase|_admin/)
  t.ok(text.split('\n').every((line) => line.length <= 120))
  t.end()
})

t.test('hostile names cannot break out of their table cells', async (t) => {
  const name = `x\u001b[2J\u202e\n${'long'.repeat(40)}`
  const text = exposureTable(checked.filter(({ kind }) => kind === 'table').map((table) => ({ ...table, name })))
  t.match(text, 'longlong')
  for (const sign of ['\u001b', '\u202e']) t.notOk(text.includes(sign))
  t.ok(text.split('\n').every((line) => line.length <= 120))
  t.match(exposureTable([]), /Nothing to flag in 0 exposed objects\.$/)
})
