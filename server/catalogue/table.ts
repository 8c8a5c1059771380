// Tables, views, materialised views, foreign and partitioned tables of the exposed schemas.

/** One column as clients and the planner see it. */
export type Column = {
  readonly name: string
  readonly description: string | null
  readonly nullable: boolean
  /**
   * Whether there may be nulls although the column is declared as not null: with a constraint that is not validated, in
   * foreign tables, and with domains, whose constraints do not apply to results of queries.
   */
  readonly hasUncheckedNulls?: boolean
  /** Type with domains resolved to their base type; only types outside pg_catalog keep modifiers: `character varying`. */
  readonly type: string
  /** The oid of its type, with domains resolved to their base type. */
  readonly typeOid?: number
  /** Type as declared; the domain's qualified name when the column is of a domain. */
  readonly nominalType: string
  /** The schema of the type's operators `<`, `=` and `>`, unless it is pg_catalog. */
  readonly operatorSchema?: string
  readonly maxLength: number | null
  /**
   * Default expression as SQL text, including nextval of identity columns. Null without a default and for stored
   * generated columns. For virtual generated columns (PostgreSQL 18) it is their expression, as in PostgREST.
   */
  readonly default: string | null
  readonly enumValues: readonly string[]
}

export type Table = {
  readonly schema: string
  readonly name: string
  readonly description: string | null
  readonly isView: boolean
  /** Whether the relation supports INSERT, UPDATE, DELETE (views: if updatable or by triggers), regardless of privileges. */
  readonly insertable: boolean
  readonly updatable: boolean
  readonly deletable: boolean
  /** Whether rows have the system column `xmin`: tables and partitioned tables. */
  readonly hasSystemVersion?: boolean
  /** Whether a role was granted SELECT on single columns, which does not include `xmin`. */
  readonly hasColumnGrants?: boolean
  /**
   * Whether an INSERT, or any write, calls functions that may have other effects: triggers that are not known to have none, and
   * what is not declared stable or immutable.
   */
  readonly insertRunsFunctions?: boolean
  readonly writeRunsFunctions?: boolean
  /** Whether a trigger may write the row again after an INSERT, and after an UPDATE. */
  readonly rewritesInserted?: boolean
  readonly rewritesUpdated?: boolean
  /** Whether Citus manages it, as a distributed or a reference table. */
  readonly isDistributed?: boolean
  /** The column that decides on the shard of a row. Undefined for tables that are not distributed, and reference tables. */
  readonly distributionColumn?: string | undefined
  /** Primary key columns sorted by name. For views: the columns that copy a table's key, in key order. */
  readonly primaryKey: readonly string[]
  /** Primary key and unique constraints, each with its columns in key order, the primary key first. Undefined for views. */
  readonly keys?: readonly (readonly string[])[]
  /** Undefined without any. */
  readonly conflictTargets?: readonly ConflictTarget[] | undefined
  /** Columns by name, in declaration order. */
  readonly columns: ReadonlyMap<string, Column>
}

/**
 * A partial unique index, or one of expressions, which is the only unique index of its columns.
 * https://www.postgresql.org/docs/current/sql-insert.html#SQL-ON-CONFLICT
 */
export type ConflictTarget = {
  /** The columns of its keys, also those within expressions, in no particular order. */
  readonly columns: readonly string[]
  /** What stands after ON CONFLICT, as SQL text: `(lower(email)) WHERE (deleted_at IS NULL)`. */
  readonly sql: string
}

/** The index that `on_conflict` names by its columns; undefined if a list of columns is enough to name it. */
export const conflictTarget = ({ conflictTargets }: Table, columns: readonly string[]): ConflictTarget | undefined =>
  conflictTargets?.find(
    (target) => target.columns.length === columns.length && target.columns.every((name) => columns.includes(name)),
  )

/** Tables by `qualifiedKey(schema, name)`. */
export type Tables = ReadonlyMap<string, Table>
