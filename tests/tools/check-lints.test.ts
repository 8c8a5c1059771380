// The lints of `rowhouse check`: for each one a case that it finds beside one that it does not, and its mend.
import pg from 'pg'
import t from 'tap'
import { readCheckCatalogue } from '../../server/tools/check/catalogue.ts'
import { objectName, type LintFinding } from '../../server/tools/check/finding.ts'
import { fixMigration } from '../../server/tools/check/fix-migration.ts'
import { ownLints, splinterLints } from '../../server/tools/check/lint-facts.ts'
import { runLints } from '../../server/tools/check/lints.ts'
import { createDatabase, createMigratedDatabase } from '../support/database.ts'

// Roles belong to all databases of the cluster: the program's migrations create those of Supabase.
await (await createMigratedDatabase()).drop()
const database = await createDatabase()
const client = new pg.Client(database.adminUri)
await client.connect()
client.on('notice', () => undefined)
t.teardown(async () => {
  await client.end()
  await database.drop()
})

// A plain database: of Supabase's schemas, it only has the functions of auth.
await client.query(`
  grant usage on schema public to anon, authenticated;
  alter default privileges revoke execute on functions from public;
  create schema auth; create schema private; alter default privileges in schema private grant execute on functions to authenticated;
  grant usage on schema auth, private to anon, authenticated;
  create table auth.users (id uuid primary key, email text unique, raw_user_meta_data jsonb);
  create function auth.jwt() returns jsonb language sql stable return current_setting('request.jwt.claims', true)::jsonb;
  create function auth.uid() returns uuid language sql stable return (auth.jwt() ->> 'sub')::uuid;
  create function auth.email() returns text language sql stable return auth.jwt() ->> 'email';
  create function auth.role() returns text language sql stable return auth.jwt() ->> 'role';
  grant execute on all functions in schema auth to anon, authenticated;
  create table public.members (org int, user_id uuid, primary key (org, user_id));
  create index on public.members (user_id);
  alter table public.members enable row level security; grant select on public.members to authenticated;
  create policy own on public.members for select to authenticated using (user_id = (select auth.uid()));
  create table public.sound (id int primary key, owner uuid, org int, body text);
  create index on public.sound (owner); create index on public.sound (org);
  alter table public.sound enable row level security;
  grant select, insert, delete, update (body) on public.sound to authenticated;
  create policy reads on public.sound for select to authenticated using (owner = (select auth.uid()));
  create policy writes on public.sound for insert to authenticated with check (owner = (select auth.uid()));
  create policy changes on public.sound for update to authenticated using (owner = (select auth.uid()));
  create policy removes on public.sound for delete to authenticated using (owner = (select auth.uid()));
`)

/** Creates a table with a primary key, an index on the owner, row-level security and the privileges. */
const table = (name: string, privileges: string, more = ''): string => `
  create table ${name} (id int primary key, owner uuid, org int, body text, kind text${more});
  create index on ${name} (owner);
  alter table ${name} enable row level security;
  grant ${privileges} on ${name} to authenticated;`
const mine = 'owner = (select auth.uid())'
const readsOwn = (name: string): string => `create policy reads on ${name} for select to authenticated using (${mine});`

async function findings(
  schemas: readonly string[] = ['public'],
  confirmsAddresses = false,
): Promise<readonly LintFinding[]> {
  const catalogue = await readCheckCatalogue((text, values) => client.query(text, values), {
    schemas,
    anonymousRole: 'anon',
    confirmsAddresses,
  })
  const { findings: found, unindexed } = runLints(catalogue)
  return [...found, ...unindexed.map((it) => it.finding)]
}

const listed = (found: readonly LintFinding[]): string[] =>
  found
    .filter(({ dismissed }) => dismissed === null)
    .map(({ code, object }) => `${code} ${objectName(object)}`)
    .sort()

type Case = {
  readonly sql: string
  /** Whether the settings confirm addresses without proof. */
  readonly confirmsAddresses?: boolean
  /** `code schema.name` of all findings. */
  readonly found: readonly string[]
  /** Those that remain after the statements that mend the others. */
  readonly left?: readonly string[]
  /** Findings of splinter that are dismissed, and do not come from the fixture. */
  readonly dismissed?: readonly string[]
  readonly schemas?: readonly string[]
}

const hostile = `"Odd ""t"";\n--'"`
const hostileName = `Odd "t";\n--'`

const cases: Readonly<Record<string, Case>> = {
  'a sound schema': { sql: '', found: [] },
  'service_role without BYPASSRLS, for which policies allow everything': {
    sql: `alter role service_role nobypassrls; grant select, insert, update, delete on public.sound to service_role;
      create policy service on public.sound to service_role using (true) with check (true);`,
    found: [],
  },
  unindexed_foreign_keys: {
    sql: `${table('public.t', 'select', ', ref int references public.sound, indexed int references public.sound')}
      create index on public.t (indexed, id); ${readsOwn('public.t')}`,
    found: ['unindexed_foreign_keys public.t'],
  },
  auth_users_exposed: {
    sql: `alter table auth.users enable row level security; create policy p on auth.users to authenticated using (true);
      create view public.v with (security_invoker = on) as select id from auth.users; grant select on public.v to anon;
      create materialized view public.m as select id from auth.users; grant select on public.m to authenticated;`,
    found: ['auth_users_exposed public.m', 'materialized_view_in_api public.m'],
  },
  auth_rls_initplan: {
    sql: `${table('public.t', 'select')}
      create policy p on public.t for select to authenticated using (owner = auth.uid() and body = 'select auth.uid()');
      ${table('public.s', 'select')}
      create policy p on public.s for select to authenticated
        using (owner = (select (auth.jwt() ->> 'sub')::uuid) and body <> 'current_setting()');`,
    found: ['auth_rls_initplan public.t'],
    dismissed: ['auth_rls_initplan public.s'],
  },
  'auth_rls_initplan, one of two calls, with a hostile name': {
    sql: `${table(`public.${hostile}`, 'select')}
      create policy ${hostile} on public.${hostile} for select to authenticated
        using (owner = (select auth.uid()) or (owner = auth.uid() and body = current_setting('a.b', true)));`,
    found: [`auth_rls_initplan public.${hostileName}`],
  },
  no_primary_key: {
    sql: `create table public.t (a int); alter table public.t enable row level security;
      create table public.p (id int, b int) partition by list (b);
      alter table public.p enable row level security;`,
    found: ['no_primary_key public.t'],
  },
  multiple_permissive_policies: {
    sql: `${table('public.t', 'select')} create index on public.t (org);
      create policy a on public.t for select to authenticated using (${mine});
      create policy b on public.t for select to authenticated
        using (org in (select org from public.members where user_id = (select auth.uid())));
      ${table('public.s', 'select')}
      create policy a on public.s for select to authenticated using (${mine});
      create policy b on public.s for all to anon using (${mine});`,
    found: ['multiple_permissive_policies public.t'],
  },
  policy_exists_rls_disabled: {
    sql: `${table('public.t', 'select')} alter table public.t disable row level security; revoke all on public.t from authenticated;
      ${readsOwn('public.t')}`,
    found: ['policy_exists_rls_disabled public.t'],
  },
  rls_enabled_no_policy: {
    sql: `${table('public.t', 'select')} ${table('public.s', 'select')} revoke all on public.s from authenticated;`,
    found: ['rls_enabled_no_policy public.t'],
    dismissed: ['rls_enabled_no_policy public.s'],
  },
  duplicate_index: {
    sql: `${table('public.t', 'select')} create index again on public.t (owner); create index other on public.t (owner desc);
      ${readsOwn('public.t')}`,
    found: ['duplicate_index public.t'],
  },
  'security_definer_view and view_filter_leaks': {
    sql: `create view public.v as select body from public.sound where ${mine}; grant select on public.v to authenticated;
      create view public.w with (security_invoker = on) as select body from public.sound; grant select on public.w to authenticated;`,
    found: ['security_definer_view public.v', 'view_filter_leaks public.v'],
  },
  'view_filter_leaks, with a barrier': {
    sql: `create view public.v with (security_barrier) as select body from public.sound where ${mine};
      grant select on public.v to authenticated;`,
    found: ['security_definer_view public.v'],
  },
  function_search_path_mutable: {
    sql: `create function public.f(a int) returns bigint language sql stable as 'select count(*) from sound where id = a';
      create function public.g() returns bigint language sql set search_path = '' as 'select 1';
      create function public.h() returns bigint language sql return 1;
      create function public.i() returns bigint language sql as 'select id from public.sound /* from sound */';`,
    found: ['function_search_path_mutable public.f(a integer)'],
    dismissed: ['function_search_path_mutable public.h()', 'function_search_path_mutable public.i()'],
  },
  'rls_disabled_in_public and sensitive_columns_exposed': {
    sql: `create table public.t (id int primary key, "Api-Key" text); grant select on public.t to anon;
      create table public.s (id int primary key, token_count int); grant select on public.s to authenticated;
      create table private.t (id int primary key, password text); grant select on private.t to anon;`,
    found: ['rls_disabled_in_public public.s', 'rls_disabled_in_public public.t', 'sensitive_columns_exposed public.t'],
  },
  extension_in_public: {
    sql: 'create extension citext schema public; create schema extensions; create extension pg_trgm schema extensions;',
    found: ['extension_in_public public.citext'],
  },
  rls_references_user_metadata: {
    sql: `${table('public.t', 'select')}
      create policy p on public.t for select to authenticated using (body = (select auth.jwt() -> 'user_metadata' ->> 'team'));
      ${table('public.s', 'select')} create index on public.s (body);
      create policy p on public.s for select to authenticated using (body = (select auth.role()) and (select auth.jwt()) is not null and kind <> 'user_metadata');`,
    found: ['policy_column_without_index public.t', 'rls_references_user_metadata public.t'],
    dismissed: ['rls_references_user_metadata public.s'],
  },
  'user_metadata as a value': {
    sql: `${table('public.t', 'select')} create index on public.t (body);
      create policy p on public.t for select to authenticated using (body = 'user_metadata' and ${mine});`,
    found: [],
    dismissed: ['rls_references_user_metadata public.t'],
  },
  'rls_references_user_metadata in a function': {
    sql: `create function private.team() returns text language plpgsql stable set search_path = ''
        as $$ begin return auth.jwt() -> 'user_metadata' ->> 'team'; end $$;
      create function private.other() returns text language plpgsql stable set search_path = ''
        as $$ begin return auth.jwt() ->> 'role'; /* not user_metadata */ end $$;
      ${table('public.t', 'select')} create index on public.t (body);
      create policy p on public.t for select to authenticated using (body = (select private.team()));
      ${table('public.s', 'select')} create index on public.s (body);
      create policy p on public.s for select to authenticated using (body = (select private.other()));`,
    found: ['rls_references_user_metadata public.t'],
    left: ['rls_references_user_metadata public.t'],
  },
  materialized_view_in_api: {
    sql: `create materialized view public.m as select 1 as a; grant select on public.m to authenticated;
      create materialized view public.n as select 1 as a;`,
    found: ['materialized_view_in_api public.m'],
  },
  foreign_table_in_api: {
    sql: `create foreign data wrapper none; create server s foreign data wrapper none;
      create foreign table public.f (id int) server s; grant select on public.f to authenticated;
      create foreign table public.g (id int) server s;`,
    found: ['foreign_table_in_api public.f'],
  },
  unsupported_reg_types: {
    sql: `${table('public.t', 'select', ', bad regproc, good regclass')} ${readsOwn('public.t')}`,
    found: ['unsupported_reg_types public.t'],
  },
  insecure_queue_exposed_in_api: {
    sql: `create schema pgmq; create schema pgmq_public; create table pgmq.q_a (id int); create table pgmq.other (id int);
      grant select on pgmq.q_a, pgmq.other to authenticated;`,
    schemas: ['public', 'pgmq_public'],
    found: ['insecure_queue_exposed_in_api pgmq.q_a'],
  },
  fkey_to_auth_unique: {
    sql: `${table('public.t', 'select', ', email text references auth.users (email), "user" uuid references auth.users')}
      create index on public.t (email); create index on public.t ("user"); ${readsOwn('public.t')}`,
    found: ['fkey_to_auth_unique public.t'],
  },
  extension_versions_outdated: {
    sql: `create schema extensions; create extension pg_trgm schema extensions version '1.3'; create extension citext schema extensions;`,
    found: ['extension_versions_outdated pg_trgm'],
  },
  'realtime_without_rls, and no finding without a privilege': {
    sql: `create table public.t (id int primary key); alter table public.t replica identity full;
      create table private.s (id int primary key); alter table private.s replica identity full;
      grant select on public.t to anon;
      create publication supabase_realtime for table public.t, private.s, public.sound;
      alter table public.sound replica identity full;`,
    found: ['realtime_without_rls public.t', 'rls_disabled_in_public public.t'],
  },
  realtime_without_key: {
    sql: `create table private.t (id int);
      create table private.f (id int); alter table private.f replica identity full;
      create table private.n (id int primary key); alter table private.n replica identity nothing;
      create table private.s (id int primary key); alter table private.s replica identity full;
      create publication supabase_realtime for table private.t, private.f, private.n, private.s;
      create publication another for all tables;`,
    found: [
      ...['no_primary_key private.f', 'no_primary_key private.t'],
      ...['realtime_without_key private.f', 'realtime_without_key private.n', 'realtime_without_key private.t'],
    ],
    // The note about its log follows. Which columns are a key, only a person knows.
    left: [
      ...['no_primary_key private.f', 'no_primary_key private.t', 'realtime_delete_by_key private.n'],
      ...['realtime_without_key private.f', 'realtime_without_key private.t'],
    ],
  },
  realtime_delete_by_key: {
    sql: `${table('public.t', 'select')} ${readsOwn('public.t')}
      create publication supabase_realtime for table public.t;`,
    found: ['realtime_delete_by_key public.t'],
    left: ['realtime_delete_by_key public.t'],
  },
  'webhook_without_tls and webhook_url_credentials': {
    sql: `create schema supabase_functions; create schema rowhouse;
      create function supabase_functions.http_request() returns trigger language plpgsql as 'begin return null; end';
      create function rowhouse.webhook() returns trigger language plpgsql as 'begin return null; end';
      create function private.other() returns trigger language plpgsql as 'begin return null; end';
      ${table('public.t', 'select')} ${readsOwn('public.t')}
      create table private.open (id int primary key);
      create trigger sound after insert on public.t for each row execute function supabase_functions.http_request('https://a/', 'POST');
      create trigger local after insert on public.t for each row execute function supabase_functions.http_request('http://127.0.0.1:3000/', 'POST');
      create trigger other after insert on public.t for each row execute function private.other('http://a/');
      create trigger plain after insert on public.t for each row execute function supabase_functions.http_request('http://a/', 'POST');
      create trigger own after insert on public.t for each statement execute function rowhouse.webhook('HTTP://a/', '{}');
      create trigger open after insert on private.open for each statement execute function rowhouse.webhook('http://a/', '{}');
      create trigger known after insert on private.open for each statement execute function rowhouse.webhook('https://user:secret@a/', '{}');`,
    found: [
      'webhook_url_credentials private.open.known',
      'webhook_without_tls public.t.own',
      'webhook_without_tls public.t.plain',
    ],
    left: [
      'webhook_url_credentials private.open.known',
      'webhook_without_tls public.t.own',
      'webhook_without_tls public.t.plain',
    ],
  },
  realtime_channels_open: {
    sql: `create schema realtime; create table realtime.messages (id int primary key, topic text, extension text);
      alter table realtime.messages enable row level security;
      create policy listen on realtime.messages for select to anon using (true);
      create policy speak on realtime.messages for insert to authenticated with check (true or extension = 'x');
      create policy either on realtime.messages to public using ((select auth.uid()) is not null) with check (topic = 'a');
      create policy server on realtime.messages to service_role using (true);
      create policy closed on realtime.messages as restrictive to anon using (true);`,
    found: ['realtime_channels_open realtime.messages'],
    left: ['realtime_channels_open realtime.messages'],
  },
  rls_policy_always_true: {
    sql: `${table('public.t', 'select, delete')} ${readsOwn('public.t')}
      create policy p on public.t for delete to authenticated using (true);
      ${table('public.s', 'select')} ${readsOwn('public.s')} create policy p on public.s for delete to authenticated using (true);`,
    found: ['rls_policy_always_true public.t'],
    dismissed: ['rls_policy_always_true public.s'],
  },
  public_bucket_allows_listing: {
    sql: `create schema storage;
      create table storage.buckets (id text primary key, name text, public boolean);
      create table storage.objects (id int primary key, bucket_id text, name text);
      alter table storage.objects enable row level security;
      insert into storage.buckets values ('a''b', 'A', true), ('c', 'C', true), ('d', 'D', false);
      create policy a on storage.objects for select using (bucket_id = 'a''b');
      create policy c on storage.objects for select using (bucket_id = 'c' and name like 'public/%');
      create policy d on storage.objects for select using (bucket_id = 'd');`,
    found: ['public_bucket_allows_listing storage.A'],
  },
  'pg_graphql_anon_table_exposed and pg_graphql_authenticated_table_exposed': {
    // The extension is not bundled.
    sql: `insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
        values (99999, 'pg_graphql', 10, 'private'::regnamespace, false, '1');
      revoke all on public.sound, public.members from authenticated;
      drop policy reads on public.sound; drop policy own on public.members;
      ${table('public.t', 'select')} grant select (id) on public.t to anon; create policy p on public.t for select using (${mine});`,
    found: ['pg_graphql_anon_table_exposed public.t', 'pg_graphql_authenticated_table_exposed public.t'],
  },
  'anon_security_definer_function_executable, definer_function_reads_claims': {
    sql: `create function public.f() returns uuid language sql security definer set search_path = '' as 'select auth.uid()';
      grant execute on function public.f to public;
      create function public.g() returns uuid language sql security definer set search_path = '' as $$select auth.uid()$$;
      create function private.h() returns uuid language sql security definer set search_path = '' as 'select auth.uid()';
      grant execute on function private.h to anon;
      create function public.i() returns text language sql security definer set search_path = '' as $$select 'auth.uid()'$$;
      grant execute on function public.i to anon;`,
    found: [
      'anon_security_definer_function_executable public.f()',
      'anon_security_definer_function_executable public.i()',
      'authenticated_security_definer_function_executable public.f()',
      'definer_function_reads_claims public.f()',
    ],
  },
  policy_function_not_executable: {
    sql: `create function private.closed(a int) returns boolean language sql stable return true;
      create function private.open(a int) returns boolean language sql stable return private.closed(a);
      create function private.definer(a int) returns boolean language sql stable security definer set search_path = '' return private.closed(a);
      revoke execute on function private.closed from authenticated;
      ${table('public.t', 'select')} create policy p on public.t for select to authenticated using (${mine} and private.closed(id));
      ${table('public.u', 'select')} create policy p on public.u for select to authenticated using (${mine} and private.open(id));
      ${table('public.s', 'select')} create policy p on public.s for select to authenticated using (${mine} and private.definer(id));
      ${table('public.r', 'select')} create policy p on public.r for select to anon using (${mine} and private.closed(id)); ${readsOwn('public.r')}`,
    found: ['policy_function_not_executable public.t', 'policy_function_not_executable public.u'],
  },
  policy_trusts_unproven_address: {
    sql: `${table('public.t', 'select')} create index on public.t (body);
      create policy p on public.t for select to authenticated using (body = (select auth.email()));
      ${table('public.s', 'select')} create index on public.s (body);
      create policy p on public.s for select to authenticated using (body = (select auth.jwt() ->> 'email'));
      create function private.mine() returns text language plpgsql stable set search_path = ''
        as $$ begin return lower(auth.email()); end $$;
      ${table('public.r', 'select')} create index on public.r (body);
      create policy p on public.r for select to authenticated using (body = (select private.mine()));
      ${table('public.u', 'select')} create index on public.u (body);
      create policy p on public.u for select to authenticated using (kind = 'email' and body = (select auth.role()));
      ${table('public.v', 'select')} create index on public.v (body);
      create policy p on public.v for select to authenticated using (body = (select auth.jwt() -> 'app_metadata' ->> 'work_email'));`,
    confirmsAddresses: true,
    found: ['r', 's', 't'].map((name) => `policy_trusts_unproven_address public.${name}`),
    left: ['r', 's', 't'].map((name) => `policy_trusts_unproven_address public.${name}`),
  },
  'policy_trusts_unproven_address where all addresses are proved': {
    sql: `${table('public.t', 'select')} create index on public.t (body);
      create policy p on public.t for select to authenticated using (body = (select auth.email()));`,
    found: [],
  },
  write_policy_looser_than_read: {
    sql: `${table('public.t', 'select, insert, update (body), delete')}
      create policy reads on public.t for select to authenticated using (${mine} and kind = 'note');
      create policy changes on public.t for update to authenticated using (kind = 'note');
      create policy removes on public.t for delete to authenticated using (${mine});
      create policy adds on public.t for insert to authenticated with check (${mine} and kind = 'note' and body <> '');`,
    found: ['write_policy_looser_than_read public.t'],
  },
  'write_policy_looser_than_read by a restrictive policy': {
    sql: `${table('public.t', 'select, delete')} create index on public.t (org);
      create policy all_of_org on public.t to authenticated using (org in (select org from public.members where user_id = (select auth.uid())));
      create policy narrow on public.t as restrictive for select to authenticated using (${mine});`,
    found: ['write_policy_looser_than_read public.t'],
  },
  policy_column_writable: {
    sql: `${table('public.t', 'select, update')} ${readsOwn('public.t')}
      create policy p on public.t for update to authenticated using (${mine} and kind = 'note') with check (kind = 'note');
      ${table('public.granted', 'select, update (body)')} ${readsOwn('public.granted')}
      create policy p on public.granted for update to authenticated using (${mine}) with check (kind = 'note');
      ${table('public.guarded', 'select, update')} ${readsOwn('public.guarded')}
      create policy p on public.guarded for update to authenticated using (${mine}) with check (kind = 'note');
      create function private.keep() returns trigger language plpgsql set search_path = ''
        as $$ begin if new.owner <> old.owner then raise 'no'; end if; return new; end $$;
      create trigger keep before update on public.guarded for each row execute function private.keep();
      ${table('public.narrowed', 'select, update')} ${readsOwn('public.narrowed')}
      create policy p on public.narrowed for update to authenticated using (${mine}) with check (kind = 'note');
      create policy q on public.narrowed as restrictive for update to authenticated using (${mine});`,
    found: ['policy_column_writable public.t'],
  },
  'the time is not the caller': {
    sql: `${table('public.t', 'select, update', ', until timestamptz')}
      create policy reads on public.t for select to authenticated using (until > current_timestamp and ${mine});
      create policy p on public.t for update to authenticated using (until > current_timestamp and ${mine}) with check (${mine});
      create view public.v with (security_invoker) as select body from public.t where until > current_timestamp;
      create view private.v as select id, auth.uid() as me from public.t where until > current_date; grant select on private.v to authenticated;`,
    schemas: ['private'],
    found: ['security_definer_view private.v'],
  },
  'policies for writes that only ask for an account': {
    sql: `${table('public.t', 'select, insert, update (body), delete')} ${readsOwn('public.t')}
      create policy u on public.t for update to authenticated using ((select auth.role()) = 'authenticated');
      create policy d on public.t for delete to authenticated using ((select auth.uid()) is not null);
      create policy i on public.t for insert to authenticated with check (${mine} and (select auth.uid()) is not null);
      ${table('public.s', 'select, delete')}
      create policy reads on public.s for select to authenticated using (${mine} and (select auth.role()) = 'authenticated');
      create policy d on public.s for delete to authenticated using (${mine});
      ${table('public.r', 'delete')} grant select on public.r to authenticated;
      create policy reads on public.r for select to authenticated using (${mine});
      create policy d on public.r for delete to authenticated using ((select auth.jwt() ->> 'admin') is not null);`,
    found: ['write_policy_looser_than_read public.t'],
  },
  'claims that are read by functions that call each other': {
    sql: `set local check_function_bodies = off;
      create function private.a() returns uuid language plpgsql stable set search_path = '' as $$ begin return coalesce(private.b(), auth.uid()); end $$;
      create function private.b() returns uuid language plpgsql stable set search_path = '' as $$ begin return private.a(); end $$;
      ${table('public.t', 'select')} create policy p on public.t for select to authenticated using (owner = (select private.a()));
      create function public.f() returns uuid language plpgsql security definer set search_path = '' as $$ begin return private.b(); end $$;
      grant execute on function public.f to anon;`,
    found: ['anon_security_definer_function_executable public.f()', 'definer_function_reads_claims public.f()'],
  },
  'a check that names the column without keeping its value, and a state that may change': {
    sql: `${table('public.t', 'select, update')} ${readsOwn('public.t')}
      create policy p on public.t for update to authenticated using (${mine} and kind = 'draft')
        with check (owner is not null and kind in ('draft', 'sent'));`,
    found: ['policy_column_writable public.t'],
  },
  'rls_policy_always_true by one of the alternatives': {
    sql: `${table('public.t', 'select, delete')} ${readsOwn('public.t')}
      create policy p on public.t for delete to authenticated using (true or ${mine});`,
    found: ['rls_policy_always_true public.t'],
  },
  'trigger_copies_rows by MERGE': {
    sql: `${table('public.copies', 'select')} create policy p on public.copies for select to authenticated using (true);
      create function private.copy() returns trigger language plpgsql security definer set search_path = '' as $$ begin
        merge into public.copies c using (select new.id, new.body) n on c.id = n.id when matched then update set body = n.body; return new; end $$;
      create trigger copy after insert on public.sound for each row execute function private.copy();`,
    found: ['trigger_copies_rows public.sound.copy'],
  },
  'default_privileges_open_functions of a role without objects': {
    sql: `create role builder; alter default privileges for role builder in schema public grant execute on functions to anon;`,
    found: ['default_privileges_open_functions public'],
  },
  'several findings about one policy, which one statement mends': {
    sql: `${table('public.t', 'select, insert, update')}
      create policy p on public.t to authenticated using (owner = auth.uid()) with check (true);
      create policy q on public.t for select to authenticated using (owner = auth.uid() and kind = 'x');
      ${table('public.s', 'select, delete')} ${readsOwn('public.s')}
      create policy a on public.s for delete to authenticated using (true);
      create policy b on public.s for delete to authenticated using (owner = auth.uid());`,
    found: [
      'auth_rls_initplan public.s',
      'auth_rls_initplan public.t',
      'multiple_permissive_policies public.s',
      'policy_column_writable public.t',
      'rls_policy_always_true public.s',
      'rls_policy_always_true public.t',
    ],
  },
  policy_calls_volatile_function: {
    sql: `create function private.mine() returns uuid language plpgsql set search_path = '' as $$ begin return auth.uid(); end $$;
      create function private.counts() returns boolean language plpgsql set search_path = ''
        as $$ begin insert into private.log values (1); return true; end $$;
      ${table('public.t', 'select')} create policy p on public.t for select to authenticated using (owner = private.mine() and id > 0);
      ${table('public.u', 'select')} create policy p on public.u for select to authenticated using (${mine} and private.counts());
      ${table('public.s', 'select')} create policy p on public.s for select to authenticated using (owner = (select private.mine()));`,
    found: ['policy_calls_volatile_function public.t', 'policy_calls_volatile_function public.u'],
    // Declared as stable, the function can be called once.
    left: ['policy_calls_function_per_row public.t', 'policy_calls_volatile_function public.u'],
  },
  policy_calls_function_per_row: {
    sql: `create function private.mine(a text) returns uuid language plpgsql stable set search_path = '' as $$ begin return auth.uid(); end $$;
      create function private.costly(a int) returns boolean language plpgsql stable cost 10000 set search_path = '' as $$ begin return true; end $$;
      create function private.cheap(a int) returns boolean language plpgsql stable set search_path = '' as $$ begin return true; end $$;
      ${table('public.t', 'select')}
      create policy p on public.t for select to authenticated using (owner = private.mine('private.mine(1)') and private.cheap(id));
      ${table('public.u', 'select')} create policy p on public.u for select to authenticated using (${mine} and private.costly(id));`,
    found: ['policy_calls_function_per_row public.t', 'policy_calls_function_per_row public.u'],
    left: ['policy_calls_function_per_row public.u'],
  },
  policy_column_without_index: {
    sql: `${table('public.t', 'select')} drop index public.t_owner_idx; ${readsOwn('public.t')}
      ${table('public.u', 'select')} create policy p on public.u for select to authenticated
        using (org in (select m.org from public.members m where m.user_id = (select auth.uid())));
      ${table('public.s', 'select')} drop index public.s_owner_idx;
      create policy p on public.s for select to authenticated using (${mine} or kind = 'public');
      ${table('public.r', 'select')} create policy p on public.r for select to authenticated using (${mine} and org = any (array[1, 2]));`,
    found: ['policy_column_without_index public.t', 'policy_column_without_index public.u'],
  },
  view_reads_past_policies: {
    sql: `create view private.inner as select * from public.sound; grant select on private.inner to authenticated;
      create view public.outer with (security_invoker) as select body from private.inner; grant select on public.outer to authenticated;
      create view private.plain as select 1 as a; grant select on private.plain to authenticated;
      create view public.harmless with (security_invoker) as select a from private.plain; grant select on public.harmless to authenticated;`,
    found: ['view_reads_past_policies public.outer'],
  },
  trigger_copies_rows: {
    sql: `${table('public.copies', 'select')} create policy p on public.copies for select to authenticated using (true);
      ${table('public.kept', 'select')} ${readsOwn('public.kept')}
      create function private.copy() returns trigger language plpgsql security definer set search_path = ''
        as $$ begin insert into public.copies (id, body) values (new.id, new.body); return new; end $$;
      create function private.keep() returns trigger language plpgsql security definer set search_path = ''
        as $$ begin insert into public.kept (id, owner) values (new.id, new.owner); /* insert into public.copies */ return new; end $$;
      create trigger copy after insert on public.sound for each row execute function private.copy();
      create trigger keep after insert on public.sound for each row execute function private.keep();`,
    found: ['trigger_copies_rows public.sound.copy'],
    // The policy is left without a privilege, which is no finding.
  },
  default_privileges_open_functions: {
    sql: `alter default privileges in schema public grant execute on functions to anon;`,
    found: ['default_privileges_open_functions public'],
  },
  "default_privileges_open_functions, PostgreSQL's own default": {
    sql: `alter default privileges grant execute on functions to public;
      create function public.f() returns int language sql security definer set search_path = '' as 'select 1';`,
    found: [
      'anon_security_definer_function_executable public.f()',
      'authenticated_security_definer_function_executable public.f()',
      'default_privileges_open_functions public',
    ],
  },
}

for (const [name, { sql, found, left = [], dismissed = [], schemas, confirmsAddresses }] of Object.entries(cases)) {
  t.test(name, async (t) => {
    await client.query('begin')
    t.teardown(() => client.query('rollback'))
    await client.query(sql)
    const before = await findings(schemas, confirmsAddresses)
    t.strictSame(
      [...new Set(listed(before))],
      [...found],
      before.flatMap(({ code, reason, dismissed: why }) => (why === null ? [`${code}: ${reason}`] : [])).join('\n'),
    )
    const names = before
      .filter((it) => it.dismissed !== null)
      .map(({ code, object }) => `${code} ${objectName(object)}`)
    for (const one of dismissed) t.ok(names.includes(one), `${one} is dismissed`)
    const fix = fixMigration(before.filter((it) => it.dismissed === null))
    if (fix === undefined) return
    await client.query(`set local search_path = public; ${fix}`)
    t.strictSame([...new Set(listed(await findings(schemas, confirmsAddresses)))], [...left], fix)
  })
}

t.test('a mend leaves the states that a row may change to', async (t) => {
  await client.query('begin')
  t.teardown(() => client.query('rollback'))
  await client.query(`${table('public.t', 'select, update')} ${readsOwn('public.t')}
    create policy p on public.t for update to authenticated using (${mine} and kind = 'draft') with check (kind in ('draft', 'sent'));
    insert into public.t (id, owner, kind) values (1, '11111111-1111-4111-8111-111111111111', 'draft')`)
  await client.query(fixMigration(await findings()) ?? '')
  await client.query(
    `set local role authenticated; set local request.jwt.claims = '{"sub":"11111111-1111-4111-8111-111111111111"}'`,
  )
  t.equal((await client.query(`update public.t set kind = 'sent'`)).rowCount, 1)
})

t.test('every lint has a case', (t) => {
  // Statistics and findings outside of the catalogue have tests of their own.
  const elsewhere = new Set([
    ...['unused_index', 'table_bloat', 'grant_without_policy', 'definer_function_exposed', 'storage_rls_disabled'],
    ...['storage_policy_without_bucket', 'missing_table', 'exposed_table_without_rls'],
    ...['exposed_relation_without_policies', 'exposed_view_of_owner', 'storage_bucket_listable'],
  ])
  const text = Object.values(cases).flatMap(({ found }) => found)
  const missing = [...Object.keys(splinterLints), ...Object.keys(ownLints)].filter(
    (code) => !elsewhere.has(code) && !text.some((line) => line.startsWith(`${code} `)),
  )
  t.strictSame(missing, [])
  t.end()
})
