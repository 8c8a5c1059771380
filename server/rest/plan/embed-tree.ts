// First pass: the `select` tree as a tree of relations, under the names that the client used.
import { qualifiedKey } from '../../schema-cache/identifier.ts'
import type { OrderTerm } from '../request/order.ts'
import { allRows, type RowRange } from '../request/range.ts'
import type { JoinType, SelectItem } from '../request/select.ts'
import type { FieldLogicTree, FieldOrderTerm, PlannedSelectField } from './field.ts'
import { resolveField, toOutput } from './field-resolution.ts'
import type { PlanContext } from './plan-context.ts'

/** How an embed is asked for. Of the root only the name is known. */
type Asked = {
  /** Name that the client used for the relation. */
  readonly relationName: string
  readonly alias: string | null
  readonly hint: string | null
  readonly joinType: JoinType | null
  readonly isSpread: boolean
}

/** Order by a field of an embed, which has the name that the client used. */
type EmbedOrderTerm = Extract<OrderTerm, { kind: 'relation' }>
export type RequestedOrderTerm = FieldOrderTerm | EmbedOrderTerm

/**
 * What is asked for: a relation and its embeds, with the conditions, orders and ranges that the parameters of the request
 * put on each. Fields are typed by the table of that name; which relationship an embed means is not known yet.
 */
export type EmbedTree = Asked & {
  readonly select: readonly PlannedSelectField[]
  readonly where: readonly FieldLogicTree[]
  readonly order: readonly RequestedOrderTerm[]
  readonly range: RowRange
  /** The embed has an alias but was addressed by its relation's name (deprecated; answered with a Warning). */
  readonly addressedByLegacyName: boolean
  readonly embeds: readonly EmbedTree[]
}

export function embedTree({ request, cache, relation }: PlanContext): EmbedTree {
  const root = { relationName: relation.name, alias: null, hint: null, joinType: null, isSpread: false }
  return treeOf(root, request.queryParams.select)

  function treeOf({ relationName, alias, hint, joinType, isSpread }: Asked, items: readonly SelectItem[]): EmbedTree {
    const table = cache.tables.get(qualifiedKey(relation.schema, relationName))
    const select: PlannedSelectField[] = []
    const embeds: EmbedTree[] = []
    for (const item of items) {
      if (item.kind === 'field') {
        const { aggregate, aggregateCast, cast, alias } = item
        const field = toOutput(cache.representations, resolveField(table, item.field))
        select.push({ field, aggregate, aggregateCast, cast, alias })
      } else {
        embeds.push(treeOf(asked(item), item.select))
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

const asked = (item: Exclude<SelectItem, { kind: 'field' }>): Asked => ({
  relationName: item.relation,
  alias: item.kind === 'embed' ? item.alias : null,
  hint: item.hint,
  joinType: item.joinType,
  isSpread: item.kind === 'spread',
})
