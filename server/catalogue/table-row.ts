// Tables as `tables.sql` and `column-types.sql` return them.
import { compareText } from '../text/code-point-order.ts'
import { hasSameElements } from './catalog-memory.ts'
import { qualifiedKey, type QualifiedIdentifier } from './identifier.ts'
import { decodeRow, type CatalogRow } from './introspection.ts'
import { mapOf, type Steps } from './steps.ts'
import type { Column, Table } from './table.ts'

export type TableRow = Omit<
  Table,
  | 'insertable'
  | 'updatable'
  | 'deletable'
  | 'primaryKey'
  | 'keys'
  | 'columns'
  | 'conflictTargets'
  | 'isDistributed'
  | 'distributionColumn'
  | 'insertRunsFunctions'
  | 'writeRunsFunctions'
  | 'rewritesInserted'
  | 'rewritesUpdated'
> & {
  /** Columns and SQL of each; null without any. */
  readonly conflictTargets: readonly (readonly [columns: readonly string[], sql: string])[] | null
  /** Bit mask of the commands that call functions which may have other effects. */
  readonly runs?: number
  /** Bit mask of the commands after which a trigger may write the row again. */
  readonly rewrites?: number
  /** Bit mask of the commands that the relation supports. */
  readonly events: number
  /** JSON of `ColumnLists`; null without columns. */
  readonly columns: string | null
}

/** Decodes a row of the statement `tables`. */
export const decodeTable = (row: CatalogRow): TableRow => ({
  ...decodeRow<Omit<TableRow, 'columns'>>(row),
  columns: typeof row.columns === 'string' ? row.columns : null,
})

/** The order of relations in the schema cache: by code points, as Postgres sorts names. */
export const compareTables = (a: TableRow, b: TableRow): number =>
  compareText(a.schema, b.schema) || compareText(a.name, b.name)

/** The columns of a relation in their order: an array for each property, because names of members would be most of the text. */
type ColumnLists = readonly [
  names: readonly string[],
  /** `key` of their `ColumnTypeRow` */
  types: readonly string[],
  /** Bit sets of `columnFlag`. */
  flags: readonly number[],
  defaultTexts: readonly (string | null)[],
  descriptions: readonly (string | null)[],
]

const columnFlag = {
  isNotNull: 1,
  /** The constraint NOT NULL does not rule out nulls. */
  isUnchecked: 2,
  /** It has a default or is generated, so that the default of its domain does not apply. */
  hasDefault: 4,
}

/** What all columns of one type and modifier have in common. */
export type ColumnTypeRow = Pick<Column, 'type' | 'nominalType' | 'maxLength' | 'enumValues' | 'default'> & {
  readonly key: string
  /** Of the base type of a domain. */
  readonly oid: number
  /** Whether it is a domain with NOT NULL. */
  readonly isNotNull: boolean
  readonly operatorSchema: string | null
}

export type ColumnTypes = ReadonlyMap<string, ColumnTypeRow>

export const columnTypesOf = (rows: readonly ColumnTypeRow[]): Steps<ColumnTypes> =>
  mapOf(rows, (row) => [row.key, row] as const)

/** A table that Citus manages; `column` is null for a reference table. */
export type DistributedRelation = QualifiedIdentifier & { readonly column: string | null }

/** What other statements return about tables, by `qualifiedKey`. */
export type TableFacts = {
  readonly primaryKeys: ReadonlyMap<string, readonly string[]>
  readonly uniqueKeys: ReadonlyMap<string, readonly (readonly string[])[]>
  readonly distributed: ReadonlyMap<string, DistributedRelation>
}

/** Bits of `pg_relation_is_updatable`: 1 shifted left by the command's number (`CmdType`). */
const event = { update: 1 << 2, insert: 1 << 3, delete: 1 << 4 }

const noColumns: readonly string[] = []

/**
 * The table of a row. Its columns are decoded when they are first read: few of the tables of a large database are used, and
 * their columns would be most of the work and of the memory of a schema cache. A copy with `...` lacks the columns, which
 * belong to the class.
 */
export class CatalogTable implements Table {
  readonly schema: string
  readonly name: string
  readonly description: string | null
  readonly isView: boolean
  readonly insertable: boolean
  readonly updatable: boolean
  readonly deletable: boolean
  readonly hasSystemVersion: boolean | undefined
  readonly hasColumnGrants: boolean | undefined
  readonly conflictTargets: Table['conflictTargets']
  readonly insertRunsFunctions: boolean
  readonly writeRunsFunctions: boolean
  readonly rewritesInserted: boolean
  readonly rewritesUpdated: boolean
  readonly isDistributed: boolean
  readonly distributionColumn: string | undefined
  readonly primaryKey: readonly string[]
  readonly keys: Table['keys']
  readonly #row: TableRow
  readonly #types: ColumnTypes
  #columns: Table['columns'] | undefined

  constructor(row: TableRow, types: ColumnTypes, { primaryKeys, uniqueKeys, distributed }: TableFacts) {
    const { schema, name, events, rewrites = 0 } = row
    const key = qualifiedKey(schema, name)
    this.schema = schema
    this.name = name
    this.description = row.description
    this.isView = row.isView
    this.insertable = (events & event.insert) !== 0
    this.updatable = (events & event.update) !== 0
    this.deletable = (events & event.delete) !== 0
    this.hasSystemVersion = row.hasSystemVersion
    this.hasColumnGrants = row.hasColumnGrants
    this.conflictTargets = row.conflictTargets?.map(([columns, sql]) => ({ columns, sql }))
    this.insertRunsFunctions = row.runs === undefined || (row.runs & event.insert) !== 0
    this.writeRunsFunctions = row.runs !== 0
    this.rewritesInserted = (rewrites & event.insert) !== 0
    this.rewritesUpdated = (rewrites & event.update) !== 0
    this.isDistributed = distributed.has(key)
    this.distributionColumn = distributed.get(key)?.column ?? undefined
    this.primaryKey = primaryKeys.get(key) ?? noColumns
    this.keys = uniqueKeys.get(key)
    this.#row = row
    this.#types = types
  }

  /** @throws Error at the first use, when the type of a column is missing */
  get columns(): Table['columns'] {
    return (this.#columns ??= columnsOf(this.#row.columns, this.#types))
  }

  /** Whether it was made from the same row and types, and has the same keys as the other. */
  isSame(other: CatalogTable): boolean {
    return (
      this.#row === other.#row &&
      this.#types === other.#types &&
      this.isDistributed === other.isDistributed &&
      this.distributionColumn === other.distributionColumn &&
      hasSameElements(this.primaryKey, other.primaryKey) &&
      (this.keys === other.keys || JSON.stringify(this.keys) === JSON.stringify(other.keys))
    )
  }
}

function columnsOf(text: string | null, types: ColumnTypes): Table['columns'] {
  if (text === null) return new Map()
  const [names, keys, flags, defaultTexts, descriptions] = JSON.parse(text) as ColumnLists
  return new Map(
    names.map((name, index): [string, Column] => {
      const type = types.get(keys[index] ?? '')
      if (!type) throw new Error(`The type of the column "${name}" is unknown`)
      const [bits, defaultText, description] = [flags[index] ?? 0, defaultTexts[index], descriptions[index]]
      return [name, columnOf(name, type, bits, defaultText ?? null, description ?? null)]
    }),
  )
}

function columnOf(
  name: string,
  columnType: ColumnTypeRow,
  flags: number,
  defaultText: string | null,
  description: string | null,
): Column {
  const { isNotNull: isDomainNotNull, oid, operatorSchema, type, nominalType, maxLength, enumValues } = columnType
  const isNotNull = (flags & columnFlag.isNotNull) !== 0
  const hasUncheckedNulls = isNotNull ? (flags & columnFlag.isUnchecked) !== 0 : isDomainNotNull
  return {
    name,
    description,
    nullable: !(isNotNull || isDomainNotNull),
    type,
    typeOid: oid,
    nominalType,
    maxLength,
    default: (flags & columnFlag.hasDefault) !== 0 ? defaultText : (defaultText ?? columnType.default),
    enumValues,
    // Few columns have the following members.
    ...(hasUncheckedNulls ? { hasUncheckedNulls } : {}),
    ...(operatorSchema === null ? {} : { operatorSchema }),
  }
}
