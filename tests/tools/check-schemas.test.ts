// `rowhouse check` on whole databases: the program's own, one with tenants, a plain one, a large table.
import pg from 'pg'
import t, { type Test } from 'tap'
import {
  runCheck,
  type CheckOptions,
  type CheckResult,
  type CheckSettings,
} from '../../server/tools/check/run-check.ts'
import { describeUnseen } from '../../server/tools/check/unseen.ts'
import { objectName } from '../../server/tools/check/finding.ts'
import { splinterLints } from '../../server/tools/check/lint-facts.ts'
import { createDatabase, createMigratedDatabase, withClient, type TestDatabase } from '../support/database.ts'
import { createTenantsDatabase } from '../support/tenants.ts'

const settings: CheckSettings = {
  dbSchemas: ['public'],
  dbExtraSearchPath: ['public'],
  dbAnonRole: 'anon',
  services: ['rest', 'auth', 'storage', 'profiles', 'reports', 'analysis'],
}

const check = (uri: string, given: Partial<CheckSettings & CheckOptions> = {}): Promise<CheckResult> =>
  withClient(uri, async (client) => {
    // The check must not write anything.
    await client.query('set default_transaction_read_only = on')
    const query = (text: string, values?: unknown[]): Promise<pg.QueryResult<Record<string, unknown>>> =>
      client.query(text, values)
    const result = await runCheck(query, { ...settings, ...given }, { measure: given.measure ?? true })
    const { rows } =
      await client.query(`select current_user::text = session_user::text as same, current_setting('search_path') as path,
      current_setting('statement_timeout') as timeout, txid_current_if_assigned() as id`)
    t.match(rows, [{ same: true, path: '"$user", public', timeout: '0', id: null }], 'nothing has changed')
    return result
  })

const real = ({ findings }: CheckResult): string[] =>
  findings
    .filter(({ dismissed }) => dismissed === null)
    .map(({ code, object, reason }) => `${code} ${objectName(object)}: ${reason}`)

const disposing = <T extends TestDatabase>(t: Test, database: T): T => {
  t.teardown(() => database.drop())
  return database
}

t.test('no false alarm on the schema of the program', async (t) => {
  const database = disposing(t, await createMigratedDatabase())
  t.strictSame(real(await check(database.authenticatorUri)), [])
  t.strictSame(real(await check(database.adminUri)), [], 'as a superuser')
})

t.test('no false alarm on a sound schema with tenants', async (t) => {
  const database = disposing(t, await createTenantsDatabase())
  t.strictSame(real(await check(database.authenticatorUri)), [])
  // What is worse than it was is found.
  const worse: [string, RegExp][] = [
    [
      `alter policy members_update on public.labels with check (true); grant update (organisation_id) on public.labels to authenticated`,
      /^policy_column_writable public\.labels:/,
    ],
    [
      `alter policy members_delete on public.task_labels using (task_id in (select tasks.id from public.tasks))`,
      /^write_policy_looser_than_read public\.task_labels:/,
    ],
    [
      `alter policy members_read on public.organisations using (created_by = auth.uid() or id in (select tenancy.organisations()))`,
      /^auth_rls_initplan public\.organisations:/,
    ],
    [
      `create policy again on public.labels for delete to authenticated using (true)`,
      /^rls_policy_always_true public\.labels:/,
    ],
    [
      `create view public.all_tasks as select * from public.tasks; grant select on public.all_tasks to anon`,
      /^security_definer_view public\.all_tasks:/,
    ],
  ]
  for (const [sql] of worse) await database.query(sql)
  const found = real(await check(database.authenticatorUri, { measure: false }))
  for (const [sql, expected] of worse)
    t.ok(
      found.some((line) => expected.test(line)),
      sql,
    )
})

t.test('a plain database, without the roles and schemas of Supabase', async (t) => {
  const database = disposing(t, await createDatabase())
  const role = `plain_${database.name}`
  await database.query(`create role ${role} nologin; create schema api; grant usage on schema api to ${role};
    create table api.t (id int primary key, owner text); grant select on api.t to ${role};
    create view api.v as select * from api.t; grant select on api.v to ${role};
    create schema storage; create table storage.objects (id int); create table storage.buckets (id text);
    create schema auth; create table auth.users (id uuid);
    create role reader_${database.name} login password 'secret'`)
  t.teardown(async () => {
    await database.query(`drop schema api cascade; drop role ${role}; drop role reader_${database.name}`)
  })
  const result = await check(database.adminUri, { dbSchemas: ['api'], dbAnonRole: role })
  t.strictSame(
    result.findings.filter(({ dismissed }) => dismissed === null).map(({ code, level }) => `${level} ${code}`),
    ['ERROR security_definer_view', 'ERROR rls_disabled_in_public'],
    'the lints are about the role that the settings name',
  )
  const reader = await check(database.uri(`reader_${database.name}`, 'secret'), {
    dbSchemas: ['api'],
    dbAnonRole: role,
  })
  t.strictSame(real(reader), real(result), 'a role without any privilege sees the same')
})

t.test('the measured cost of a missing index', async (t) => {
  const database = disposing(t, await createMigratedDatabase())
  await database.query(`
    create schema private; grant usage on schema private to authenticated;
    create function private.slow() returns uuid language plpgsql stable set search_path = ''
      as $$ begin perform pg_catalog.pg_sleep(30); return null; end $$;
    create function private.counting() returns boolean language plpgsql volatile set search_path = ''
      as $$ begin raise 'a volatile function ran'; end $$;
    create table public.large (id int primary key, owner uuid, filler text);
    create table public.small (id int primary key, owner uuid);
    create table public.stuck (id int primary key, owner uuid);
    create table public.unmeasured (id int primary key, owner uuid);
    insert into public.large select n, gen_random_uuid(), repeat('x', 100) from generate_series(1, 20000) n;
    insert into public.small values (1, null); insert into public.stuck values (1, null);
    insert into public.unmeasured values (1, null);
    analyze public.large;
    ${['large', 'small', 'stuck', 'unmeasured']
      .map(
        (
          name,
        ) => `alter table public.${name} enable row level security; revoke all on public.${name} from anon, authenticated;
        grant select on public.${name} to authenticated;`,
      )
      .join('')}
    create policy p on public.large for select to authenticated using (owner = (select auth.uid()));
    create policy p on public.small for select to authenticated using (owner = (select auth.uid()));
    create policy p on public.stuck for select to authenticated using (owner = (select private.slow()));
    create policy p on public.unmeasured for select to authenticated using (owner = (select auth.uid()) and (select private.counting()));
  `)
  const found = (result: CheckResult): Record<string, unknown> =>
    Object.fromEntries(
      result.findings
        .filter(({ code }) => code === 'policy_column_without_index')
        .map(({ object, level, reason, metadata }) => [object.name, { level, reason, measured: metadata.measured }]),
    )
  const without =
    /^The policy p looks for rows by owner, which has no index, so every statement reads the whole table\.$/
  t.match(found(await check(database.authenticatorUri)), {
    large: {
      level: 'WARN',
      reason:
        /whole table\. Measured: \d+\.\d ms, \d{3} pages and 20000 refused rows per statement; with the index at most about \d+ pages \(estimated for \d+ rows?\)\.$/,
      measured: { removed: 20000 },
    },
    small: { level: 'INFO', reason: /1 refused rows? per statement/ },
    stuck: { level: 'WARN', reason: /Measured: more than 1000 ms for one statement\.$/ },
    // Its policy calls a volatile function.
    unmeasured: { level: 'INFO', reason: without, measured: undefined },
  })
  t.match(found(await check(database.authenticatorUri, { measure: false })), {
    large: { level: 'INFO', reason: without },
    stuck: { level: 'INFO', reason: without },
  })
})

t.test("splinter's own remedies leave no warning under its names", async (t) => {
  const database = disposing(t, await createMigratedDatabase())
  const objects = ['a_table', 'a_view', 'a_matview', 'a_foreign']
  await database.query(`
    create table public.a_table (id int primary key);
    create view public.a_view as select 1 as a; create materialized view public.a_matview as select 1 as a;
    create foreign data wrapper nothing_${database.name}; create server nowhere_${database.name} foreign data wrapper nothing_${database.name};
    create foreign table public.a_foreign (id int) server nowhere_${database.name};
    grant select on ${objects.map((name) => `public.${name}`).join(', ')} to anon, authenticated`)
  const found = async (): Promise<string[]> =>
    (await check(database.authenticatorUri)).findings
      .filter(({ dismissed, object }) => dismissed === null && objects.includes(object.name))
      .map(({ level, code, object }) => `${level} ${code} ${object.name}`)
      .sort()
  t.strictSame(await found(), [
    'ERROR rls_disabled_in_public a_table',
    'ERROR security_definer_view a_view',
    'WARN foreign_table_in_api a_foreign',
    'WARN materialized_view_in_api a_matview',
  ])
  await database.query(
    `revoke all on ${objects.map((name) => `public.${name}`).join(', ')} from anon, authenticated, service_role`,
  )
  t.strictSame(await found(), [
    'INFO exposed_relation_without_policies a_foreign',
    'INFO exposed_relation_without_policies a_matview',
    'INFO exposed_table_without_rls a_table',
    'INFO exposed_view_of_owner a_view',
  ])
  await database.query('grant insert on public.a_table to authenticated; grant update on public.a_foreign to anon')
  t.strictSame(
    (await found()).filter((line) => !line.startsWith('INFO')),
    ['ERROR exposed_table_without_rls a_table', 'WARN exposed_relation_without_policies a_foreign'],
    'what splinter does not look for has a name of its own',
  )
  await database.query(`insert into storage.buckets (id, name, public) values ('b', 'b', true);
    create policy lists on storage.objects for select using (bucket_id = 'b' or bucket_id = 'c')`)
  t.match(
    (await check(database.authenticatorUri)).findings.filter(({ object }) => object.type === 'bucket'),
    [{ code: 'storage_bucket_listable' }, { code: 'storage_policy_without_bucket' }],
  )
  const { findings } = await check(database.authenticatorUri)
  t.strictSame(
    findings.filter(({ code, isOfSplinter }) => code in splinterLints && !isOfSplinter).map(({ code }) => code),
    [],
  )
})

t.test('what the connected role cannot see is said', async (t) => {
  const database = disposing(t, await createMigratedDatabase())
  const reader = `blind_${database.name}`
  await database.query(`create role ${reader} login noinherit password 'secret'`)
  await database.query(`insert into storage.buckets (id, name, public) values ('b', 'b', true);
    create policy lists on storage.objects for select using (bucket_id = 'b')`)
  const unseen = async (uri: string): Promise<string[]> => (await check(uri)).unseen.map(describeUnseen)
  const blind = await unseen(database.uri(reader, 'secret'))
  t.match(blind, [
    new RegExp(`^Not looked at: storage\\.buckets, for public_bucket_allows_listing\\. ${reader} can neither read`),
    new RegExp(
      `for storage_bucket_listable, storage_policy_without_bucket, storage_rls_disabled\\. ${reader} cannot switch`,
    ),
    /^Not looked at: the statistics of tables in auth, .*storage, .*for table_bloat\./,
  ])
  t.equal(blind.length, 3)
  t.match(await unseen(database.authenticatorUri), [/^Not looked at: the statistics of tables in auth/])
  t.strictSame(await unseen(database.adminUri), [], 'a superuser sees everything')
  await database.query(`drop role ${reader}`)
})
