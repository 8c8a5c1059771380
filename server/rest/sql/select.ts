// Select lists and GROUP BY.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { PlannedOrderTerm, PlannedSelectField } from '../plan/field.ts'
import type { ReadPlan, RelationSelectField, SpreadSelectField } from '../plan/read-plan.ts'
import { functionName } from '../request/select.ts'
import type { AggregateFunction, PlainAggregate } from '../request/select.ts'
import { fieldSql, represented } from './field.ts'
import { join } from './fragment.ts'
import type { Fragment } from './fragment.ts'
import { castType, column, identifier, unqualified } from './identifier.ts'
import { orderSql } from './order.ts'

const aggregates = { sum: 'SUM', avg: 'AVG', max: 'MAX', min: 'MIN', count: 'COUNT' } satisfies Record<
  PlainAggregate,
  string
>

const cast = (value: Fragment, type: string | null): Fragment =>
  type === null ? value : ['CAST( ', value, ` AS ${castType(type)} )`]

function aggregated(value: Fragment, aggregate: AggregateFunction | null, type: string | null): Fragment {
  if (aggregate === null) return value
  const name = functionName(aggregate)
  return cast([aggregates[name], name === aggregate ? '(' : '(DISTINCT ', value, ')'], type)
}

const named = (value: Fragment, alias: string | null): Fragment =>
  alias === null ? value : [value, ' AS ', identifier(alias)]

/** An item of a relation's own select list. */
export function selectFieldSql(relation: QualifiedIdentifier, selected: PlannedSelectField): Fragment {
  const value = valueSql(relation, selected)
  if (selected.isJson !== true) return named(value, selected.alias)
  return named(['pg_catalog.to_json(', value, ')'], selected.alias ?? selected.field.name)
}

/** The value of an item of a select list, without its name. */
export function valueSql(
  relation: QualifiedIdentifier,
  { field, aggregate, aggregateCast, cast: type }: Omit<PlannedSelectField, 'alias'>,
): Fragment {
  const value = cast(represented(field, fieldSql(relation, field)), type)
  return aggregated(value, aggregate, aggregateCast)
}

const spreadFieldSql = (
  aggregateAlias: string,
  { name, aggregate, aggregateCast, alias }: SpreadSelectField,
): Fragment => named(aggregated(column(unqualified(aggregateAlias), name), aggregate, aggregateCast), alias)

/** The items that an embed adds to its parent's select list. */
export function relationSelectSql(selected: RelationSelectField): readonly Fragment[] {
  const alias = identifier(selected.aggregateAlias)
  if (selected.kind === 'spread') {
    return selected.fields.map((field) => spreadFieldSql(selected.aggregateAlias, field))
  }
  if (selected.empty) return []
  return selected.mode === 'object'
    ? [`row_to_json(${alias}.*)::jsonb AS ${identifier(selected.name)}`]
    : [`COALESCE( ${alias}.${alias}, '[]') AS ${identifier(selected.name)}`]
}

/** A field of a to-many spread: an array of its values. */
export function spreadArraySql(
  aggregateAlias: string,
  order: readonly PlannedOrderTerm[],
  { name, alias }: SpreadSelectField,
): Fragment {
  const rows = unqualified(aggregateAlias)
  const values = [column(rows, name), orderSql(rows, order)]
  return ['COALESCE(json_agg(', values, "),'[]')::jsonb AS ", identifier(alias ?? name)]
}

function groupTerms(relation: QualifiedIdentifier, { aggregate, alias, field }: PlannedSelectField): Fragment[] {
  if (aggregate !== null) return []
  return [alias === null ? fieldSql(relation, field) : identifier(alias)]
}

function relationGroupTerms(selected: RelationSelectField): Fragment[] {
  if (selected.kind === 'json') return [identifier(selected.name)]
  return selected.fields
    .filter(({ aggregate }) => aggregate === null)
    .map(({ name, alias }) => `${identifier(selected.aggregateAlias)}.${identifier(alias ?? name)}`)
}

/** ` GROUP BY` all items that are not aggregated; empty if there is no aggregate and no condition on groups. */
export function groupSql(
  relation: QualifiedIdentifier,
  { select, relationSelect, having }: Pick<ReadPlan, 'select' | 'relationSelect' | 'having'>,
): Fragment {
  const anyAggregate =
    having !== undefined ||
    select.some(({ aggregate }) => aggregate !== null) ||
    relationSelect.some((embed) => embed.kind === 'spread' && embed.fields.some(({ aggregate }) => aggregate !== null))
  if (!anyAggregate) return ''
  const terms = [
    ...select.flatMap((selected) => groupTerms(relation, selected)),
    ...relationSelect.flatMap(relationGroupTerms),
  ]
  return terms.length === 0 ? '' : [' GROUP BY ', join(terms, ', ')]
}
