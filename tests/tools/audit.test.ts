// The audit of tables: what is recorded, for whom, and that nothing else can read or change the record.
import pg from 'pg'
import t, { type Test } from 'tap'
import { disablingSql, enablingSql } from '../../server/tools/audit/audit.ts'
import {
  auditStatus,
  findTables,
  isSetUp,
  partitionStatus,
  recordStatus,
} from '../../server/tools/audit/audit-tables.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const query = (text: string, values?: unknown[]) => database.query(text, values)

type Change = Readonly<Record<string, unknown>>

/** The recorded changes, which are then forgotten. */
async function changes(columns = 'command, old_row, new_row'): Promise<readonly Change[]> {
  return withClient(database.adminUri, async (client) => {
    const { rows } = await client.query<Change>(`select ${columns} from rowhouse_audit.changes order by id`)
    // Only a superuser who disables the triggers can do this.
    await client.query(`
      begin; alter table rowhouse_audit.changes disable trigger all;
      delete from rowhouse_audit.changes;
      alter table rowhouse_audit.changes enable always trigger refuse_change, enable always trigger refuse_truncate; commit`)
    return rows
  })
}

async function enable(...names: string[]): Promise<string> {
  const tables = (await Promise.all(names.map((name) => findTables(query, name)))).flat()
  const sql = await enablingSql(tables, await isSetUp(query))
  await query(sql)
  return sql
}

/** Runs statements as a request does. */
const asRequest = (claims: object, headers: object, sql: string): Promise<unknown> =>
  withClient(database.authenticatorUri, async (client) => {
    const { role = 'anon' } = claims as { role?: string }
    await client.query('begin')
    await client.query(
      `select set_config('role', $1, true), set_config('request.jwt.claims', $2, true), set_config('request.headers', $3, true)`,
      [role, JSON.stringify(claims), JSON.stringify(headers)],
    )
    try {
      const result = await client.query(sql)
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback')
      throw error
    }
  })

await query(`
  create table public.tasks (
    id integer primary key, title text, done boolean default false, upper_title text generated always as (upper(title)) stored,
    doubled integer ${database.majorVersion >= 18 ? 'generated always as (id * 2) virtual' : ''}
  );
  grant all on public.tasks to authenticated, service_role;
`)

t.test('each command is recorded with the rows before and after', async (t) => {
  t.equal(await isSetUp(query), false)
  const first = await enable('public.tasks')
  t.match(first, /create table if not exists rowhouse_audit\.changes/)
  const second = await enable('public.tasks')
  t.notMatch(second, /create table/, 'the record is created once')
  t.strictSame(await changes(), [])
  const row = (id: number, title: string, done = false): object => ({
    id,
    title,
    done,
    upper_title: title.toUpperCase(),
    // Triggers do not see values that are computed when they are read.
    doubled: null,
  })
  const [a, b, c] = [row(1, 'a'), row(2, 'b'), row(2, 'c')]
  const table: [sql: string, expected: readonly Change[]][] = [
    [
      "insert into tasks values (1, 'a'), (2, 'b')",
      [
        { command: 'INSERT', old_row: null, new_row: a },
        { command: 'INSERT', old_row: null, new_row: b },
      ],
    ],
    ["insert into tasks values (1, 'x') on conflict do nothing", []],
    [
      "insert into tasks values (2, 'x') on conflict (id) do update set title = 'c'",
      [{ command: 'UPDATE', old_row: b, new_row: c }],
    ],
    ['update tasks set done = true where false', []],
    [
      // The keys change, so they cannot tell which rows belong together.
      'update tasks set id = 10 - id',
      [
        { command: 'UPDATE', old_row: a, new_row: row(9, 'a') },
        { command: 'UPDATE', old_row: c, new_row: row(8, 'c') },
      ],
    ],
    [
      'with gone as (delete from tasks where id = 9 returning *) insert into tasks select 5, title from gone',
      [
        { command: 'INSERT', old_row: null, new_row: row(5, 'a') },
        { command: 'DELETE', old_row: row(9, 'a'), new_row: null },
      ],
    ],
    [
      "merge into tasks using (values (8), (10)) as given (id) on tasks.id = given.id when matched then delete when not matched then insert (id, title) values (given.id, 'm')",
      [
        { command: 'INSERT', old_row: null, new_row: row(10, 'm') },
        { command: 'DELETE', old_row: row(8, 'c'), new_row: null },
      ],
    ],
    ['truncate tasks', [{ command: 'TRUNCATE', old_row: null, new_row: null }]],
    // A statement that fails leaves nothing.
    ['do $$ begin insert into tasks values (1); raise exception $x$no$x$; exception when others then end $$', []],
  ]
  // The parts of one statement are in an order of their own.
  const ordered = (found: readonly Change[]): readonly Change[] =>
    [...found].sort((one, other) => String(other.command).localeCompare(String(one.command)))
  for (const [sql, expected] of table) {
    await query(sql)
    const found = await changes()
    t.strictSame(sql.startsWith('with') || sql.startsWith('merge') ? ordered(found) : found, expected, sql)
  }
})

t.test('who made the change', async (t) => {
  await query(`create or replace function public.for_all() returns void language sql security definer as $$ insert into public.tasks values (7) $$;
    create or replace function public.forged() returns void language sql as $$
      select set_config('request.jwt.claims', '{"sub":"another"}', true), set_config('rowhouse_audit.effective_role', 'another', true);
      insert into public.tasks values (8) $$`)
  const who = 'acting_role, effective_role, login_role, user_id, email, api_key, request_id'
  const anna = { role: 'authenticated', sub: 'u1', email: 'anna@example.org' }
  const record = (fields: object): object => ({
    acting_role: 'authenticated',
    effective_role: 'authenticated',
    login_role: 'authenticator',
    user_id: 'u1',
    email: 'anna@example.org',
    api_key: null,
    request_id: null,
    ...fields,
  })
  const key = `sb_secret_${'Ab-_'.repeat(13)}`
  const table: [name: string, claims: object, headers: object, sql: string, expected: object][] = [
    ['a user', anna, { 'x-request-id': 'req-1.a:b' }, 'insert into tasks values (1)', record({ request_id: 'req-1.a:b' })],
    [
      'an API key',
      { role: 'service_role' },
      { apikey: key },
      'insert into tasks values (2)',
      record({ acting_role: 'service_role', effective_role: 'service_role', user_id: null, email: null, api_key: 'sb_secret_Ab-_' }),
    ],
    ['a key as bearer', anna, { authorization: `Bearer ${key}` }, 'insert into tasks values (3)', record({ api_key: 'sb_secret_Ab-_' })],
    ['an id that the log does not accept', anna, { 'x-request-id': 'a b\n' }, 'insert into tasks values (4)', record({})],
    ['a security definer function', anna, {}, 'select for_all()', record({ effective_role: 'postgres' })],
    // SQL that an owner has written can change the claims, but neither of the roles.
    ['changed claims', anna, {}, 'select forged()', record({ user_id: 'another', email: null })],
    ['claims of another kind', anna, {}, `select set_config('request.jwt.claims', '[1]', true); insert into tasks values (9)`, record({ user_id: null, email: null })],
  ] // prettier-ignore
  for (const [name, claims, headers, sql, expected] of table) {
    await asRequest(claims, headers, sql)
    t.strictSame(await changes(who), [expected], name)
  }
  await query('insert into tasks values (10)')
  t.match(await changes(who), [
    { acting_role: null, effective_role: 'postgres', login_role: 'postgres', user_id: null },
  ])
  await asRequest(anna, {}, 'insert into tasks values (11); insert into tasks values (12)')
  const both = await changes('transaction_id')
  t.equal(both[0]?.transaction_id, both[1]?.transaction_id)
  await query('delete from tasks')
  await changes()
})

t.test('the record is closed to all but its reader, and only grows', async (t) => {
  await query('insert into tasks values (1)')
  const statements = [
    'select * from rowhouse_audit.changes',
    'select * from rowhouse_audit.changes_default',
    'insert into rowhouse_audit.changes default values',
    'update rowhouse_audit.changes set user_id = null',
    'delete from rowhouse_audit.changes',
    'truncate rowhouse_audit.changes',
    'select rowhouse_audit.create_partitions(1)',
    'select rowhouse_audit.record_row()',
  ]
  for (const role of ['anon', 'authenticated', 'service_role']) {
    for (const sql of statements) await t.rejects(asRequest({ role }, {}, sql), { code: '42501' }, `${role}: ${sql}`)
  }
  await query(`create role audit_reader_${database.name} login password 'x' in role rowhouse_audit_reader`)
  t.teardown(() => query(`drop role audit_reader_${database.name}`))
  await withClient(database.uri(`audit_reader_${database.name}`, 'x'), async (reader) => {
    t.match((await reader.query('select command from rowhouse_audit.changes')).rows, [{ command: 'INSERT' }])
    for (const sql of statements.slice(1)) await t.rejects(reader.query(sql), { code: '42501' }, `reader: ${sql}`)
  })
  const { rows } = await query(`select tableoid::regclass::text as partition from rowhouse_audit.changes`)
  const partition = String(rows[0]?.partition)
  t.match(partition, /^rowhouse_audit\.changes_\d{4}_\d{2}$/)
  // Neither the owner nor a superuser changes it by mistake.
  for (const name of ['rowhouse_audit.changes', partition]) {
    for (const sql of [`update ${name} set user_id = null`, `delete from ${name}`, `truncate ${name}`]) {
      await t.rejects(query(sql), { message: 'The record of changes can only be added to' }, sql)
      await t.rejects(query(`set session_replication_role = replica; ${sql}`), { code: '42501' }, 'without triggers')
    }
  }
  await query('reset session_replication_role')
  await changes()
})

t.test('attempts to pass unrecorded, or to run code with its rights', async (t) => {
  await withClient(database.adminUri, async (client) => {
    await client.query(
      "set session_replication_role = replica; insert into tasks values (50); copy tasks (id) from program 'echo 51'",
    )
    t.equal((await changes()).length, 2, 'triggers cannot be suppressed')
    // Objects with the names that the functions use, in schemas that are searched first.
    await client.query(`
      reset session_replication_role;
      create schema trap; create function trap.current_setting(text, boolean) returns text language sql as $$ select 'trap' $$;
      create function trap.to_jsonb(anyelement) returns jsonb language sql as $$ select '"trap"'::jsonb $$;
      create function trap.get(jsonb, text) returns text language sql as $$ select 'trap' $$;
      create operator trap.->> (leftarg = jsonb, rightarg = text, function = trap.get);
      create temp table new_rows (id integer); create table trap.changes (id integer);
      set search_path = trap, rowhouse_audit, public, pg_catalog; insert into public.tasks values (52)`)
    t.match(await changes('user_id, new_row'), [{ user_id: null, new_row: { id: 52 } }])
    // A column and a table whose names need quotes, or are those of variables.
    await client.query(`
      reset search_path; create table public."new_row""; drop" ("claims" text, "old_row" int, "tg_op" text, hint text, role text);`)
  })
  await enable('public."new_row""; drop"')
  await query(`insert into public."new_row""; drop" values ('a', 1, 'b', 'c', 'd')`)
  await query(`update public."new_row""; drop" set role = 'e'`)
  t.strictSame(await changes('table_name, new_row'), [
    { table_name: 'new_row"; drop', new_row: { claims: 'a', old_row: 1, tg_op: 'b', hint: 'c', role: 'd' } },
    { table_name: 'new_row"; drop', new_row: { claims: 'a', old_row: 1, tg_op: 'b', hint: 'c', role: 'e' } },
  ])
  await query('alter table tasks rename column title to heading; alter table tasks rename to jobs')
  await query("insert into jobs (id, heading) values (60, 'x')")
  t.match(await changes('table_name, table_id, new_row'), [{ table_name: 'jobs', new_row: { heading: 'x' } }])
  await query('alter table jobs rename column heading to title; alter table jobs rename to tasks')
  await query("insert into tasks values (70, repeat('x', 10000000))")
  t.equal((await changes("length(new_row ->> 'title') as length"))[0]?.length, 10_000_000, 'a large row')
})

t.test('partitions and heirs', async (t) => {
  await query(`
    create table public.events (day date not null, n integer) partition by range (day);
    create table public.events_2026 partition of public.events for values from ('2026-01-01') to ('2027-01-01');
    create table public.animals (name text); create table public.cats (lives integer) inherits (public.animals)`)
  await enable('events', 'animals')
  await query(
    "create table public.events_2027 partition of public.events for values from ('2027-01-01') to ('2028-01-01')",
  )
  const table: [sql: string, expected: readonly string[]][] = [
    ["insert into events values ('2026-01-01', 1)", ['INSERT events_2026']],
    ["insert into events_2027 values ('2027-01-01', 2)", ['INSERT events_2027']],
    ["update events set day = '2027-05-05' where n = 1", ['DELETE events_2026', 'INSERT events_2027']],
    ["insert into cats values ('Tom', 9)", ['INSERT cats']],
    ["update animals set name = 'Tim'", ['UPDATE cats']],
    ['truncate events', ['TRUNCATE events']],
  ]
  for (const [sql, expected] of table) {
    await query(sql)
    const found = await changes(`command || ' ' || table_name as change`)
    t.strictSame(found.map(({ change }) => change), expected, sql) // prettier-ignore
  }
  await query('create table public.dogs (age integer) inherits (public.animals)')
  t.match(await auditStatus(query), [
    { table: 'public.animals', problems: [] },
    { table: 'public.cats', problems: [] },
    { table: 'public.dogs', problems: ['inherits from an audited table, but is not audited itself'] },
    { table: 'public.events', problems: [] },
  ])
})

t.test('status, maintenance and the end', async (t) => {
  await query(
    'alter table tasks disable trigger rowhouse_audit_2_insert; alter table tasks enable trigger rowhouse_audit_2_update; drop trigger rowhouse_audit_1_role on tasks',
  )
  const status = await auditStatus(query)
  t.strictSame(status.find(({ table }) => table === 'public.tasks')?.problems, [
    'the trigger rowhouse_audit_1_role is missing',
    'the trigger rowhouse_audit_2_insert is disabled',
    'the trigger rowhouse_audit_2_update can be suppressed by session_replication_role',
  ])
  await query(`
    drop trigger rowhouse_audit_2_delete on tasks;
    create trigger rowhouse_audit_2_delete after delete on tasks for each row when (old.id < 0) execute function rowhouse_audit.record_row();
    alter table tasks enable always trigger rowhouse_audit_2_delete`)
  t.match((await auditStatus(query)).find(({ table }) => table === 'public.tasks')?.problems, [
    /./,
    /./,
    /./,
    'the trigger rowhouse_audit_2_delete has been replaced by another one',
  ])
  t.strictSame(await recordStatus(query), [])
  await withClient(database.adminUri, async (client) => {
    await client.query(`
      begin;
      alter table rowhouse_audit.changes_default disable trigger refuse_change, no force row level security;
      drop trigger refuse_truncate on rowhouse_audit.changes;
      create policy more on rowhouse_audit.changes for select to anon using (true);
      grant select on rowhouse_audit.changes to anon;
      alter function rowhouse_audit.record_row() security invoker`)
    t.strictSame(await recordStatus((text) => client.query(text)), [
      { table: 'rowhouse_audit.changes', problems: ['anon has the privilege SELECT', 'the trigger refuse_truncate is missing', 'there is another policy, more'] },
      { table: 'rowhouse_audit.changes_default', problems: ['row level security is not enabled and forced', 'the trigger refuse_change is disabled'] },
      { table: 'rowhouse_audit.record_row', problems: ['is not a function with the rights of rowhouse_audit_writer'] },
    ]) // prettier-ignore
    await client.query('rollback')
  })
  t.strictSame(await partitionStatus(query), { monthsAhead: 13, hasDefaultRows: false })
  const { rows } = await query('select rowhouse_audit.create_partitions(14) as name')
  t.equal(rows.length, 2)
  t.equal((await partitionStatus(query)).monthsAhead, 15)
  const names = ['tasks', 'events', 'animals']
  await query(disablingSql((await Promise.all(names.map((name) => findTables(query, `public.${name}`)))).flat()))
  await query("insert into tasks values (99); insert into cats values ('Tom')")
  t.strictSame(await changes(), [])
})

async function refused(t: Test, name: string, message: RegExp): Promise<void> {
  await t.rejects(findTables(query, name), { name: 'AuditError', message }, name)
}

t.test('what cannot be audited', async (t) => {
  await query('create view public.shown as select 1 as a; create materialized view public.kept as select 1 as a')
  await refused(t, 'nowhere', /^There is no table nowhere\.$/)
  await refused(t, 'a.b.c.d', /is not the name of a table: improper relation name/)
  await refused(t, "tasks'; drop table tasks", /^There is no table tasks'; drop/)
  await refused(t, 'a b', /is not the name of a table|There is no table/)
  await refused(t, 'shown', /a view: audit the tables that it shows/)
  await refused(t, 'kept', /a materialized view/)
  await refused(t, 'pg_catalog.pg_class', /cannot be audited/)
  await refused(t, 'rowhouse_audit.changes', /cannot be audited/)
  await refused(t, 'events_2026', /a partition: audit the whole table, (?:public\.)?events/)
})

t.test('a role that owns the schema but is no superuser can set it up', async (t) => {
  const other = await createMigratedDatabase()
  t.teardown(() => other.drop())
  const role = `owner_${database.name}`
  // As a role has them that creates the two roles itself.
  await other.query(`create role ${role} login createrole password 'x'; grant create on database ${other.name} to ${role};
    grant rowhouse_audit_reader, rowhouse_audit_writer to ${role} with admin true, inherit false, set false;
    grant create on schema public to ${role}`)
  const client = new pg.Client({ connectionString: other.uri(role, 'x') })
  await client.connect()
  await client.query('create table public.mine (id integer)')
  await client.query(await enablingSql([{ schema: 'public', name: 'mine', level: 'statement' }], false))
  await client.query('insert into mine values (1)')
  t.strictSame((await client.query('select * from rowhouse_audit.changes')).rows, [], 'the owner does not read it')
  t.match((await other.query('select login_role from rowhouse_audit.changes')).rows, [{ login_role: role }])
  await client.end()
  await other.query(`drop owned by ${role} cascade; drop role ${role}`)
})
