// Resolves fields of a request to fields with types and conversions.
// https://docs.postgrest.org/en/stable/references/api/domain_representations.html
import type { Representations } from '../../catalogue/representation.ts'
import { representationKey } from '../../catalogue/representation.ts'
import type { Column, Table } from '../../catalogue/table.ts'
import type { Field } from '../request/field.ts'
import type { Filter, LogicTree } from '../request/filter.ts'
import type { FieldFilter, FieldLogicTree, PlannedField } from './field.ts'

/** A field of unknown type. Postgres raises an error if it does not exist. */
export const unknownField = ({ name, jsonPath }: Field): PlannedField => ({
  name,
  jsonPath,
  toJson: false,
  toTsVector: null,
  type: '',
  baseType: '',
  transform: null,
  default: null,
  fullRow: false,
})

/** The field of a column, without a conversion. */
export const columnField = (column: Column): PlannedField => ({
  name: column.name,
  jsonPath: [],
  toJson: false,
  toTsVector: null,
  type: column.nominalType,
  baseType: column.type,
  transform: null,
  default: column.default,
  fullRow: false,
})

/**
 * Resolves a field of a table. Its type is known if it is a column; computed fields and results of functions are not.
 * `json` and `jsonb` columns are not converted before a JSON path, so that their indexes apply.
 */
export function resolveField(
  table: Table | undefined,
  { name, jsonPath }: Field,
  toTsVector: PlannedField['toTsVector'] = null,
): PlannedField {
  const column = table?.columns.get(name)
  const type = column?.nominalType ?? ''
  const isJson = type === 'json' || type === 'jsonb'
  return {
    name,
    jsonPath,
    toJson: !isJson,
    toTsVector: column !== undefined && (isJson || column.type !== 'tsvector') ? toTsVector : null,
    type,
    baseType: column?.type ?? '',
    transform: null,
    default: column?.default ?? null,
    fullRow: false,
  }
}

/** Adds the representation that converts `source` to `target`, if there is one. */
function withTransform(
  representations: Representations,
  source: string,
  target: string,
  field: PlannedField,
): PlannedField {
  if (representations.size === 0 || field.type === '') return field
  const representation = representations.get(representationKey(source, target))
  return representation ? { ...field, type: source, transform: representation.function } : field
}

/** Converts a field for the response. */
export const toOutput = (representations: Representations, field: PlannedField): PlannedField =>
  withTransform(representations, field.type, 'json', field)

/** Converts a field from a JSON body. */
export const fromJson = (representations: Representations, field: PlannedField): PlannedField =>
  withTransform(representations, 'json', field.type, field)

/** Resolves a filter of a table's rows. The text of its value is converted to the type of the field. */
export function resolveFilter(
  table: Table | undefined,
  representations: Representations,
  { field, negated, operation }: Filter,
): FieldFilter {
  const toTsVector = operation.kind === 'fts' ? { language: operation.language } : null
  const resolved = resolveField(table, field, toTsVector)
  return {
    kind: 'field',
    field: withTransform(representations, 'text', resolved.type, resolved),
    negated,
    operation,
  }
}

/** Resolves all filters of a logic tree. */
export function resolveLogic(
  table: Table | undefined,
  representations: Representations,
  tree: LogicTree,
): FieldLogicTree {
  if (tree.kind === 'filter') return { kind: 'filter', filter: resolveFilter(table, representations, tree.filter) }
  const operands = tree.operands.map((operand) => resolveLogic(table, representations, operand))
  return { kind: 'logic', negated: tree.negated, operator: tree.operator, operands }
}
