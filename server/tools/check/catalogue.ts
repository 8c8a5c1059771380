// What the lints look at: schemas, privileges and policies of a database as plain data.
import { authAdminRole, isInternalRole } from '../../identity/internal-role.ts'
import { decodeRow, introspectionQuery } from '../../catalogue/introspection.ts'
import { introspectionSettings } from '../../catalogue/load.ts'
import type { RunClientQuery } from './exposure.ts'
import type { SettingFunction } from './setting-functions.ts'

export type Role = {
  readonly oid: number
  readonly name: string
  readonly isSuperuser: boolean
  /** Whether it is a superuser or has the attribute BYPASSRLS. */
  readonly bypassesRls: boolean
  readonly bypassAttribute: boolean
  /** Whether requests of clients can have the role, and policies apply to it. */
  readonly isApi: boolean
  /** Whether the connected role can switch to it. */
  readonly canSwitch: boolean
  /** The roles whose rights it inherits. */
  readonly memberOf: readonly number[]
}

export type Grants = {
  /** USAGE on the schema. */
  readonly usage: boolean
  readonly select: boolean
  /** On the relation or at least one of its columns; likewise `insert` and `update`. */
  readonly selectColumn: boolean
  readonly insert: boolean
  readonly update: boolean
  readonly delete: boolean
}

export type Column = {
  readonly number: number
  readonly name: string
  readonly quoted: string
  readonly type: string
  readonly typeSchema: string
  readonly isGenerated: boolean
  /** API roles with the privilege to update the column; empty without row-level security. */
  readonly updatableBy: readonly string[]
}

export type Relation = {
  readonly oid: number
  readonly schema: string
  readonly quotedSchema: string
  readonly name: string
  /** `schema.name` as SQL needs it. */
  readonly quoted: string
  /** `relkind`: table, partitioned table, foreign table, view, materialized view. */
  readonly kind: 'r' | 'p' | 'f' | 'v' | 'm'
  readonly owner: number
  readonly rls: boolean
  readonly forcesRls: boolean
  /** Estimated number of rows; negative if unknown. */
  readonly rows: number
  readonly isOfExtension: boolean
  readonly isPartition: boolean
  /** The owner and all roles with a privilege on the relation or a column, by oid; 0 is PUBLIC. */
  readonly grantees: readonly number[]
  /** Partitions and tables that inherit from it. */
  readonly children: readonly number[]
  /** Storage parameters, such as `security_invoker=on`. */
  readonly options: readonly string[]
  /** The relations that a view reads directly. */
  readonly reads: readonly number[]
  /** The stored query of a view in an exposed schema. */
  readonly tree: string | null
  readonly columns: readonly Column[]
  /** By the names of API roles. */
  readonly grants: Readonly<Record<string, Grants>>
}

export type Index = {
  readonly oid: number
  readonly relation: number
  readonly name: string
  readonly quoted: string
  /** Numbers of columns; 0 for an expression. */
  readonly keys: readonly number[]
  readonly isValid: boolean
  readonly isUnique: boolean
  readonly isPrimary: boolean
  readonly isPartial: boolean
  readonly isOfConstraint: boolean
  readonly isOfPartition: boolean
  /** How often it was used since the statistics were reset; null for an index without statistics. */
  readonly scans: number | null
  readonly definition: string
}

export type ForeignKey = {
  readonly name: string
  readonly relation: number
  readonly columns: readonly number[]
  readonly isOfPartition: boolean
  readonly referencedSchema: string
  readonly referenced: string
  /** Quoted columns of the primary key of the table that it refers to. */
  readonly primaryKey: readonly string[] | null
  /** Whether it refers to a unique constraint other than the primary key. */
  readonly refersToUnique: boolean | null
}

export type PolicyCommand = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE' | 'ALL'

export type PolicyRow = {
  readonly relation: number
  readonly name: string
  readonly quoted: string
  readonly command: PolicyCommand
  readonly isPermissive: boolean
  /** Roles by oid; 0 is PUBLIC. */
  readonly roles: readonly number[]
  readonly using: string | null
  readonly check: string | null
  readonly usingTree: string | null
  readonly checkTree: string | null
}

export type FunctionRow = {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly quoted: string
  /** As in `drop function`. */
  readonly arguments: string
  /** `prokind`: function, procedure, aggregate, window function. */
  readonly kind: 'f' | 'p' | 'a' | 'w'
  readonly language: string
  readonly owner: number
  readonly isSecurityDefiner: boolean
  readonly volatility: 'i' | 's' | 'v'
  readonly cost: number
  readonly returns: string
  readonly setsSearchPath: boolean
  readonly source: string
  readonly sourceHash: string
  /** The body of an SQL function that was parsed when it was created. */
  readonly tree: string | null
  readonly isOfExtension: boolean
  readonly hasOwnPrivileges: boolean
  /** Whether PUBLIC can execute it. */
  readonly isPublic: boolean
  /** All roles that can execute it by themselves, by oid; 0 is PUBLIC. Null if no role can. */
  readonly grantees: readonly number[] | null
  /** API roles with USAGE on its schema. */
  readonly usableBy: readonly string[]
  /** API roles with EXECUTE. */
  readonly executableBy: readonly string[]
}

/** What calls a function without a request that names it. */
export type FunctionUse = {
  readonly kind:
    | 'policy'
    | 'rule'
    | 'default'
    | 'generated column'
    | 'constraint'
    | 'trigger'
    | 'index'
    | 'partition key'
    | 'function'
    | 'other'
  readonly name: string
  /** Null for what belongs to no relation, such as constraints of domains, operators and functions. */
  readonly relation: number | null
  /** The roles of a policy by oid; 0 is PUBLIC. */
  readonly roles: readonly number[] | null
  /** For a function that calls it: its oid. */
  readonly caller: number | null
  /** The function that is called, by oid. */
  readonly function: number
}

export type Trigger = {
  readonly relation: number
  readonly name: string
  readonly quoted: string
  readonly function: number
  readonly isBefore: boolean
  readonly isOnUpdate: boolean
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
  /** Names of all schemas, with their quoted form. */
  readonly schemas: Readonly<Record<string, string>>
  /** Default privileges that were changed: who may execute new functions of an owner, everywhere or in one schema. */
  readonly functionDefaults: readonly {
    readonly owner: number
    readonly schema: string | null
    readonly grantees: readonly number[]
  }[]
  /** Who owns objects in the exposed schemas. */
  readonly creators: readonly { readonly schema: string; readonly owner: number }[]
  /** API roles with USAGE on the exposed schemas. */
  readonly usage: Readonly<Record<string, readonly string[]>>
  readonly storage: { readonly isReadable: boolean; readonly readers: readonly string[] } | null
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
  readonly roles: readonly Role[]
  readonly relations: readonly Relation[]
  readonly indexes: readonly Index[]
  readonly foreignKeys: readonly ForeignKey[]
  readonly policies: readonly PolicyRow[]
  readonly functions: readonly FunctionRow[]
  /** PostgreSQL's functions that are not immutable, by oid. */
  readonly ownFunctions: readonly { readonly oid: number; readonly name: string; readonly volatility: 's' | 'v' }[]
  readonly functionUses: readonly FunctionUse[]
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
  const read = async <T>(name: string, ...values: string[]): Promise<T[]> => {
    const statement = introspectionQuery(`check/${name}`, ...values)
    return (await query(statement.text, [...statement.values])).rows.map(decodeRow<T>)
  }
  await query(introspectionSettings)
  const anonymous = anonymousRole ?? anonymousName
  const named = JSON.stringify([anonymousName, signedIn, anonymous])
  const roles = (await read<Role>('roles', named)).map((role) => ({
    ...role,
    isApi: role.isApi && !role.bypassesRls && !isInternalRole(role.name) && role.name !== serverRole,
  }))
  const api = JSON.stringify(roles.filter(({ isApi }) => isApi).map(({ name }) => name))
  const exposed = JSON.stringify(schemas)
  const [database] = await read<DatabaseRow>('database', exposed, api)
  if (!database) throw new Error('The database does not describe itself')
  return {
    ...database,
    exposedSchemas: schemas,
    extraSearchPath,
    anonymous,
    roles,
    relations: await read('relations', api, exposed),
    indexes: await read('indexes'),
    foreignKeys: await read('foreign-keys'),
    policies: await read('policies'),
    functions: await read('functions', api),
    ownFunctions: await read('own-functions'),
    functionUses: await read('function-uses'),
    settingFunctions,
    triggers: await read('triggers'),
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
