// The conditions for rows after a position in an order. Each condition is a range of an index on the terms of the order.
import { join, type Fragment } from './fragment.ts'
import { parameter } from './parameter.ts'

/** A term of an order, with its value at the position. */
export type SeekTerm = {
  /** The expression to order by. */
  readonly sql: Fragment
  /** Null for NULL. */
  readonly value: string | null
  readonly isDescending: boolean
  readonly nullsFirst: boolean
  readonly isNullable: boolean
}

/**
 * The value as a parameter of the type of its term, also if Postgres would not infer it, as for composite types. The
 * planner replaces the CASE by the parameter.
 */
const operand = ({ sql, value }: SeekTerm): Fragment => [
  '(CASE WHEN FALSE THEN ',
  sql,
  ' ELSE ',
  value === null ? 'NULL' : parameter(value),
  ' END)',
]

const equal = (term: SeekTerm): Fragment =>
  term.value === null ? [term.sql, ' IS NULL'] : [term.sql, ' = ', operand(term)]

/** Whether rows with null in the term come after the position. */
const hasNullsAfter = ({ value, isNullable, nullsFirst }: SeekTerm): boolean =>
  value !== null && isNullable && !nullsFirst

/**
 * Splits the terms into groups whose values are compared as rows. A comparison of rows is neither true nor false for
 * nulls, so only the first term of a group may have nulls after the position.
 */
function groupsOf(terms: readonly SeekTerm[]): readonly (readonly SeekTerm[])[] {
  const groups: SeekTerm[][] = []
  for (const term of terms) {
    const group = groups.at(-1)
    const last = group?.at(-1)
    const continues =
      last !== undefined &&
      last.value !== null &&
      term.value !== null &&
      last.isDescending === term.isDescending &&
      !hasNullsAfter(term)
    if (continues) group?.push(term)
    else groups.push([term])
  }
  return groups
}

/** `(a, b) > (1, 2)` */
function beyond(group: readonly SeekTerm[]): Fragment {
  const operator = group[0]?.isDescending === true ? ' < ' : ' > '
  const columns = group.map(({ sql }) => sql)
  const values = group.map(operand)
  return group.length === 1
    ? [columns, operator, values]
    : ['(', join(columns, ', '), ')', operator, '(', join(values, ', '), ')']
}

/** The ranges after the position in which the terms before the group are equal, in order. */
function rangesOf(group: readonly SeekTerm[]): readonly Fragment[] {
  const [first] = group
  if (!first) return []
  if (first.value === null) return first.nullsFirst ? [[first.sql, ' IS NOT NULL']] : []
  return hasNullsAfter(first) ? [beyond(group), [first.sql, ' IS NULL']] : [beyond(group)]
}

/**
 * Conditions for the rows after a position. They exclude each other, and the rows of each come after those of the one
 * before it. Empty when no row can be after the position.
 */
export function afterSql(terms: readonly SeekTerm[]): readonly Fragment[] {
  const groups = groupsOf(terms)
  return groups
    .map((group, index) => {
      const equalBefore = groups.slice(0, index).flat().map(equal)
      return rangesOf(group).map((range) => join([...equalBefore, range], ' AND '))
    })
    .toReversed()
    .flat()
}

/** The condition for rows at the position. */
export const atSql = (terms: readonly SeekTerm[]): Fragment => join(terms.map(equal), ' AND ')
