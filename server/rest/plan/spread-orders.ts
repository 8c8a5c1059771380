// Pass that orders to-many spreads.
import type { PlannedOrderTerm, PlannedSelectField } from './field.ts'
import { rejectAggregatesInToManySpreads } from './aggregates.ts'
import { unknownField } from './field-resolution.ts'
import { mapTree } from './plan-tree.ts'
import type { ReadPlan, Spread } from './read-plan.ts'

type ToManySpread = Extract<Spread, { kind: 'to-many' }>

/**
 * The rows of a to-many spread become one array per column, and the arrays are ordered. Therefore, the fields to order
 * by are selected as well, with generated names.
 *
 * @throws ApiError PGRST127 when a to-many spread contains an aggregate
 */
export function orderSpreads(plan: ReadPlan): ReadPlan {
  if (plan.embeds.length === 0) return plan
  return mapTree(plan, (node) => {
    if (node.spread?.kind !== 'to-many') return node
    rejectAggregatesInToManySpreads(node)
    // Of distinct rows, the order also decides which one of several is the first.
    return { ...node, order: node.distinct ? node.order : [], spread: orderedSpread(node) }
  })
}

function orderedSpread({ order, aggregateAlias }: ReadPlan): ToManySpread {
  const extraSelect: ToManySpread['extraSelect'][number][] = []
  const orderOfArrays: PlannedOrderTerm[] = []
  for (const [index, term] of order.entries()) {
    const alias = `${aggregateAlias}_${term.field.name}_${index + 1}`
    const { direction, nulls } = term
    extraSelect.push(
      term.kind === 'field'
        ? { relation: null, field: selected(term.field, alias) }
        : { relation: term.relation, field: selected(unknownField(term.field), alias) },
    )
    orderOfArrays.push({ kind: 'field', field: unknownField({ name: alias, jsonPath: [] }), direction, nulls })
  }
  return { kind: 'to-many', extraSelect, order: orderOfArrays }
}

const selected = (field: PlannedSelectField['field'], alias: string): PlannedSelectField => ({
  field,
  aggregate: null,
  aggregateCast: null,
  cast: null,
  alias,
})
