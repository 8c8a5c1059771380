// Reads of distinct rows.
//
// The client's order decides which of several rows with the same keys is the first, and in which order the first rows
// are returned. `DISTINCT ON` requires rows that are ordered by its keys, so an outer query restores the client's order.
import type { QualifiedIdentifier } from '../../../catalogue/identifier.ts'
import type { PlannedOrderTerm, PlannedSelectField } from '../../plan/field.ts'
import { unknownField } from '../../plan/field-resolution.ts'
import type { PlannedDistinct, PlannedDistinctKey } from './grouping.ts'
import type { ReadPlan, RelationSelectField } from '../../plan/read-plan.ts'
import { functionName } from '../../request/select.ts'
import { columnSql } from '../../sql/field.ts'
import { join, type Fragment } from '../../sql/fragment.ts'
import { relationOf } from '../../sql/from.ts'
import { column, identifier, unqualified } from '../../sql/identifier.ts'
import { limitSql, orderSql, waySql, type LimitForm } from '../../sql/order.ts'
import { valueSql } from '../../sql/select.ts'

/** Alias of the distinct rows in the outer query. */
const rowsAlias = 'pgrst_distinct'
/** Name of the whole row in the inner query, where the columns of `*` are unknown. */
const wholeRow = 'pgrst_row'

/** A column of the inner query, which has a number as its name, because the names of a result may be equal. */
type Output = {
  readonly inner: Fragment
  /** Its name in the result. */
  readonly name: string
  readonly isWholeRow: boolean
  /** Whether rows that differ in it are distinct. Fields that only order the arrays of a spread are not. */
  readonly isKey: boolean
  /** The item of the select list, if it is one of the relation's own. */
  readonly item: PlannedSelectField | undefined
}

const named = (inner: Fragment, name: string, isKey: boolean, item?: PlannedSelectField): Output => ({
  inner,
  name,
  isWholeRow: false,
  isKey,
  item,
})

const isStar = ({ field, aggregate }: PlannedSelectField): boolean => field.name === '*' && aggregate === null

/** A column of the inner query, by its position counted from 1. */
const innerColumn = (position: number): string => column(unqualified(rowsAlias), String(position))

const outerSql = ({ name, isWholeRow }: Output, index: number): string =>
  isWholeRow ? `(${innerColumn(index + 1)}).*` : `${innerColumn(index + 1)} AS ${identifier(name)}`

/** What an empty select list means. */
const everything: PlannedSelectField = {
  field: unknownField({ name: '*', jsonPath: [] }),
  aggregate: null,
  aggregateCast: null,
  cast: null,
  alias: null,
}

const nameOf = ({ alias, aggregate, field }: PlannedSelectField): string =>
  alias ?? (aggregate === null ? field.name : functionName(aggregate))

const relationNames = (selected: RelationSelectField): readonly string[] => {
  if (selected.kind === 'json') return selected.empty ? [] : [selected.name]
  return selected.fields.map(({ name, alias, aggregate }) => alias ?? (aggregate ? functionName(aggregate) : name))
}

/** The columns of the inner query. `list` has their SQL, in the same order. */
function outputsOf(plan: ReadPlan, relation: QualifiedIdentifier, list: readonly Fragment[]): Output[] {
  const items = plan.select.length === 0 && plan.embeds.length === 0 ? [everything] : plan.select
  const own = items.map((item, index): Output => {
    if (!isStar(item)) return named(list[index] ?? '', nameOf(item), true, item)
    const inner = `${identifier(relation.name)} AS ${identifier(wholeRow)}`
    return { ...named(inner, wholeRow, true, item), isWholeRow: true }
  })
  const extra = plan.spread?.kind === 'to-many' ? plan.spread.extraSelect.map(({ field }) => nameOf(field)) : []
  const names = [...extra, ...plan.relationSelect.flatMap(relationNames)]
  const others = names.map((name, index) => named(list[own.length + index] ?? '', name, index >= extra.length))
  return [...own, ...others]
}

/** A field to order by, as an item of a select list. */
const expressionOf = ({ field }: Extract<PlannedOrderTerm, { kind: 'field' }>): PlannedSelectField => ({
  field,
  aggregate: null,
  aggregateCast: null,
  cast: null,
  alias: null,
})

const keyOf = (term: PlannedOrderTerm): PlannedDistinctKey =>
  term.kind === 'field' ? { kind: 'expression', expression: expressionOf(term) } : { ...term, kind: 'relation' }

/** A text that is equal for equal keys. */
const identityOf = (key: PlannedDistinctKey): string =>
  key.kind === 'expression'
    ? JSON.stringify([
        key.expression.field,
        key.expression.aggregate,
        key.expression.aggregateCast,
        key.expression.cast,
      ])
    : JSON.stringify([key.relation, key.field])

/** The columns of the inner query, to which columns for keys are added that are not selected. */
class InnerColumns {
  readonly outputs: Output[]
  readonly #relation: QualifiedIdentifier
  /** Positions by the identity of their value. Equal JSON paths have different parameters, so SQL cannot compare them. */
  readonly #positions = new Map<string, number>()

  constructor(outputs: readonly Output[], relation: QualifiedIdentifier) {
    this.outputs = [...outputs]
    this.#relation = relation
    for (const [index, { item }] of outputs.entries()) {
      if (item && !isStar(item)) this.#positions.set(identityOf({ kind: 'expression', expression: item }), index + 1)
    }
  }

  /** The position of a key, counted from 1. */
  position(key: PlannedDistinctKey): number {
    const identity = identityOf(key)
    const known = this.#positions.get(identity)
    if (known !== undefined) return known
    const sql =
      key.kind === 'expression'
        ? valueSql(this.#relation, key.expression)
        : columnSql(unqualified(key.relation), key.field)
    const position = this.outputs.length + 1
    const name = `pgrst_key_${position}`
    this.outputs.push(named([sql, ' AS ', identifier(name)], name, false))
    this.#positions.set(identity, position)
    return position
  }
}

/** Whether `SELECT DISTINCT` can order by the terms: each is a column that is selected as it is. */
function isPlainOrder({ select, order }: ReadPlan): boolean {
  const plain = select.filter(
    ({ field, aggregate, cast }) =>
      field.jsonPath.length === 0 && field.transform === null && aggregate === null && cast === null,
  )
  const names = new Set(plain.map(({ field }) => field.name))
  return order.every((term) => term.kind === 'field' && term.field.jsonPath.length === 0 && names.has(term.field.name))
}

type Term = { readonly position: number; readonly way: string }

/**
 * The order of the inner query, which must begin with all keys. If the client's order begins with keys only, it is
 * kept, so that Postgres sorts once and stops at the limit.
 */
function innerOrder(keys: readonly number[], order: readonly Term[]): readonly Term[] {
  const known = new Set(keys)
  const pending = new Set(keys)
  const leading = order.findIndex(({ position }) => {
    if (pending.size === 0) return true
    return !known.has(position) || (pending.delete(position) && false)
  })
  const rest = [...pending].map((position) => ({ position, way: '' }))
  if (leading < 0) return [...order, ...rest]
  if (rest.length === 0) return order
  return [...keys.map((position) => ({ position, way: '' })), ...order]
}

/**
 * The statement for distinct rows.
 *
 * @param list the select list of the plan
 * @param source the clauses from FROM to HAVING
 */
export function distinctSql(
  plan: ReadPlan,
  distinct: PlannedDistinct,
  list: readonly Fragment[],
  source: Fragment,
  limits: LimitForm,
): Fragment {
  const relation = relationOf(plan)
  const isSpread = plan.spread?.kind === 'to-many'
  if (distinct.kind === 'rows' && !isSpread && isPlainOrder(plan)) {
    return ['SELECT DISTINCT ', join(list, ', '), source, orderSql(relation, plan.order), limitSql(plan.range, limits)]
  }
  const selected = outputsOf(plan, relation, list)
  const columns = new InnerColumns(selected, relation)
  const keys =
    distinct.kind === 'on'
      ? [...new Set(distinct.keys.map((key) => columns.position(key)))]
      : selected.flatMap(({ isKey }, index) => (isKey ? [index + 1] : []))
  const order = plan.order.map((term): Term => ({ position: columns.position(keyOf(term)), way: waySql(term) }))
  const { outputs } = columns
  const byPosition = innerOrder(keys, order).map(({ position, way }) => `${position}${way}`)
  const byName = order.map(({ position, way }) => innerColumn(position) + way)
  const names = outputs.map((_, index) => identifier(String(index + 1)))
  return [
    `SELECT ${selected.map(outerSql).join(', ')} FROM (SELECT DISTINCT ON (${keys.join(', ')}) `,
    join(
      outputs.map(({ inner }) => inner),
      ', ',
    ),
    source,
    ` ORDER BY ${byPosition.join(', ')}) AS ${identifier(rowsAlias)}(${names.join(', ')})`,
    byName.length === 0 ? '' : ` ORDER BY ${byName.join(', ')}`,
    limitSql(plan.range, limits),
  ]
}
