// What a database has and who may use it, as plain data: read in parts, each by one statement of `sql/introspection/parts/`.
// For the tools. The API reads a snapshot of what it exposes instead (`schema-cache.ts`).
import { decodeRow, introspectionQuery, type RunQuery } from './introspection.ts'

export type Role = {
  readonly oid: number
  readonly name: string
  readonly isSuperuser: boolean
  /** Whether it is a superuser or has the attribute BYPASSRLS. */
  readonly bypassesRls: boolean
  readonly bypassAttribute: boolean
  /** Whether requests can have the role: one that was asked for, or that the connected role can switch to. */
  readonly isReachable: boolean
  /** The roles whose rights it inherits. */
  readonly memberOf: readonly number[]
}

export type Schema = {
  readonly name: string
  readonly quoted: string
  /** The roles that USAGE was granted to, by oid; 0 is PUBLIC. */
  readonly users: readonly number[]
}

/** A privilege that was granted. */
export type Granted = {
  /** The role by oid; 0 is PUBLIC. */
  readonly to: number
  /** `select`, `insert`, `update`, `delete`, `truncate`, … */
  readonly privilege: string
  /** Number of the column; null for the whole relation. */
  readonly column: number | null
}

export type Column = {
  readonly number: number
  readonly name: string
  readonly quoted: string
  readonly type: string
  readonly typeSchema: string
  readonly isGenerated: boolean
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
  readonly granted: readonly Granted[]
  /** Storage parameters, such as `security_invoker=on`. */
  readonly options: readonly string[]
  /** The stored query of a view, if it was asked for. */
  readonly tree: string | null
  readonly columns: readonly Column[]
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
  /** The extension that it belongs to. */
  readonly extension: string | null
  readonly hasOwnPrivileges: boolean
  /** The owner and all roles that EXECUTE was granted to, by oid; 0 is PUBLIC. */
  readonly grantees: readonly number[]
}

export type Trigger = {
  readonly relation: number
  readonly name: string
  readonly quoted: string
  readonly function: number
  /** Base64 of the arguments, each with a zero byte at its end. */
  readonly arguments: string
  readonly isBefore: boolean
  readonly isOnUpdate: boolean
}

/** What a part of a relation, or the body of a function, uses. */
export type Dependency = {
  readonly kind:
    | 'policy'
    | 'view'
    | 'rule'
    | 'default'
    | 'generated column'
    | 'constraint'
    | 'domain'
    | 'trigger'
    | 'index'
    | 'partition key'
    | 'function'
    /** A foreign key by which a write also writes to the referencing table. */
    | 'cascade'
    /** A partition or a table that inherits. */
    | 'child'
    | 'other'
  /** The name of the part; that of the column for defaults and domains. */
  readonly name: string
  /** The relation that it belongs to, by oid; null for functions, constraints of domains, operators and the like. */
  readonly relation: number | null
  /** The function whose body it is, by oid. */
  readonly function: number | null
  /** Whether it runs when the relation is read or written, only when it is written, or never, as disabled triggers. */
  readonly runs: 'always' | 'on write' | 'never'
  /** The function that it calls, by oid; of PostgreSQL's own functions, only those that are volatile. */
  readonly usesFunction: number | null
  /** The relation that it uses, by oid. */
  readonly usesRelation: number | null
}

/** What can be written to a relation by any role. */
export type Writability = {
  readonly relation: number
  /** A bit set, `1 << command`: UPDATE 4, INSERT 8, DELETE 16. */
  readonly events: number
}

/** The parts, with their parameters. */
type Parts = {
  /** Takes names of roles that requests can have. */
  readonly roles: Role
  readonly schemas: Schema
  /** Takes names of schemas whose views are read with their stored query. */
  readonly relations: Relation
  /** Takes names of schemas. */
  readonly writability: Writability
  readonly indexes: Index
  readonly 'foreign-keys': ForeignKey
  readonly policies: PolicyRow
  readonly functions: FunctionRow
  readonly triggers: Trigger
  readonly dependencies: Dependency
}

/**
 * Reads a part, which is in the order of names. Needs no privileges on what it describes. With an empty `search_path`, all
 * names in definitions are qualified.
 *
 * @param names its parameter, if it has one
 */
export async function readPart<P extends keyof Parts>(
  query: RunQuery,
  part: P,
  names?: readonly string[],
): Promise<Parts[P][]> {
  const { text, values } = introspectionQuery(`parts/${part}`, ...(names ? [JSON.stringify(names)] : []))
  return (await query(text, [...values])).map(decodeRow<Parts[P]>)
}
