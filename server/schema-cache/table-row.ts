// Tables as `tables.sql` and `column-types.sql` return them.
import { qualifiedKey } from './identifier.ts'
import type { Column, Table } from './table.ts'

export type TableRow = Omit<
  Table,
  'insertable' | 'updatable' | 'deletable' | 'primaryKey' | 'keys' | 'columns' | 'isDistributed'
> & {
  /** Bit mask of the commands that the relation supports. */
  readonly events: number
  readonly columns: readonly ColumnRow[]
}

/** In the order of the statement. An array, because the names of members would be most of the text. */
type ColumnRow = readonly [
  name: string,
  /** `key` of its `ColumnTypeRow` */
  type: string,
  isNotNull: boolean,
  /** Whether the constraint NOT NULL does not rule out nulls. */
  isUnchecked: boolean,
  defaultText: string | null,
  /** Whether it has a default or is generated, so that the default of its domain does not apply. */
  hasDefault: boolean,
  description: string | null,
]

/** What all columns of one type and modifier have in common. */
export type ColumnTypeRow = Pick<Column, 'type' | 'nominalType' | 'maxLength' | 'enumValues' | 'default'> & {
  readonly key: string
  /** Whether it is a domain with NOT NULL. */
  readonly isNotNull: boolean
  readonly operatorSchema: string | null
}

export type ColumnTypes = ReadonlyMap<string, ColumnTypeRow>

export const columnTypesOf = (rows: readonly ColumnTypeRow[]): ColumnTypes => new Map(rows.map((row) => [row.key, row]))

/** What other statements return about tables, by `qualifiedKey`. */
export type TableFacts = {
  readonly primaryKeys: ReadonlyMap<string, readonly string[]>
  readonly uniqueKeys: ReadonlyMap<string, readonly (readonly string[])[]>
  readonly distributed: ReadonlySet<string>
}

/** Bits of `pg_relation_is_updatable`: 1 shifted left by the command's number (`CmdType`). */
const event = { update: 1 << 2, insert: 1 << 3, delete: 1 << 4 }

/** @throws Error when the type of a column is missing */
export function tableOf(
  row: TableRow,
  types: ColumnTypes,
  { primaryKeys, uniqueKeys, distributed }: TableFacts,
): Table {
  const { events, columns, ...table } = row
  const key = qualifiedKey(table.schema, table.name)
  const keys = uniqueKeys.get(key)
  return {
    ...table,
    insertable: (events & event.insert) !== 0,
    updatable: (events & event.update) !== 0,
    deletable: (events & event.delete) !== 0,
    primaryKey: primaryKeys.get(key) ?? [],
    ...(keys ? { keys } : {}),
    ...(distributed.has(key) ? { isDistributed: true } : {}),
    columns: new Map(columns.map((column) => [column[0], columnOf(column, types)] as const)),
  }
}

function columnOf(row: ColumnRow, types: ColumnTypes): Column {
  const [name, typeKey, isNotNull, isUnchecked, defaultText, hasDefault, description] = row
  const found = types.get(typeKey)
  if (!found) throw new Error(`The type of the column "${name}" is unknown`)
  const { isNotNull: isDomainNotNull, operatorSchema, type, nominalType, maxLength, enumValues } = found
  const hasUncheckedNulls = isNotNull ? isUnchecked : isDomainNotNull
  return {
    name,
    description,
    nullable: !(isNotNull || isDomainNotNull),
    type,
    nominalType,
    maxLength,
    default: hasDefault ? defaultText : (defaultText ?? found.default),
    enumValues,
    // Few columns have the following members.
    ...(hasUncheckedNulls ? { hasUncheckedNulls } : {}),
    ...(operatorSchema === null ? {} : { operatorSchema }),
  }
}
