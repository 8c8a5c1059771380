// First pass: the `select` tree as a tree of relations, still under the names that the client used.
import { qualifiedKey } from '../../schema-cache/identifier.ts'
import type { JoinType, SelectItem } from '../request/select.ts'
import { allRows } from '../request/range.ts'
import type { PlannedSelectField } from './field.ts'
import { resolveField, toOutput } from './field-resolution.ts'
import type { PlanContext } from './plan-context.ts'
import type { ReadPlan, Spread } from './read-plan.ts'

type Relation = {
  readonly name: string
  readonly alias: string | null
  readonly hint: string | null
  readonly joinType: JoinType | null
  readonly spread: Spread | null
}

export function initialPlan({ request, cache, relation }: PlanContext): ReadPlan {
  const root = { name: relation.name, alias: null, hint: null, joinType: null, spread: null }
  return planRelation(root, request.queryParams.select, 0)

  function planRelation(
    { name, alias, hint, joinType, spread }: Relation,
    items: readonly SelectItem[],
    depth: number,
  ): ReadPlan {
    const table = cache.tables.get(qualifiedKey(relation.schema, name))
    const select: PlannedSelectField[] = []
    const embeds: ReadPlan[] = []
    for (const item of items) {
      if (item.kind === 'field') {
        const { aggregate, aggregateCast, cast, alias } = item
        const field = toOutput(cache.representations, resolveField(table, item.field))
        select.push({ field, aggregate, aggregateCast, cast, alias })
      } else {
        embeds.push(planRelation(named(item), item.select, depth + 1))
      }
    }
    return {
      select,
      from: { schema: relation.schema, name },
      fromAlias: null,
      where: [],
      order: [],
      range: allRows,
      relationName: name,
      alias,
      aggregateAlias: '',
      hint,
      joinType,
      toParent: null,
      computedArgument: null,
      joinConditions: [],
      spread,
      relationSelect: [],
      depth,
      addressedByLegacyName: false,
      embeds,
    }
  }
}

const toOneSpread: Spread = { kind: 'to-one' }

// Whether a spread is to many is known only when its relationship is.
const named = (item: Exclude<SelectItem, { kind: 'field' }>): Relation => ({
  name: item.relation,
  alias: item.kind === 'embed' ? item.alias : null,
  hint: item.hint,
  joinType: item.joinType,
  spread: item.kind === 'spread' ? toOneSpread : null,
})
