// The grammar of the `having` parameter: conditions on groups, in the grammar of the conditions on rows. PostgREST has
// none: it rejects the values, because they do not begin with an operator.
import { delimiter, field, parseTreePath } from '../../request/field.ts'
import type { AtPath, Field } from '../../request/field.ts'
import type { Filter, LogicTree } from '../../request/filter.ts'
import { test } from '../../request/filter.ts'
import { attempt, choice, literal, map, optional, rest, sequence } from '../../request/combinators.ts'
import { elementTest, treeOf } from '../../request/logic.ts'
import { parse } from '../../request/parser.ts'
import { fieldKey, keyPart, partKind, testKey, treeKey } from '../../request/shape-key.ts'
import type { Parser } from '../../request/parser.ts'
import { aggregateCall, cast } from '../../request/select.ts'
import type { AggregateFunction } from '../../request/select.ts'

/** A condition on an aggregate, or on a field that the rows are grouped by. */
export type GroupFilter = Filter & {
  readonly aggregate: AggregateFunction | null
  /** Cast of the field. */
  readonly cast: string | null
  /** Cast of the result of the aggregate. */
  readonly aggregateCast: string | null
}

type Operand = Omit<GroupFilter, 'negated' | 'operation'>

const operand = choice<Operand>(
  map(attempt(sequence<[unknown, string | null]>(literal('count()'), cast)), ([, aggregateCast]): Operand => ({
    field: { name: '*', jsonPath: [] },
    aggregate: 'count',
    cast: null,
    aggregateCast,
  })),
  map(
    sequence<[Field, string | null, AggregateFunction | null, string | null]>(
      field,
      cast,
      optional(aggregateCall),
      cast,
    ),
    ([field, cast, aggregate, aggregateCast]): Operand => ({ field, aggregate, cast, aggregateCast }),
  ),
)

const condition = (value: typeof elementTest): Parser<LogicTree<GroupFilter>> =>
  map(
    sequence<[Operand, unknown, Pick<Filter, 'negated' | 'operation'>]>(operand, delimiter, value),
    ([operand, , test]): LogicTree<GroupFilter> => ({ kind: 'filter', filter: { ...operand, ...test } }),
  )

const single = condition(test(rest))
const tree = treeOf(condition(elementTest))

/** `(…)`, `or(…)`, and with a dot, as the filters of client libraries have it: `or.(…)`, `not.and.(…)`. */
const group = /^((?:not\.)?(?:and|or))?\.?(?=\()/

/**
 * Parses a having parameter: `amount.sum().gt.100`, `or.(count().gte.2,amount.max().lt.5)`.
 * @throws PGRST100
 */
export function parseHaving(key: string, text: string): AtPath<LogicTree<GroupFilter>> {
  const { path } = parseTreePath(key)
  const match = group.exec(text)
  if (!match) return { path, value: parse(single, 'having parameter', text) }
  const normal = `${match[1] ?? 'and'}${text.slice(match[0].length)}`
  return { path, value: parse(tree, 'having parameter', text, 'rejected', normal) }
}

/** Equal for conditions that differ only in their values. */
export const havingKey = (tree: LogicTree<GroupFilter>): string =>
  treeKey(tree, (filter) => {
    const { field, aggregate, cast, aggregateCast } = filter
    return fieldKey(field) + keyPart(partKind.text, JSON.stringify([aggregate, cast, aggregateCast])) + testKey(filter)
  })
