// The conditions for rows after a position in an order. Each condition is a range of an index on the terms of the order.
import { join, type Fragment } from '../../sql/fragment.ts'
import { identifier } from '../../sql/identifier.ts'
import { parameter } from '../../sql/parameter.ts'

/** A term of an order, with its value at the position. */
export type SeekTerm = {
  /** The expression to order by. */
  readonly sql: Fragment
  /** Null for NULL. */
  readonly value: string | null
  readonly isDescending: boolean
  readonly nullsFirst: boolean
  readonly isNullable: boolean
  /** See `PageTerm`. */
  readonly operatorSchema: string | undefined
}

/**
 * An operator as the order of its type uses it. By its name alone, Postgres may find none, or that of another type: the
 * text operators for citext, whose schema is not in the search path.
 */
export const operatorSql = (operator: '<' | '=' | '>', schema: string | undefined): string =>
  schema === undefined ? ` ${operator} ` : ` OPERATOR(${identifier(schema)}.${operator}) `

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

// Unlike IS NULL, these are false and true for a composite value whose fields are null. Postgres plans them the same way.
const isNull = ' IS NOT DISTINCT FROM NULL'
const isNotNull = ' IS DISTINCT FROM NULL'

const equal = (term: SeekTerm): Fragment =>
  term.value === null ? [term.sql, isNull] : [term.sql, operatorSql('=', term.operatorSchema), operand(term)]

/** Whether rows with null in the term come after the position. */
const hasNullsAfter = ({ value, isNullable, nullsFirst }: SeekTerm): boolean =>
  value !== null && isNullable && !nullsFirst

/**
 * Splits the terms into groups whose values are compared as rows. A comparison of rows is neither true nor false for
 * nulls, so only the first term of a group may have nulls after the position. It finds operators by their names alone.
 */
function groupsOf(terms: readonly SeekTerm[]): readonly (readonly SeekTerm[])[] {
  const groups: SeekTerm[][] = []
  for (const term of terms) {
    const group = groups.at(-1)
    const last = group?.at(-1)
    const continues =
      typeof last?.value === 'string' &&
      term.value !== null &&
      last.isDescending === term.isDescending &&
      last.operatorSchema === undefined &&
      term.operatorSchema === undefined &&
      !hasNullsAfter(term)
    if (continues) group?.push(term)
    else groups.push([term])
  }
  return groups
}

/** `(a, b) > (1, 2)` */
function beyond(group: readonly SeekTerm[]): Fragment {
  const operator = operatorSql(group[0]?.isDescending === true ? '<' : '>', group[0]?.operatorSchema)
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
  if (first.value === null) return first.nullsFirst ? [[first.sql, isNotNull]] : []
  return hasNullsAfter(first) ? [beyond(group), [first.sql, isNull]] : [beyond(group)]
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
