// Reads of a relation, with its embeds as lateral joins.
import { embedsByAlias, type ReadPlan, type RelationSelectField } from '../plan/read-plan.ts'
import type { RowVersion } from '../extensions/conditional-requests/version-plan.ts'
import { conditionsOf, joinConditionsOf, whereSql } from './filter.ts'
import { join } from './fragment.ts'
import type { Fragment } from './fragment.ts'
import { fromSql, relationOf } from './from.ts'
import { column, identifier, unqualified } from './identifier.ts'
import { isAllRows, limitSql, orderSql, type LimitForm } from './order.ts'
import { groupSql, relationSelectSql, selectFieldSql, spreadArraySql } from './select.ts'

function joinedSql(selected: RelationSelectField, embed: ReadPlan, limits: LimitForm): Fragment {
  const alias = identifier(selected.aggregateAlias)
  const isInner = embed.joinType === 'inner'
  const lateral = (subquery: Fragment, condition: string): Fragment => [
    isInner ? ' INNER JOIN LATERAL ( ' : ' LEFT JOIN LATERAL ( ',
    subquery,
    ` ) AS ${alias} ON ${condition}`,
  ]
  const rows = readStatement(embed, { limits })
  const spreadOrder = embed.spread?.kind === 'to-many' ? embed.spread.order : undefined
  const isToOne = selected.kind === 'json' ? selected.mode === 'object' : spreadOrder === undefined
  if (isToOne) return lateral(rows, 'TRUE')
  const arrays =
    selected.kind === 'spread'
      ? selected.fields.map((field) => [', ', spreadArraySql(selected.aggregateAlias, spreadOrder ?? [], field)])
      : []
  // The aggregate always returns a row, which is null if there is nothing to aggregate.
  return lateral(
    [`SELECT json_agg(${alias})::jsonb AS ${alias}`, arrays, ' FROM (', rows, ` ) AS ${alias}`],
    isInner ? `${alias} IS NOT NULL` : 'TRUE',
  )
}

function joinsSql({ embeds, relationSelect }: ReadPlan, limits: LimitForm): readonly Fragment[] {
  const byAlias = embedsByAlias(embeds)
  return relationSelect.map((selected) => {
    const embed = byAlias.get(selected.aggregateAlias)
    if (!embed) throw new Error(`the plan selects from ${selected.aggregateAlias}, which it does not embed`)
    return joinedSql(selected, embed, limits)
  })
}

function selectList(plan: ReadPlan): readonly Fragment[] {
  const relation = relationOf(plan)
  if (plan.select.length === 0 && plan.embeds.length === 0) return [column(relation, '*')]
  const own = plan.select.map((selected) => selectFieldSql(relation, selected))
  const embedded = plan.relationSelect.flatMap(relationSelectSql)
  if (plan.spread?.kind !== 'to-many') return embedded.length === 0 ? own : [...own, ...embedded]
  const extra = plan.spread.extraSelect.map((item) =>
    selectFieldSql(item.relation === null ? relation : unqualified(item.relation), item.field),
  )
  return [...own, ...extra, ...embedded]
}

/** The parts of a read: its select list, ` FROM …` with its embeds, and its conditions, to be joined by AND. */
export type ReadParts = { readonly list: Fragment; readonly from: Fragment; readonly conditions: readonly Fragment[] }

/** @param leading items that precede those of the plan in the select list */
export function readParts(plan: ReadPlan, limits: LimitForm, leading: readonly string[] = []): ReadParts {
  const conditions = conditionsOf(relationOf(plan), plan.where)
  return {
    list: join([...leading, ...selectList(plan)], ', '),
    from: plan.relationSelect.length === 0 ? fromSql(plan) : [fromSql(plan), joinsSql(plan, limits)],
    conditions: plan.joinConditions.length === 0 ? conditions : [...conditions, ...joinConditionsOf(plan)],
  }
}

export type ReadForm = {
  /** By default `text`. */
  readonly limits?: LimitForm
  /** If given, the columns are instead the row, `pgrst_row`, and its version, `pgrst_version`. */
  readonly version?: RowVersion | undefined
  /** Items that precede those of the plan in the select list; none for distinct rows, which have a list of their own. */
  readonly leading?: readonly string[]
}

/** The rows of a read plan. */
export function readStatement(plan: ReadPlan, { limits = 'text', version, leading }: ReadForm = {}): Fragment {
  const relation = relationOf(plan)
  const { list, from, conditions } = readParts(plan, limits, leading)
  const having = (plan.having && plan.groupingSql?.having(relation, plan.having)) ?? ''
  const rows = version === undefined ? '' : [' CROSS JOIN LATERAL (SELECT ', list, ') pgrst_row']
  const source = [from, rows, whereSql(conditions), groupSql(relation, plan), having]
  if (plan.distinct && plan.groupingSql) {
    return plan.groupingSql.distinct(plan, plan.distinct, selectList(plan), source, limits)
  }
  const columns = version === undefined ? list : `pgrst_row, ${version.sql.of(relation, version)} AS pgrst_version`
  const limit = limitSql(plan.range, limits)
  const fence = plan.isFenced === true && isAllRows(plan.range) ? ' OFFSET 0' : ''
  return ['SELECT ', columns, source, orderSql(relation, plan.order), limit, fence]
}
