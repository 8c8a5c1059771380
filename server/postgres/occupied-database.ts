// Finds what prevents the migrations, before they change anything: objects of Supabase or of other software with the
// same names as ours, and the migrations of earlier versions.
import type pg from 'pg'

/** The database cannot be migrated. The message says what was found and what to do. Nothing was changed. */
export class OccupiedDatabase extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'OccupiedDatabase'
  }
}

/** Relations that the migrations create, and `schema_migrations`, which is a sign of Supabase. */
const relations = [
  'auth.users',
  'auth.sessions',
  'auth.api_keys',
  'auth.rate_limits',
  'auth.schema_migrations',
  'public.profiles',
  'public.classification_runs',
  'public.reports',
]
/** Functions without arguments that the migrations create in `auth`. */
const functions = ['uid', 'jwt', 'role', 'email', 'is_admin']

/** Name of the first migration in versions whose numbers had fewer than six digits. The current first one differs. */
const earlierName = 'roles'
/** Numbers of the earlier migrations that created the tables, and that renamed a column of profiles. */
const tablesSince = 4
const fullNameSince = 15

/**
 * Checks whether the migrations can be applied. Changes nothing.
 *
 * @param dataDir folder of the embedded database, as the user wrote it; undefined for any other database
 * @throws OccupiedDatabase
 */
export async function requireFreeDatabase(client: pg.Client, dataDir?: string): Promise<void> {
  const applied = await appliedMigrations(client)
  if (applied.some(({ id, name }) => id === 1 && name === earlierName)) {
    throw new OccupiedDatabase(earlierMessage(await placeOf(client, dataDir), dataDir, applied.length))
  }
  if (applied.length > 0) return
  const found = await foreignObjects(client)
  if (found.length > 0) throw new OccupiedDatabase(foreignMessage(await placeOf(client, dataDir), dataDir, found))
}

/**
 * @param changed file names of applied migrations that have another text now
 * @param dataDir see `requireFreeDatabase`
 * @throws OccupiedDatabase when there are any
 */
export async function requireUnchanged(
  client: pg.Client,
  changed: readonly string[],
  dataDir: string | undefined,
): Promise<void> {
  if (changed.length > 0) throw new OccupiedDatabase(changedMessage(await placeOf(client, dataDir), dataDir, changed))
}

type Applied = { readonly id: number; readonly name: string }

async function appliedMigrations(client: pg.Client): Promise<readonly Applied[]> {
  const { rows: known } = await client.query<{ exists: boolean }>(
    "select to_regclass('rowhouse.migrations') is not null as exists",
  )
  if (known[0]?.exists !== true) return []
  const { rows } = await client.query<Applied>('select id, name from rowhouse.migrations where id > 0 order by id')
  return rows
}

type ForeignObject = { readonly name: string; readonly owner: string; readonly isSupabase: boolean }

async function foreignObjects(client: pg.Client): Promise<readonly ForeignObject[]> {
  const { rows } = await client.query<ForeignObject>(
    `select case c.relkind when 'v' then 'view ' when 'm' then 'materialized view ' else 'table ' end
         || n.nspname || '.' || c.relname as name,
       pg_get_userbyid(c.relowner)::text as owner,
       c.relname = 'schema_migrations' or c.relname = 'users' and exists (
         select from pg_attribute a where a.attrelid = c.oid and a.attname in ('aud', 'instance_id', 'raw_user_meta_data')
       ) as "isSupabase"
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname || '.' || c.relname = any ($1) and c.relkind in ('r', 'p', 'v', 'm', 'f')
     union all
     select 'function auth.' || p.proname || '()', pg_get_userbyid(p.proowner)::text,
       pg_get_userbyid(p.proowner)::text in ('supabase_admin', 'supabase_auth_admin')
     from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname = 'auth' and p.proname = any ($2) and p.pronargs = 0
     order by 1`,
    [relations, functions],
  )
  return rows
}

async function placeOf(client: pg.Client, dataDir: string | undefined): Promise<string> {
  if (dataDir !== undefined) return `The embedded database in ${dataDir}`
  const { rows } = await client.query<{ name: string }>('select current_database()::text as name')
  return `The database "${rows[0]?.name ?? ''}"`
}

const anotherDatabase = (dataDir: string | undefined): string =>
  dataDir === undefined
    ? 'create an empty database, and set MIGRATION_DATABASE_URL and DATABASE_URL to it'
    : 'set DATA_DIR to another folder'

function foreignMessage(place: string, dataDir: string | undefined, found: readonly ForeignObject[]): string {
  const whose = found.some(({ isSupabase }) => isSupabase)
    ? 'objects of Supabase'
    : 'objects that rowhouse did not create'
  const list = found.map(({ name, owner }) => `  ${name} (owner: ${owner})`)
  return [
    `${place} has ${whose}, and the migrations create others of the same names or purpose:`,
    ...list,
    'Nothing was changed.',
    `To use accounts and reports, give rowhouse a database of its own: ${anotherDatabase(dataDir)}.`,
    'To serve the tables of this database at /rest/v1 only, run `rowhouse serve` without migrating (MIGRATE_ON_START=false).',
  ].join('\n')
}

function earlierMessage(place: string, dataDir: string | undefined, count: number): string {
  return [
    `${place} was set up by ${count === 1 ? 'one migration' : `${count} migrations`} of an earlier version, which this version replaces. Nothing was changed.`,
    startAnew(dataDir),
    ...(count < tablesSince ? [] : move(dataDir, count < fullNameSince ? [renameColumn] : [])),
  ].join('\n')
}

const changedMessage = (place: string, dataDir: string | undefined, changed: readonly string[]): string =>
  [
    `${place} has migrations that were changed since they were applied: ${changed.join(', ')}. Nothing was changed in it.`,
    'If you changed them, undo that, and add a migration with the next number instead.',
    `If not, the database was set up by an unreleased version. ${startAnew(dataDir)}`,
    ...move(dataDir, []),
  ].join('\n')

const startAnew = (dataDir: string | undefined): string =>
  dataDir === undefined
    ? `To start without its rows, ${anotherDatabase(undefined)}. The old one stays as it is.`
    : `To start without its rows, rename or delete the folder ${dataDir}, or ${anotherDatabase(dataDir)}.`

/** @param before commands that change the old database first */
const move = (dataDir: string | undefined, before: readonly string[]): readonly string[] => [
  'To move its rows, create the new database as well, run `rowhouse migrate` for it, and then, with both connection strings:',
  ...[...before, ...moveRows].map((line) => `  ${line}`),
  ...(dataDir === undefined
    ? []
    : [
        'The section "Move rows from an earlier version" of the README shows how to start and reach both embedded databases.',
      ]),
]

const renameColumn = 'psql --command=\'alter table public.profiles rename column display_name to full_name\' "$OLD"'

/**
 * Shell commands, with the connection strings in `OLD` and `NEW`. Profiles come first, because the trigger for new
 * accounts does not change an existing profile. Rows are inserts, because mileages were `numeric`, and `copy` rejects
 * 15.0 as an integer.
 */
export const moveRows = [
  'pg_dump --data-only --column-inserts --table=public.profiles "$OLD" > profiles.sql',
  "pg_dump --data-only --column-inserts --table='auth.(users|sessions|api_keys)' \\",
  '  --table=\'public.(classification_runs|reports)\' "$OLD" > rows.sql',
  'psql --quiet --output=/dev/null --single-transaction --set=ON_ERROR_STOP=1 \\',
  '  --file=profiles.sql --file=rows.sql "$NEW"',
] as const
