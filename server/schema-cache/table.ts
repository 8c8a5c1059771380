// Tables, views, materialised views, foreign and partitioned tables of the exposed schemas.

/** One column as clients and the planner see it. */
export type Column = {
  readonly name: string
  readonly description: string | null
  readonly nullable: boolean
  /** Type with domains resolved to their base type, modifiers kept only outside pg_catalog: `character varying`, `jsonb`. */
  readonly type: string
  /** Type as declared; the domain's qualified name when the column is of a domain. */
  readonly nominalType: string
  readonly maxLength: number | null
  /**
   * Default expression as SQL text, including nextval of identity columns. Null when there is none and for stored
   * generated columns; a virtual one (PostgreSQL 18) has its expression here, as in PostgREST.
   */
  readonly default: string | null
  readonly enumValues: readonly string[]
}

export type Table = {
  readonly schema: string
  readonly name: string
  readonly description: string | null
  readonly isView: boolean
  /** Whether the relation can take INSERT, UPDATE, DELETE at all (views by updatability or triggers); not privileges. */
  readonly insertable: boolean
  readonly updatable: boolean
  readonly deletable: boolean
  /** Primary key columns sorted by name; those of views are the ones that copy a table's key, in the key's order. */
  readonly primaryKey: readonly string[]
  /** Columns by name, in declaration order. */
  readonly columns: ReadonlyMap<string, Column>
}

/** Tables by `qualifiedKey(schema, name)`. */
export type Tables = ReadonlyMap<string, Table>
