// Finds what prevents the migrations, before they change anything: objects of other software with the same names as ours,
// and other migrations than ours. The schema `auth` of Supabase does not: the migrations complete it.
import type pg from 'pg'
import type { ChosenServices } from './migration-services.ts'

/** The database cannot be migrated. The message says what was found and what to do. Nothing was changed. */
export class OccupiedDatabase extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'OccupiedDatabase'
  }
}

/** Tables of GoTrue that the migrations create, or complete if they are GoTrue's own. */
const authTables = [
  ...['users', 'identities', 'sessions', 'refresh_tokens', 'mfa_factors', 'mfa_challenges', 'mfa_amr_claims'],
  ...['one_time_tokens', 'flow_state', 'oauth_client_states', 'audit_log_entries'],
  ...['webauthn_credentials', 'webauthn_challenges'],
  ...['oauth_clients', 'oauth_authorizations', 'oauth_consents'],
]
/** Tables of our own in `auth`. */
const ownAuthTables = ['api_keys', 'mfa_recovery_codes', 'earlier_sign_ups']
/** Functions without arguments that the migrations create in `auth`; those of GoTrue are replaced by equivalents. */
const authFunctions = ['uid', 'jwt', 'role', 'email']
const ownAuthFunctions = [
  ...['is_admin', 'new_refresh_token', 'new_link_token', 'keep_earlier_sign_up'],
  'remove_passkeys_of_deleted',
]
/** Tables in `public`, and the services that have them. */
const serviceTables: Readonly<Record<string, readonly string[]>> = {
  profiles: ['profiles', 'reports', 'analysis'],
  classification_runs: ['analysis'],
  reports: ['reports'],
}
/** Tables of Supabase's storage, which are kept if they have these columns. */
const storageColumns: Readonly<Record<string, readonly string[]>> = {
  buckets: ['id', 'name', 'owner_id', 'public', 'file_size_limit', 'allowed_mime_types'],
  objects: ['id', 'bucket_id', 'name', 'owner', 'owner_id', 'metadata', 'user_metadata', 'version', 'path_tokens'],
}

/** The table of Supabase's realtime, which is kept if it has these columns. */
const realtimeColumns: Readonly<Record<string, readonly string[]>> = {
  messages: ['id', 'topic', 'extension', 'payload', 'event', 'private', 'inserted_at'],
}

/** What is migrated. */
export type Occupied = {
  /** Folder of the embedded database, as the user wrote it; undefined for any other database. */
  readonly dataDir?: string | undefined
  readonly services?: ChosenServices
}

/**
 * Checks whether the migrations can be applied: to a database without objects of their names, or to one of Supabase,
 * whose schema `auth` they complete. Changes nothing.
 *
 * @throws OccupiedDatabase
 */
export async function requireFreeDatabase(client: pg.Client, { dataDir, services }: Occupied = {}): Promise<void> {
  if (await hasMigrations(client)) return
  const supabase = await supabaseAuth(client)
  if (supabase?.isOutdated) throw new OccupiedDatabase(outdatedMessage(await placeOf(client, dataDir)))
  if (supabase && !supabase.isOurs) throw new OccupiedDatabase(ownerMessage(await placeOf(client, dataDir), supabase))
  const found = await foreignObjects(client, supabase !== undefined, services)
  if (found.length > 0) throw new OccupiedDatabase(foreignMessage(await placeOf(client, dataDir), dataDir, found))
}

/**
 * @param changed file names of applied migrations that have another name or text now
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

async function hasMigrations(client: pg.Client): Promise<boolean> {
  const { rows: known } = await client.query<{ exists: boolean }>(
    "select to_regclass('rowhouse.migrations') is not null as exists",
  )
  if (known[0]?.exists !== true) return false
  const { rows } = await client.query('select from rowhouse.migrations where id > 0 limit 1')
  return rows.length > 0
}

type SupabaseAuth = {
  readonly owner: string
  /** The connected role. */
  readonly role: string
  /** Whether the connected role has the rights of the owner. */
  readonly isOurs: boolean
  /** Whether GoTrue has not run its migrations since identities have ids of their own. */
  readonly isOutdated: boolean
}

/** The schema `auth` of Supabase, recognised by the columns of its table of users; undefined if there is none. */
async function supabaseAuth(client: pg.Client): Promise<SupabaseAuth | undefined> {
  const { rows } = await client.query<SupabaseAuth>(
    `select pg_get_userbyid(c.relowner)::text as owner, current_user::text as role,
       pg_has_role(c.relowner, 'usage') as "isOurs",
       exists (
         select from pg_class where relnamespace = c.relnamespace and relname = 'identities' and not exists (
           select from pg_attribute where attrelid = pg_class.oid and attname = 'provider_id'
         )
       ) as "isOutdated"
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'auth' and c.relname = 'users' and c.relkind = 'r' and (
       select count(*) from pg_attribute a
       where a.attrelid = c.oid and a.attname in ('instance_id', 'aud', 'encrypted_password', 'raw_user_meta_data')
     ) = 4`,
  )
  return rows[0]
}

type ForeignObject = { readonly name: string; readonly owner: string }

async function foreignObjects(
  client: pg.Client,
  isSupabase: boolean,
  services: ChosenServices,
): Promise<readonly ForeignObject[]> {
  const inPublic = Object.entries(serviceTables)
    .filter(([, owners]) => services === undefined || owners.some((owner) => services.includes(owner)))
    .map(([name]) => `public.${name}`)
  const inAuth = [...ownAuthTables, ...(isSupabase ? [] : authTables)].map((name) => `auth.${name}`)
  const { rows } = await client.query<ForeignObject>(
    `select case c.relkind when 'v' then 'view ' when 'm' then 'materialized view ' else 'table ' end
         || n.nspname || '.' || c.relname as name,
       pg_get_userbyid(c.relowner)::text as owner
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname || '.' || c.relname = any ($1) and c.relkind in ('r', 'p', 'v', 'm', 'f')
     union all
     select 'table ' || schemas.name || '.' || c.relname, pg_get_userbyid(c.relowner)::text
     from json_each($3) as schemas (name, tables), json_each(schemas.tables) as wanted (name, columns)
     join pg_class c on c.relname = wanted.name
     where c.relnamespace = to_regnamespace(schemas.name) and exists (
       select from json_array_elements_text(wanted.columns) as missing (name) where not exists (
         select from pg_attribute a where a.attrelid = c.oid and a.attname = missing.name and not a.attisdropped
       )
     )
     union all
     select 'function auth.' || p.proname || '()', pg_get_userbyid(p.proowner)::text
     from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname = 'auth' and p.proname = any ($2) and p.pronargs = 0
     order by 1`,
    [
      [...inPublic, ...inAuth],
      [...ownAuthFunctions, ...(isSupabase ? [] : authFunctions)],
      JSON.stringify({
        storage: services?.includes('storage') === false ? {} : storageColumns,
        realtime: services?.includes('realtime') === false ? {} : realtimeColumns,
      }),
    ],
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
  const list = found.map(({ name, owner }) => `  ${name} (owner: ${owner})`)
  const isPublic = found.every(({ name }) => / (?:public|storage|realtime)\./.test(name))
  return [
    `${place} has objects that rowhouse did not create, and the migrations create others of the same names or purpose:`,
    ...list,
    'Nothing was changed.',
    ...(isPublic ? ['To keep them, leave out the services with tables of those names: SERVICES=rest,auth.'] : []),
    `To use all services, give rowhouse a database of its own: ${anotherDatabase(dataDir)}.`,
    'To serve the tables of this database at /rest/v1 only, run `rowhouse serve` without migrating (MIGRATE_ON_START=false).',
  ].join('\n')
}

const outdatedMessage = (place: string): string =>
  [
    `${place} has the schema auth of an old version of Supabase: auth.identities has no column provider_id. Nothing was changed.`,
    'Start a current version of GoTrue (2.132 or later) on it once, which migrates the schema, then run this again.',
  ].join('\n')

const ownerMessage = (place: string, { owner, role }: SupabaseAuth): string =>
  [
    `${place} has the schema auth of Supabase, whose tables belong to ${owner}; the role ${role} may not add columns to them. Nothing was changed.`,
    'Set MIGRATION_DATABASE_URL to a connection string of a superuser, such as supabase_admin.',
  ].join('\n')

const changedMessage = (place: string, dataDir: string | undefined, changed: readonly string[]): string =>
  [
    `${place} was set up by other migrations than those of this version, which differ in: ${changed.join(', ')}. Nothing was changed in it.`,
    'If you changed these files, undo that, and add a migration with the next number instead.',
    `If not, the database was set up by an unreleased version, from which there is no upgrade. ${startEmpty(dataDir)}`,
  ].join('\n')

const startEmpty = (dataDir: string | undefined): string =>
  dataDir === undefined
    ? `Instead, ${anotherDatabase(undefined)}. The old one stays as it is.`
    : `Instead, rename or delete the folder ${dataDir}, or ${anotherDatabase(dataDir)}.`
