// The benchmark's data: runs of users, all known in advance, so that requests can be generated without queries.
import { createHash, createHmac } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { signCookie } from '../../server/http/cookie.ts'
import { migrate } from '../../server/postgres/migrate.ts'
import { runSql, setAuthenticatorPassword, withClient, type Postgres } from './postgres.ts'

export const jwtSecret = 'the secret of the benchmark, of more than 32 characters'
export const sessionSecret = 'the session secret of the benchmark of more than 32 characters'

export type Dataset = { readonly rows: number; readonly users: number }

export const userCount = 1000
/** As many as there are on a page of reports. */
const reportsPerUser = 20
/** Rows inserted by requests have this image source, and reports this manufacturer, so that they can be deleted. */
export const marker = 'benchmark'

const uuidOf = (text: string): string =>
  createHash('md5')
    .update(text)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

/** Users are numbered from 1. */
export const userId = (user: number): string => uuidOf(`user ${user}`)

/** The id of a user's run, numbered from 0. Runs of all users alternate. */
export const runId = ({ users }: Dataset, user: number, run: number): string => uuidOf(`run ${run * users + user}`)

const base64url = (text: string): string => Buffer.from(text).toString('base64url')

/** A token signed with HS256. */
export function signToken(claims: Readonly<Record<string, unknown>>): string {
  const content = `${base64url('{"alg":"HS256","typ":"JWT"}')}.${base64url(JSON.stringify(claims))}`
  return `${content}.${createHmac('sha256', jwtSecret).update(content).digest('base64url')}`
}

const hour = 3600
const now = Math.floor(Date.now() / 1000)

/** Claims in the form that Supabase issues. */
export const userToken = (user: number, expires = now + 24 * hour): string =>
  signToken({
    aud: 'authenticated',
    exp: expires,
    iat: expires - 24 * hour,
    sub: userId(user),
    email: `user${user}@example.org`,
    role: 'authenticated',
  })

/** A token of `/auth/v1`, with the session of the user. */
export const sessionToken = (user: number): string =>
  signToken({
    aud: 'authenticated',
    exp: now + hour,
    iat: now,
    sub: userId(user),
    role: 'authenticated',
    session_id: uuidOf(`session ${user}`),
  })

export const serviceToken = (): string => signToken({ role: 'service_role', exp: now + 24 * hour })

const sessionOf = (user: number): string => `session-of-benchmark-user-${user}`

/** So late that no request extends the session. A finite value, because pg sends infinity as a number. */
const sessionEnd = Date.UTC(2100) / 1000

/** The Cookie header of a signed-in user. */
export const sessionCookie = (user: number): string =>
  `session=${signCookie('session', { id: sessionOf(user), expires: sessionEnd }, [sessionSecret])}`

const data = ({ rows, users }: Dataset): string => `
  -- Of what is generated here, foreign keys need no check.
  set session_replication_role = replica;
  insert into public.profiles (id, full_name, avatar_url)
  select md5('user ' || n)::uuid, 'User ' || n, 'https://avatars.example.org/' || n || '.png'
  from generate_series(1, ${users}) as n;
  insert into auth.users (id, email, encrypted_password)
  select md5('user ' || n)::uuid, 'user' || n || '@example.org', 'none' from generate_series(1, ${users}) as n;
  insert into auth.sessions (id, id_hash, user_id, created_at, not_after)
  select md5('session ' || n)::uuid, sha256(convert_to('session-of-benchmark-user-' || n, 'UTF8')), md5('user ' || n)::uuid, now(),
    to_timestamp(${sessionEnd})
  from generate_series(1, ${users}) as n;
  insert into public.classification_runs
    (id, user_id, image_uri, image_source, result_label, confidence, is_positive, recommendation, model_version,
      created_at, updated_at)
  select md5('run ' || n)::uuid, md5('user ' || ((n - 1) % ${users} + 1))::uuid,
    'https://images.example.org/runs/' || n || '.jpg', (array['camera', 'upload', 'import'])[1 + n % 3],
    (array['no damage', 'scratch', 'dent', 'crack', 'rust', 'broken glass', 'worn tyre'])[1 + n % 7],
    (hashint4(n) & 9999) / 100.0, n % 7 > 0, 'Have a workshop look at it within ' || n % 90 || ' days.',
    'classifier-' || n % 5, made, made
  from generate_series(1, ${rows}) as n, lateral (select timestamptz '2025-01-01' + n * interval '1 second' as made) as t;
  insert into public.reports (user_id, manufacturer, model, year, mileage, price, lat, lng, created_at)
  select md5('user ' || ((n - 1) % ${users} + 1))::uuid, 'Maker ' || n % 10, 'Model ' || n % 7, 1990 + n % 30, n, 1000 + n,
    48, 11, timestamptz '2025-01-01' + n * interval '1 second'
  from generate_series(1, ${users * reportsPerUser}) as n;
  set session_replication_role = origin;
  create function public.bench_add(a integer, b integer) returns integer language sql immutable as 'select a + b';
  grant execute on function public.bench_add to anon, authenticated;`

/** Analyzed as by autovacuum, which is off: without statistics, joins read all rows of a table that has few pages. */
const filled = ['public.classification_runs', 'public.profiles', 'public.reports', 'auth.users', 'auth.sessions']

export const databaseName = 'rowhouse_bench'
const manyTablesName = 'rowhouse_bench_tables'

/** Identifies the version and size of the data. */
async function versionOf(dataset: Dataset): Promise<string> {
  const hash = createHash('sha256').update(data(dataset))
  const migrations = new URL('../../sql/migrations/', import.meta.url)
  for (const file of (await readdir(migrations)).sort()) hash.update(await readFile(new URL(file, migrations)))
  return hash.digest('hex').slice(0, 16)
}

/** Creates the database, unless an earlier run left it in the same state. */
export async function prepareDataset(postgres: Postgres, dataset: Dataset, own: boolean): Promise<void> {
  const version = await versionOf(dataset)
  await prepare(postgres, databaseName, version, own, async (admin) => {
    await runSql(admin, data(dataset))
    for (const table of filled) {
      // Commits are asynchronous without fsync. Pages are marked as visible to all only once they have been written.
      await runSql(admin, 'checkpoint')
      await runSql(admin, `vacuum analyze ${table}`)
    }
    await runSql(admin, 'checkpoint')
    const hidden = await runSql<{ name: string }>(
      admin,
      `select oid::regclass::text as name from pg_class
       where oid = any ('{${filled.join(', ')}}'::regclass[]) and relallvisible < 0.99 * relpages`,
    )
    if (hidden.length > 0) throw new Error(`not all of ${hidden.map(({ name }) => name).join(', ')} is visible to all`)
  })
}

/** Adds a database of 100 small tables with foreign keys, besides the program's own. Returns its name. */
export async function prepareManyTables(postgres: Postgres, own: boolean): Promise<string> {
  await prepare(postgres, manyTablesName, await versionOf({ rows: 0, users: 0 }), own, async (admin) => {
    const tables = Array.from({ length: 100 }, (_, index) => {
      const columns = Array.from({ length: 8 }, (_, column) => `column_${column} text`).join(', ')
      const reference = index === 0 ? '' : `, parent_id integer references public.table_${index - 1}`
      return `create table public.table_${index} (id integer primary key, ${columns}${reference});
        grant select on public.table_${index} to anon, authenticated;`
    })
    await runSql(admin, tables.join('\n'))
  })
  return manyTablesName
}

async function prepare(
  postgres: Postgres,
  name: string,
  version: string,
  own: boolean,
  fill: (admin: string) => Promise<void>,
): Promise<void> {
  const cluster = postgres.adminUri('postgres')
  const [found] = await runSql<{ version: string | null }>(
    cluster,
    `select shobj_description(oid, 'pg_database') as version from pg_database where datname = '${name}'`,
  )
  if (found?.version === version) return
  await runSql(cluster, `drop database if exists ${name} with (force)`)
  await runSql(cluster, `create database ${name}`)
  const admin = postgres.adminUri(name)
  await withClient(admin, (client) => migrate(client))
  if (own) await setAuthenticatorPassword(admin)
  await fill(admin)
  // Last, because it marks the database as complete.
  await runSql(cluster, `comment on database ${name} is '${version}'`)
}

/** Waits until no query is running, and deletes the rows inserted by requests. */
export async function cleanUp(admin: string): Promise<void> {
  const busy = `select 1 from pg_stat_activity
    where usename = 'authenticator' and datname = current_database() and state <> 'idle'`
  while ((await runSql(admin, busy)).length > 0) await new Promise((resolve) => setTimeout(resolve, 50))
  await runSql(
    admin,
    `delete from public.classification_runs where image_source = '${marker}';
     delete from public.reports where manufacturer = '${marker}'`,
  )
  await runSql(admin, 'vacuum public.classification_runs')
  await runSql(admin, 'vacuum public.reports')
}
