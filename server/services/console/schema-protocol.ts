// What `GET /console/api/schema` and its neighbours send. The browser imports these types.

/** `select`, `insert`, `update` and `delete`: a capital letter for the whole relation, a small one for some of its columns. */
export type AccessLetters = string

export type ConsoleRole = {
  readonly name: string
  /** Whether no policy applies to it. */
  readonly bypassesRls: boolean
}

export type RelationKind = 'table' | 'partitioned table' | 'foreign table' | 'view' | 'materialized view'

/** A relation in the list. */
export type RelationSummary = {
  readonly schema: string
  readonly name: string
  readonly kind: RelationKind
  readonly comment: string | null
  readonly hasRls: boolean
  readonly forcesRls: boolean
  /** Estimated number of rows; null if unknown. */
  readonly rows: number | null
  readonly policyCount: number
  /** By role; without those that have no privilege. */
  readonly access: Readonly<Record<string, AccessLetters>>
  /** Name and type of each column, in their order. */
  readonly columns: readonly (readonly [name: string, type: string])[]
}

export type RoutineSummary = {
  readonly schema: string
  readonly name: string
  readonly comment: string | null
  readonly volatility: 'volatile' | 'stable' | 'immutable'
  readonly parameters: readonly {
    readonly name: string
    readonly type: string
    readonly isRequired: boolean
    readonly isVariadic: boolean
  }[]
  readonly returns: { readonly type: string; readonly isSet: boolean }
}

/** `GET schema?schemas=`: the exposed schemas by default. */
export type ConsoleSchema = {
  /** The schemas of the REST API; the first is the default. */
  readonly exposed: readonly string[]
  /** All schemas of the database. */
  readonly schemas: readonly string[]
  /** The roles that requests can have. */
  readonly roles: readonly ConsoleRole[]
  readonly relations: readonly RelationSummary[]
  /** Whether there are more relations than are listed. */
  readonly isCut: boolean
  /** Functions of the exposed schemas among those that were asked for. */
  readonly routines: readonly RoutineSummary[]
}

export type ColumnDetails = {
  readonly name: string
  /** As declared: `character varying(40)`, `public.mood[]`. */
  readonly type: string
  /** Name in `pg_type`, without domain and array: `jsonb`, `int8`. */
  readonly baseType: string
  readonly isArray: boolean
  /** `typcategory`: B boolean, D date or time, E enum, N number, S text, … */
  readonly category: string
  readonly isNullable: boolean
  readonly default: string | null
  /** The expression of a generated column. */
  readonly generated: string | null
  readonly identity: 'always' | 'by default' | null
  readonly comment: string | null
  readonly enumValues: readonly string[]
  readonly access: Readonly<Record<string, AccessLetters>>
}

export type PolicyDetails = {
  readonly name: string
  readonly command: 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE' | 'ALL'
  readonly isPermissive: boolean
  readonly roles: readonly string[]
  readonly using: string | null
  readonly check: string | null
}

/** A foreign key from or to the relation. */
export type RelationLink = {
  /** `to`: this relation refers to the other one. */
  readonly direction: 'to' | 'from'
  readonly isOne: boolean
  readonly constraint: string
  readonly schema: string
  readonly name: string
  /** Pairs of a column of this relation and one of the other. */
  readonly columns: readonly (readonly [own: string, other: string])[]
}

/** `GET schema/relation?schema=&name=` */
export type RelationDetails = Omit<RelationSummary, 'columns'> & {
  /** Whether the REST API has it. If not, the fields from `isInsertable` on are false or empty. */
  readonly isExposed: boolean
  readonly isInsertable: boolean
  readonly isUpdatable: boolean
  readonly isDeletable: boolean
  /** Whether reads of one row have an `ETag` that writes can require. */
  readonly isVersioned: boolean
  readonly primaryKey: readonly string[]
  readonly links: readonly RelationLink[]
  readonly columns: readonly ColumnDetails[]
  readonly policies: readonly PolicyDetails[]
}
