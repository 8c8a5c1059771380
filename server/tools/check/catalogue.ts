// What the lints look at: schemas, privileges and policies of a database as plain data.
import { authAdminRole, isInternalRole } from '../../identity/internal-role.ts'
import {
  readPart,
  type Dependency,
  type ForeignKey,
  type FunctionRow,
  type Index,
  type PolicyRow,
  type Relation,
  type Role,
  type Schema,
  type Trigger,
} from '../../catalogue/description.ts'
import { decodeRow, introspectionQuery, rowsOf, type RunClientQuery } from '../../catalogue/introspection.ts'
import { introspectionSettings } from '../../catalogue/load.ts'
import type { SettingFunction } from './setting-functions.ts'

export type ApiRole = Role & {
  /** Whether requests of clients can have the role, and policies apply to it. */
  readonly isApi: boolean
}

export type DatabaseRow = {
  /** The connected role. */
  readonly login: string
  /** Major version of PostgreSQL. */
  readonly version: number
  /** Operators named `=`. */
  readonly equalities: readonly number[]
  readonly extensions: readonly {
    readonly name: string
    readonly quoted: string
    readonly schema: string
    readonly isRelocatable: boolean
    readonly installed: string | null
    readonly default: string | null
    readonly isOutdated: boolean | null
  }[]
  /** Default privileges that were changed: who may execute new functions of an owner, everywhere or in one schema. */
  readonly functionDefaults: readonly {
    readonly owner: number
    readonly schema: string | null
    readonly grantees: readonly number[]
  }[]
  /** Who owns objects in the exposed schemas. */
  readonly creators: readonly { readonly schema: string; readonly owner: number }[]
  /** Tables of the publication `supabase_realtime`. */
  readonly published: readonly Published[]
  readonly storage: { readonly isReadable: boolean; readonly readers: readonly string[] } | null
}

export type Published = {
  readonly relation: number
  /** What the log has of old rows. */
  readonly identity: 'default' | 'full' | 'index' | 'nothing'
}

export type Bucket = { readonly id: string; readonly name: string; readonly public: boolean }

/** Why there can be addresses that count as confirmed without proof. */
export type UnprovenAddresses = 'settings' | 'accounts'

export type CheckCatalogue = DatabaseRow & {
  readonly exposedSchemas: readonly string[]
  /** `db-extra-search-path`: where requests look for names as well. */
  readonly extraSearchPath: readonly string[]
  /** The role of requests without credentials. */
  readonly anonymous: string
  readonly roles: readonly ApiRole[]
  readonly schemas: readonly Schema[]
  readonly relations: readonly Relation[]
  readonly indexes: readonly Index[]
  readonly foreignKeys: readonly ForeignKey[]
  readonly policies: readonly PolicyRow[]
  readonly functions: readonly FunctionRow[]
  /** PostgreSQL's functions that are not immutable, by oid. */
  readonly ownFunctions: readonly { readonly oid: number; readonly name: string; readonly volatility: 's' | 'v' }[]
  readonly dependencies: readonly Dependency[]
  readonly settingFunctions: readonly SettingFunction[]
  readonly triggers: readonly Trigger[]
  readonly bloated: readonly { readonly schema: string; readonly name: string }[]
  readonly buckets: readonly Bucket[]
  /** Schemas with tables whose statistics the connected role may not read. */
  readonly hidden: readonly string[]
  /** Null if there are no such addresses, as far as the connected role sees. */
  readonly unproven: UnprovenAddresses | null
}

export type CheckScope = {
  /** `db-schemas`; schemas that do not exist are skipped. */
  readonly schemas: readonly string[]
  /** `db-anon-role`. */
  readonly anonymousRole: string | null
  /** `db-extra-search-path`. */
  readonly extraSearchPath?: readonly string[]
  /** Functions that the server calls by itself. */
  readonly settingFunctions?: readonly SettingFunction[]
  /** Whether the settings confirm addresses without proof. */
  readonly confirmsAddresses: boolean
}

/** The role of requests with an account, as in Supabase. */
const signedIn = 'authenticated'
const anonymousName = 'anon'
/** The role of servers, which may use all rows: by BYPASSRLS, or by policies where the database does not allow that. */
const serverRole = 'service_role'

/**
 * Reads the catalogue in the caller's open transaction, which should be read-only and `repeatable read`. Sets the
 * `search_path` of the transaction. Needs no privileges on the relations, and none of Supabase's schemas.
 *
 * @param query runs statements on one connection, preferably of `authenticator`: roles that it can switch to are checked
 */
export async function readCheckCatalogue(
  query: RunClientQuery,
  { schemas, anonymousRole, extraSearchPath = [], settingFunctions = [], confirmsAddresses }: CheckScope,
): Promise<CheckCatalogue> {
  const run = rowsOf(query)
  const read = async <T>(name: string, ...values: string[]): Promise<T[]> => {
    const statement = introspectionQuery(`check/${name}`, ...values)
    return (await run(statement.text, [...statement.values])).map(decodeRow<T>)
  }
  await query(introspectionSettings)
  const anonymous = anonymousRole ?? anonymousName
  const roles = (await readPart(run, 'roles', [anonymousName, signedIn, serverRole, anonymous])).map((role) => ({
    ...role,
    isApi: role.isReachable && !role.bypassesRls && !isInternalRole(role.name) && role.name !== serverRole,
  }))
  const [database] = await read<DatabaseRow>('database', JSON.stringify(schemas))
  if (!database) throw new Error('The database does not describe itself')
  return {
    ...database,
    exposedSchemas: schemas,
    extraSearchPath,
    anonymous,
    roles,
    schemas: await readPart(run, 'schemas'),
    relations: await readPart(run, 'relations', schemas),
    indexes: await readPart(run, 'indexes'),
    foreignKeys: await readPart(run, 'foreign-keys'),
    policies: await readPart(run, 'policies'),
    functions: await readPart(run, 'functions'),
    ownFunctions: await read('own-functions'),
    dependencies: await readPart(run, 'dependencies'),
    settingFunctions,
    triggers: await readPart(run, 'triggers'),
    bloated: await read('bloat'),
    buckets: await readBuckets(query, database),
    hidden: (await read<{ readonly schema: string }>('hidden')).map(({ schema }) => schema),
    unproven: confirmsAddresses ? 'settings' : (await hasUnproven(query)) ? 'accounts' : null,
  }
}

/** Whether an address of the sign-in service was confirmed without proof, if the connected role can switch to its role. */
async function hasUnproven(query: RunClientQuery): Promise<boolean> {
  const { rows: readers } = await query(
    // By name: to_regclass() fails for a role that may not use the schema.
    `select from pg_attribute a
     join pg_class c on c.oid = a.attrelid and c.relname = 'users'
     join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'auth'
     join pg_roles r on r.rolname = '${authAdminRole}'
     where a.attname = 'email_unproven' and pg_has_role(session_user, r.oid, 'member')
       and has_table_privilege(r.oid, c.oid, 'select') and has_schema_privilege(r.oid, n.oid, 'usage')`,
  )
  if (readers.length === 0) return false
  await query(`select set_config('role', '${authAdminRole}', true)`)
  const { rows } = await query('select from auth.users where email_unproven and email_confirmed_at is not null limit 1')
  await query(`select set_config('role', 'none', true)`)
  return rows.length > 0
}

/** The buckets of the storage service, if the connected role, or one that it can switch to, sees all of them. */
async function readBuckets(query: RunClientQuery, { storage }: DatabaseRow): Promise<Bucket[]> {
  const [reader] = storage?.readers ?? []
  if (reader === undefined) return []
  await query(`select set_config('role', $1, true)`, [reader])
  const { rows } = await query(
    `select json_build_object('id', id::text, 'name', name::text, 'public', coalesce(public, false)) as row
     from storage.buckets order by id`,
  )
  await query(`select set_config('role', 'none', true)`)
  return rows.map(decodeRow<Bucket>)
}
