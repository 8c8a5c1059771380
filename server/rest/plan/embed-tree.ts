// First pass: turns the `select` parameter into a tree of relations, with the names in the request.
import { qualifiedKey } from '../../catalogue/identifier.ts'
import type { OrderTerm } from '../request/order.ts'
import { allRows, type RowRange } from '../request/range.ts'
import type { JoinType, SelectItem } from '../request/select.ts'
import type { FieldLogicTree, FieldOrderTerm, PlannedSelectField } from './field.ts'
import { resolveField, toOutput } from './field-resolution.ts'
import type { GroupConditions, PlannedDistinct } from '../extensions/distinct/grouping.ts'
import type { PlanContext } from './plan-context.ts'

/** An embed as the request specifies it. For the root, only the name is set. */
type RequestedEmbed = {
  /** Name of the relation in the request. */
  readonly relationName: string
  readonly alias: string | null
  readonly hint: string | null
  readonly joinType: JoinType | null
  readonly isSpread: boolean
}

/** Order by a field of an embed, with the name of the embed in the request. */
type EmbedOrderTerm = Extract<OrderTerm, { kind: 'relation' }>
export type RequestedOrderTerm = FieldOrderTerm | EmbedOrderTerm

/**
 * A relation and its embeds, with the conditions, orders and ranges of the request. Fields have the types of the table
 * of that name. The relationships of embeds are not chosen yet.
 */
export type EmbedTree = RequestedEmbed & {
  readonly select: readonly PlannedSelectField[]
  readonly where: readonly FieldLogicTree[]
  readonly order: readonly RequestedOrderTerm[]
  readonly range: RowRange
  /** Whether a parameter refers to the embed by its relation's name although it has an alias. Deprecated. */
  readonly addressedByLegacyName: boolean
  readonly embeds: readonly EmbedTree[]
  readonly distinct?: PlannedDistinct
  readonly having?: GroupConditions
}

/** Creates the tree of a request, without conditions, orders and ranges. */
export function embedTree({ request, cache, relation }: PlanContext): EmbedTree {
  const root = { relationName: relation.name, alias: null, hint: null, joinType: null, isSpread: false }
  return treeOf(root, request.queryParams.select)

  function treeOf(
    { relationName, alias, hint, joinType, isSpread }: RequestedEmbed,
    items: readonly SelectItem[],
  ): EmbedTree {
    const table = cache.tables.get(qualifiedKey(relation.schema, relationName))
    const select: PlannedSelectField[] = []
    const embeds: EmbedTree[] = []
    for (const item of items) {
      if (item.kind === 'field') {
        const { aggregate, aggregateCast, cast, alias } = item
        const field = toOutput(cache.representations, resolveField(table, item.field))
        select.push({ field, aggregate, aggregateCast, cast, alias })
      } else {
        embeds.push(treeOf(requestedEmbed(item), item.select))
      }
    }
    return {
      relationName,
      alias,
      hint,
      joinType,
      isSpread,
      select,
      where: [],
      order: [],
      range: allRows,
      addressedByLegacyName: false,
      embeds,
    }
  }
}

const requestedEmbed = (item: Exclude<SelectItem, { kind: 'field' }>): RequestedEmbed => ({
  relationName: item.relation,
  alias: item.kind === 'embed' ? item.alias : null,
  hint: item.hint,
  joinType: item.joinType,
  isSpread: item.kind === 'spread',
})
