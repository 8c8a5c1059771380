// Nothing of a service is created in a database that did not ask for it: the whole catalogue, by the chosen services.
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { allMigrations, migrate } from '../../server/postgres/migrate.ts'
import { createDatabase, createMigratedDatabase, withClient } from '../support/database.ts'

const folder = new URL('../../sql/migrations/', import.meta.url)

/** Every object that is no part of PostgreSQL or an extension, without constraints and what else belongs to another one. */
const objects = `
  select distinct identity.type || ' ' || identity.identity as name
  from (
    select 'pg_namespace'::regclass as class, oid from pg_namespace
    union all select 'pg_class'::regclass, oid from pg_class where relkind not in ('i', 'I', 't')
    union all select 'pg_proc'::regclass, oid from pg_proc
    union all select 'pg_type'::regclass, oid from pg_type where typtype in ('d', 'e')
    union all select 'pg_policy'::regclass, oid from pg_policy
    union all select 'pg_trigger'::regclass, oid from pg_trigger where not tgisinternal
    union all select 'pg_event_trigger'::regclass, oid from pg_event_trigger
  ) as object, pg_identify_object(object.class, object.oid, 0) as identity
  where object.oid >= 16384
    and not exists (select from pg_depend d where d.classid = object.class and d.objid = object.oid and d.deptype = 'e')
  order by 1`

const namesOf = async (services: readonly string[]): Promise<readonly string[]> => {
  const database = await createDatabase()
  t.teardown(database.drop)
  return withClient(database.adminUri, async (client) => {
    await migrate(client, { services })
    return (await client.query<{ name: string }>(objects)).rows.map(({ name }) => name)
  })
}

t.test('the catalogue', async (t) => {
  // The template comes first: its migration creates the roles of the cluster.
  const all = await createMigratedDatabase()
  t.teardown(all.drop)
  const everything = (await all.query(objects)).rows.map(({ name }) => name as string)
  const few = await namesOf(['rest', 'auth'])
  const services = /report|profile|classification|valuation|estimate|vehicle|storage/
  t.ok(everything.filter((name) => services.test(name)).length > 20, 'the pattern finds them where they are')
  t.strictSame(
    few.filter((name) => services.test(name)),
    [],
  )
  t.strictSame(
    few.filter((name) => name.includes(' public.') || name.includes(' on public.')),
    [],
    'the schema public is empty',
  )
  const schemas = few.filter((name) => name.startsWith('schema '))
  t.strictSame(schemas, ['schema auth', 'schema extensions', 'schema rowhouse', 'schema rowhouse_limits'])
  t.strictSame(
    few.filter((name) => !everything.includes(name)),
    [],
    'nothing is created in their place',
  )
  const stored = await namesOf(['rest', 'storage'])
  t.strictSame(
    stored.filter(
      (name) =>
        !few.includes(name) &&
        !/storage|rowhouse\.(?:resumable_|delete_files|owner_lock|refuse_deleted_owner)/.test(name),
    ),
    [],
    'storage stays in its schema',
  )
})

t.test('roles', async (t) => {
  // They belong to the whole cluster, where other tests have created all of them.
  const sql = async (services: readonly string[]): Promise<string> =>
    (
      await Promise.all((await allMigrations({ services })).map((name) => readFile(new URL(name, folder), 'utf8')))
    ).join()
  t.match(await sql(['rest', 'storage']), /supabase_storage_admin/)
  t.notMatch(await sql(['rest', 'auth', 'profiles', 'reports', 'analysis']), /supabase_storage_admin/)
})
