// Databases that have a schema `storage` already: that of Supabase is served as it is, others are left alone.
import t, { type Test } from 'tap'
import { migrate } from '../../server/postgres/migrate.ts'
import { OccupiedDatabase } from '../../server/postgres/occupied-database.ts'
import { startApplication } from '../support/application.ts'
import { createDatabase, createMigratedDatabase, withClient, type TestDatabase } from '../support/database.ts'
import { askStorage, storageFaults as faults } from '../support/storage.ts'

/** Tables with the columns, the owner and the protection of Supabase's, but without newer columns and without indexes. */
const supabase = `
  create schema storage;
  grant all on schema storage to anon, authenticated, service_role, supabase_storage_admin;
  create table storage.buckets (
    id text primary key, name text not null unique, owner uuid, created_at timestamptz default now(),
    updated_at timestamptz default now(), public boolean default false, avif_autodetection boolean default false,
    file_size_limit bigint, allowed_mime_types text[], owner_id text, type text not null default 'STANDARD'
  );
  create table storage.objects (
    id uuid primary key default gen_random_uuid(), bucket_id text references storage.buckets, name text, owner uuid,
    created_at timestamptz default now(), updated_at timestamptz default now(), last_accessed_at timestamptz default now(),
    metadata jsonb, path_tokens text[] generated always as (string_to_array(name, '/')) stored, version text,
    owner_id text, user_metadata jsonb, level integer
  );
  create unique index on storage.objects (bucket_id, name);
  create function storage.foldername(name text) returns text[] language sql as $$ select string_to_array(name, '/') $$;
  create function storage.protect() returns trigger language plpgsql as $$
    begin
      if coalesce(current_setting('storage.allow_delete_query', true), '') <> 'true' then
        raise insufficient_privilege using message = 'Use the Storage API instead.';
      end if;
      return null;
    end $$;
  create trigger protect before delete on storage.objects for each statement execute function storage.protect();
  alter table storage.buckets enable row level security;
  alter table storage.objects enable row level security;
  grant all on storage.buckets, storage.objects to anon, authenticated, service_role;
  alter table storage.buckets owner to supabase_storage_admin;
  alter table storage.objects owner to supabase_storage_admin;
  create policy "everything" on storage.objects for select to anon using (bucket_id = 'old');
  insert into storage.buckets (id, name) values ('old', 'old');
  insert into storage.objects (bucket_id, name, metadata) values ('old', 'a', '{"size": 3, "mimetype": "image/png"}');`

async function databaseWith(t: Test, sql: string): Promise<TestDatabase> {
  // The template comes first: its migration creates the roles of the cluster.
  await (await createMigratedDatabase()).drop()
  const database = await createDatabase()
  t.teardown(database.drop)
  await database.query(sql)
  return database
}

t.test("Supabase's schema is kept and served", async (t) => {
  const database = await databaseWith(t, supabase)
  const shape = async (): Promise<unknown> =>
    (
      await database.query(
        `select json_build_array(
           (select json_agg(json_build_array(relname, relowner, relacl) order by relname) from pg_class
             where relnamespace = 'storage'::regnamespace and relname not like 'idx_objects_bucket_id_%'),
           (select json_agg(json_build_array(proname, prosrc) order by proname) from pg_proc
             where pronamespace = 'storage'::regnamespace and proname in ('foldername', 'protect')),
           (select json_agg(polname) from pg_policy where polrelid = 'storage.objects'::regclass)
         )::text as shape`,
      )
    ).rows
  const before = await shape()
  await withClient(database.adminUri, (client) => migrate(client, { services: ['rest', 'auth', 'storage'] }))
  t.strictSame(await shape(), before, 'migrations change nothing of it')
  const added = `select string_agg(relname, ' ' order by relname) as names from pg_class where relname like 'idx_objects_%'`
  t.strictSame(
    (await database.query(added)).rows,
    [{ names: 'idx_objects_bucket_id_list_key idx_objects_bucket_id_name' }],
    'apart from the indexes of lists',
  )

  const { url } = await startApplication(t, database.uri('authenticator', 'authenticator'), {
    STORAGE_FILE_BACKEND_PATH: t.testdir(),
    SERVICES: 'rest,auth,storage',
  })
  const ask = askStorage(url)
  const service = { as: 'service_role' } as const
  t.match((await ask('GET', '/bucket', service)).json, [{ id: 'old', type: 'STANDARD' }])
  t.match((await ask('GET', '/object/info/old/a', { as: 'anon' })).json, { name: 'a', size: 3 }, 'its policies apply')
  t.match((await ask('PUT', '/object/old/b', { ...service, body: 'new' })).json, { Key: 'old/b' })
  t.equal((await ask('GET', '/object/old/b', { as: 'anon' })).text, 'new')
  t.match((await ask('PUT', '/object/old/b', { ...service, body: 'newer' })).json, { Key: 'old/b' })
  t.strictSame((await ask('PUT', '/object/old/b', { as: 'anon', body: 'x' })).json, faults.rowSecurity)
  t.strictSame((await ask('DELETE', '/object/old/b', service)).json, { message: 'Successfully deleted' })
  t.equal((await ask('POST', '/bucket/old/empty', service)).status, 200)
  t.strictSame((await ask('DELETE', '/bucket/old', service)).json, { message: 'Successfully deleted' })
})

t.test('tables of the same names with other columns are left alone', async (t) => {
  const database = await databaseWith(t, 'create schema storage; create table storage.objects (id int, shelf text)')
  await withClient(database.adminUri, async (client) => {
    await t.rejects(migrate(client), {
      constructor: OccupiedDatabase,
      message:
        /^.* has objects that rowhouse did not create.*\n {2}table storage\.objects \(owner: postgres\)\nNothing was changed\.\nTo keep them, leave out/,
    })
    t.ok((await migrate(client, { services: ['rest', 'auth'] })).applied.length > 0, 'without the service')
  })
  const { rows } = await database.query("select to_regclass('storage.buckets') as buckets")
  t.strictSame(rows, [{ buckets: null }])
})

t.test('without its tables, the service says so', async (t) => {
  const database = await databaseWith(t, '')
  await withClient(database.adminUri, (client) => migrate(client, { services: ['rest', 'auth'] }))
  const { url } = await startApplication(t, database.uri('authenticator', 'authenticator'), {
    STORAGE_FILE_BACKEND_PATH: t.testdir(),
    SERVICES: 'rest,auth,storage',
  })
  const { status, json } = await askStorage(url)('GET', '/object/public/b/a')
  t.equal(status, 503)
  t.match(json, { statusCode: '503', code: 'DatabaseSchemaMismatch', message: /rowhouse migrate/ })
})

t.test('without the service, its routes do not exist', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  const { url } = await startApplication(t, database.authenticatorUri, { SERVICES: 'rest,auth' })
  t.equal((await fetch(`${url}/storage/v1/bucket`)).status, 404)
})
