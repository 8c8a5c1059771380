// The select list of rows that the server writes as JSON: Postgres makes JSON of each value that the server could not encode.
import type { Column } from '../../catalogue/table.ts'
import type { PlannedSelectField } from '../plan/field.ts'
import { isGrouped, type ReadPlan } from '../plan/read-plan.ts'
import { resultAlias } from './handler.ts'

/** A column of the relation, or of the result of the function, that a plan reads. */
export type SelectedColumn = Pick<Column, 'name' | 'typeOid'>

/** Columns by name, in their order. */
export type SelectedColumns = ReadonlyMap<string, SelectedColumn>

/** Columns of the longest select list: with those that precede it, PostgreSQL permits 1,664. */
const mostSelected = 1600

const plainField = (name: string): PlannedSelectField => ({
  field: {
    name,
    jsonPath: [],
    toJson: false,
    toTsVector: null,
    type: '',
    baseType: '',
    transform: null,
    default: null,
    fullRow: false,
  },
  aggregate: null,
  aggregateCast: null,
  cast: null,
  alias: null,
})

/**
 * The plan with a select list of which the server can encode all values. Undefined if that needs more than another list.
 *
 * @param columns those of the root; undefined if they are not known
 * @param isKnown whether the server encodes the values of a column itself
 */
export function encodableRead(
  read: ReadPlan,
  columns: SelectedColumns | undefined,
  isKnown: (column: SelectedColumn) => boolean,
): ReadPlan | undefined {
  // Rows are grouped by what is selected, and spreads select columns of other relations.
  if (read.distinct || isGrouped(read) || read.relationSelect.some(({ kind }) => kind === 'spread')) return undefined
  const selected = read.select.length === 0 && read.embeds.length === 0 ? [plainField('*')] : read.select
  const list: PlannedSelectField[] = []
  for (const item of selected) {
    const { field, cast, alias } = item
    if (field.name === '*' && field.jsonPath.length === 0) {
      if (!columns) return undefined
      const all = [...columns.values()]
      if (all.every(isKnown)) list.push(item)
      else list.push(...all.map((column) => ({ ...plainField(column.name), isJson: !isKnown(column) })))
      continue
    }
    const column = columns?.get(field.name)
    const isPlain = column && field.jsonPath.length === 0 && field.transform === null && cast === null
    list.push(isPlain && isKnown(column) ? item : { ...item, isJson: true, alias: alias ?? field.name })
  }
  const names = [
    ...list.flatMap(({ field, alias }) => (field.name === '*' ? [...(columns?.keys() ?? [])] : [alias ?? field.name])),
    ...read.relationSelect.flatMap((embed) => (embed.kind === 'json' && !embed.empty ? [embed.name] : [])),
  ]
  // `json_agg(_postgrest_t)` aggregates such a column in place of the rows.
  if (names.includes(resultAlias) || names.length > mostSelected) return undefined
  return { ...read, select: list }
}
