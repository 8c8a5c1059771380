// The select list of rows that the server writes as JSON: Postgres makes JSON of each value that the server could not encode.
import type { Column } from '../../catalogue/table.ts'
import { unknownField } from '../plan/field-resolution.ts'
import type { PlannedSelectField } from '../plan/field.ts'
import { isGrouped, type ReadPlan } from '../plan/read-plan.ts'
import { resultAlias } from './handler.ts'

/** A column of the relation, or of the result of the function, that a plan reads. */
export type SelectedColumn = Pick<Column, 'name' | 'typeOid'>

/** Columns by name, in their order. */
export type SelectedColumns = ReadonlyMap<string, SelectedColumn>

/** Columns of the longest select list: with those that precede it, PostgreSQL permits 1,664. */
export const mostSelected = 1600

const plainField = (name: string): PlannedSelectField => ({
  field: unknownField({ name, jsonPath: [] }),
  aggregate: null,
  aggregateCast: null,
  cast: null,
  alias: null,
})

/** What a select list is made from. */
export type SelectOptions = {
  /** Columns of the root; undefined if they are not known. */
  readonly columns: SelectedColumns | undefined
  /** Whether the server encodes the values of a column itself. */
  readonly isKnown: (column: SelectedColumn) => boolean
}

const isStar = ({ field, aggregate }: PlannedSelectField): boolean =>
  field.name === '*' && field.jsonPath.length === 0 && aggregate === null

/** Whether it is a column as it is, of which the type is that of the column. */
const isColumn = ({ field, cast, aggregate }: PlannedSelectField): boolean =>
  field.jsonPath.length === 0 && field.transform === null && !field.fullRow && cast === null && aggregate === null

/** Whether there is more to a select list than values: groups of rows depend on it, and spreads add columns of other relations. */
const isSpecial = (read: ReadPlan): boolean =>
  read.distinct !== undefined || isGrouped(read) || read.relationSelect.some(({ kind }) => kind === 'spread')

/** The plan with a select list of which the server can encode all values. Undefined if that needs more than another list. */
export function encodableRead(read: ReadPlan, { columns, isKnown }: SelectOptions): ReadPlan | undefined {
  if (isSpecial(read)) return undefined
  const list: PlannedSelectField[] = []
  for (const item of selectOf(read)) {
    if (isStar(item)) {
      if (!columns) return undefined
      list.push(...encodableItem(item, { columns, isKnown }))
      continue
    }
    const column = columns?.get(item.field.name)
    list.push(column && isColumn(item) && isKnown(column) ? item : asJson(item))
  }
  const names = [
    ...list.flatMap((item) => (isStar(item) ? [...(columns?.keys() ?? [])] : [item.alias ?? item.field.name])),
    ...read.relationSelect.flatMap((embed) => (embed.kind === 'json' && !embed.empty ? [embed.name] : [])),
  ]
  // `json_agg(_postgrest_t)` aggregates such a column in place of the rows.
  if (names.includes(resultAlias) || names.length > mostSelected) return undefined
  return { ...read, select: list }
}

const asJson = (item: PlannedSelectField): PlannedSelectField => ({
  ...item,
  isJson: true,
  alias: item.alias ?? item.field.name,
})

/** An item with JSON in place of a column that the server cannot encode. `*` becomes the list of the columns if there is such a column. */
export function encodableItem(item: PlannedSelectField, { columns, isKnown }: SelectOptions): PlannedSelectField[] {
  if (isStar(item)) {
    const all = [...(columns?.values() ?? [])]
    if (all.every(isKnown)) return [item]
    return all.map((column) => (isKnown(column) ? plainField(column.name) : asJson(plainField(column.name))))
  }
  const column = columns?.get(item.field.name)
  return [column && isColumn(item) && !isKnown(column) ? asJson(item) : item]
}

/** The plan in which Postgres makes JSON of the columns that are known to need it. Whether there are more turns out when it runs. */
export function mostlyEncodableRead(read: ReadPlan, options: SelectOptions): ReadPlan {
  const { columns, isKnown } = options
  if (!columns || isSpecial(read) || [...columns.values()].every(isKnown)) return read
  return { ...read, select: selectOf(read).flatMap((item) => encodableItem(item, options)) }
}

const selectOf = ({ select, embeds }: ReadPlan): readonly PlannedSelectField[] =>
  select.length === 0 && embeds.length === 0 ? [plainField('*')] : select
