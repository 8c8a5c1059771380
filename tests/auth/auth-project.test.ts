// A Supabase project: its migrations and its seed are applied unchanged to a database with the services rest and auth.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { migrate, pendingMigrations } from '../../server/postgres/migrate.ts'
import { detailsOf, fail, signIn, signUp } from '../support/account.ts'
import { describeMissing, missingTables } from '../../server/tools/check/missing-tables.ts'
import type { RunClientQuery } from '../../server/catalogue/introspection.ts'
import { applyMigrations } from '../../server/tools/migrations/apply.ts'
import { startApplication } from '../support/application.ts'
import { readCluster } from '../support/cluster.ts'
import { createDatabase, createMigratedDatabase, withClient, type TestDatabase } from '../support/database.ts'

const services = ['rest', 'auth']
const project = new URL('../fixtures/starter-project/', import.meta.url)

/** Its views need PostgreSQL 15. */
const skip = (await readCluster()).majorVersion < 15
const sessionSecrets = { SESSION_SECRETS: 's'.repeat(32), SECURE_COOKIES: 'false' }

async function ownDatabase(t: Pick<Test, 'teardown'>): Promise<TestDatabase> {
  // The template comes first: its migration creates the roles of the cluster, with their passwords.
  await (await createMigratedDatabase()).drop()
  const database = await createDatabase()
  t.teardown(database.drop)
  await withClient(database.adminUri, (client) => migrate(client, { services }))
  return database
}

/** Applies the files as `rowhouse migrate --seed` does in the folder of a project. */
async function applyProject(database: TestDatabase): Promise<void> {
  const folder = fileURLToPath(project)
  const seed = join(folder, 'seed.sql')
  const done = await withClient(database.adminUri, (client) => applyMigrations(client, folder, { seeds: [seed] }))
  t.strictSame(done.seeded, [seed])
  t.equal(done.applied.length, 2)
}

t.test('a project without the product', { skip }, async (t) => {
  const database = await ownDatabase(t)
  const { rows } = await database.query(
    "select relname::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v')",
  )
  t.strictSame(rows, [], 'the schema public is empty')
  t.equal((await database.query("select from pg_proc where pronamespace = 'public'::regnamespace")).rowCount, 0)
  await applyProject(database)

  const { call } = await startApplication(t, database.uri('authenticator', 'authenticator'), {
    SERVICES: services.join(),
    ...sessionSecrets,
  })

  await t.test('routes of other services do not exist', async (t) => {
    for (const path of ['/report', '/api/v1/water-hyacinth/health', '/report/estimate']) {
      t.equal((await call('GET', path)).status, 404, path)
    }
    t.equal((await call('GET', '/health')).status, 200)
    t.notOk('api_prefix' in ((await call('GET', '/')).body as object))
    t.equal((await call('GET', '/', { headers: { Accept: 'text/html' } })).status, 200)
  })

  await t.test('the documents describe what there is', async (t) => {
    const { paths, components } = (await call('GET', '/openapi.json')).body as {
      paths: Record<string, unknown>
      components: { schemas: Record<string, { properties?: object }> }
    }
    const names = Object.keys(paths)
    t.ok(names.includes('/rest/v1/notes') && names.includes('/auth/signin'))
    t.strictSame(
      names.filter((name) => /report|hyacinth|classification/.test(name)),
      [],
    )
    t.ok(components.schemas['tables.profiles'] ?? components.schemas.profiles)
    const rest = (await call('GET', '/rest/v1/')).body as { paths: Record<string, unknown>; info: { title: string } }
    t.strictSame(Object.keys(rest.paths).sort(), [
      '/',
      '/departures',
      '/notes',
      '/open_notes',
      '/profiles',
      '/rpc/count_notes',
    ])
    t.not(rest.info.title, 'Profiles and classification runs and vehicle reports')
  })

  await t.test('a sign-up runs the triggers of the project', async (t) => {
    const ann = await signUp(call, 'ann@example.org')
    const profile = await database.query('select full_name, role::text from public.profiles where id = $1', [ann.id])
    t.strictSame(profile.rows, [{ full_name: 'Test', role: 'member' }])
    await ann.call('PATCH', '/auth/me', { body: { currentPassword: 'correct horse', email: 'anna@example.org' } })
    const renamed = await database.query('select username from public.profiles where id = $1', [ann.id])
    t.strictSame(renamed.rows, [{ username: 'anna' }])
    await ann.call('DELETE', '/auth/me', { body: { password: 'correct horse' } })
    t.strictSame((await database.query('select email from public.departures')).rows, [{ email: 'anna@example.org' }])
  })

  await t.test('a trigger of the project refuses a sign-up with its own message', async (t) => {
    const body = { email: 'eve@blocked.example', firstName: 'Eve', password: 'correct horse' }
    const given = await call('POST', '/auth/signup', { body })
    t.strictSame([given.status, given.body], [400, fail(400, 'Sign-ups from this domain are closed')])
    t.equal((await database.query("select from auth.users where email like '%blocked%'")).rowCount, 0)
  })

  await t.test('users of the seed sign in, and see their rows', async (t) => {
    for (const [email, title] of [
      ['user1@example.com', 'Note of user1@example.com'],
      ['terse@example.com', 'Note of Terse@Example.com'],
    ] as const) {
      const user = await signIn(call, email, 'password123')
      const stored = await database.query('select encrypted_password as hash from auth.users where id = $1', [user.id])
      t.match(stored.rows[0]?.hash, /^\$argon2id\$/, 'the hash was replaced')
      await signIn(call, email, 'password123')
      const { access_token: token } = detailsOf<{ access_token: string }>(await user.call('POST', '/auth/token'))
      const headers = { Authorization: `Bearer ${token}` }
      const notes = await call('GET', '/rest/v1/notes?select=title', { headers })
      t.strictSame([notes.status, notes.body], [200, [{ title }]])
      const added = await call('POST', '/rest/v1/notes', { headers, body: { title: 'More' } })
      t.equal(added.status, 201, added.text)
      t.strictSame((await call('POST', '/rest/v1/rpc/count_notes', { headers, body: {} })).body, 2)
      const profile = await call('PATCH', `/rest/v1/profiles?id=eq.${user.id}`, {
        headers,
        body: { username: email.slice(0, 5), avatar_url: 'not checked by the schemas of the product' },
      })
      t.equal(profile.status, 204, profile.text)
    }
    t.strictSame((await call('GET', '/rest/v1/notes')).body, [], 'without a session, policies hide all rows')
    t.equal(((await call('GET', '/rest/v1/profiles')).body as unknown[]).length, 4, 'as the policy says')
  })

  await t.test('the API cannot reach accounts', async (t) => {
    for (const profile of ['auth', 'extensions', 'rowhouse']) {
      t.equal((await call('GET', '/rest/v1/users', { headers: { 'Accept-Profile': profile } })).status, 406, profile)
    }
  })
})

t.test('services can be added later, unless a table is in the way', { skip }, async (t) => {
  const database = await ownDatabase(t)
  await withClient(database.adminUri, async (client) => {
    t.strictSame(await pendingMigrations(client, { services }), [])
    t.strictSame((await migrate(client, { services })).applied, [])
    const expected = [
      '000012_profiles.sql',
      '000013_reports.sql',
      '000014_analysis.sql',
      '000015_storage.sql',
      '000016_storage_lists.sql',
      '000018_realtime.sql',
      '000019_console.sql',
      '000020_leases.sql',
      '000021_calls.sql',
      '000022_webhooks.sql',
      '000023_net.sql',
      '000024_schedules.sql',
    ]
    t.strictSame(await pendingMigrations(client), expected)
    const query: RunClientQuery = (text, values) => client.query<Record<string, unknown>>(text, values)
    t.strictSame(await missingTables(query, ['rest', 'auth']), [])
    const missing = await missingTables(query, ['rest', 'auth', 'reports', 'analysis'])
    t.strictSame(missing, [
      { table: 'public.profiles', services: ['reports', 'analysis'] },
      { table: 'public.reports', services: ['reports'] },
      { table: 'public.classification_runs', services: ['analysis'] },
    ])
    t.match(
      missing.map(describeMissing)[0],
      /^missing table public\.profiles of reports, analysis: run rowhouse migrate/,
    )
    t.strictSame((await migrate(client)).applied, expected)
    t.strictSame(await missingTables(query, ['rest', 'auth', 'profiles', 'reports', 'analysis']), [])
    t.strictSame((await migrate(client)).applied, [])
    t.strictSame((await migrate(client, { services })).applied, [], 'services that are left out keep their tables')
  })
  const occupied = await ownDatabase(t)
  await applyProject(occupied)
  await withClient(occupied.adminUri, async (client) => {
    await t.rejects(migrate(client), { message: /000012|profiles/ })
    t.equal((await client.query('select from public.profiles')).rowCount, 4, 'the table of the project is unchanged')
  })
})
