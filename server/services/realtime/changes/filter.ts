// Decides which rows match the filter of a subscription. Conditions whose result follows from the text of a value are decided
// here; all others, such as comparisons of text, times and numbers with fractions, and patterns, are decided by the database.
import { JsonStatement } from '../../../postgres/json-statement.ts'
import type { Database } from '../../../postgres/database.ts'
import type { SettingsStatement } from '../../../rest/database.ts'
import { arrayText } from '../../../rest/sql/parameter.ts'
import type { RelationColumn } from '../policies/relation-policies.ts'
import type { FilterOperator, FilterText } from './filter-text.ts'

/** A value as text; undefined if it is not known. */
export type Value = string | null | undefined

/** Results of conditions that the database decides, by the text of the value. They are for one batch of rows. */
export type Answers = ReadonlyMap<string, ReadonlySet<string>>

/** A condition of a filter, for a column of a table. */
export type Condition = {
  /** Index of the column among those of the table. */
  readonly column: number
  /** Whether that is a column of the primary key. */
  readonly isOfKey: boolean
  /** Decides by the text of the value; undefined if the database decides. */
  readonly decide: ((value: string | null) => boolean) | undefined
  /** What the database compares. Equal conditions have the same key. */
  readonly question: Question
}

export type Question = {
  readonly key: string
  /** Type of the column. */
  readonly type: string
  readonly operator: FilterOperator
  readonly isNegated: boolean
  readonly value: string
}

/** Oids of types. */
const [boolean, bytea, int8, int2, int4, text, oid, varchar, uuid] = [16, 17, 20, 21, 23, 25, 26, 1043, 2950]

const integers: readonly (number | undefined)[] = [int8, int2, int4, oid]
/** Types whose values are equal exactly if their texts are. */
const exact: readonly (number | undefined)[] = [boolean, text, varchar, uuid, ...integers]

const isExact = ({ baseType, isEnum }: RelationColumn): boolean => isEnum || exact.includes(baseType)

/** A filter may have this many values after `in`. */
export const mostValues = 100

/**
 * @param canonical the value as the database writes it, of `in` each element; null for NULL
 */
export function condition(
  filter: FilterText,
  column: RelationColumn,
  index: number,
  canonical: readonly (string | null)[],
): Condition {
  const { operator, value, isNegated } = filter
  const key = JSON.stringify([index, operator, isNegated, value])
  return {
    column: index,
    isOfKey: column.isKey,
    decide: decision(filter, column, canonical),
    question: { key, type: column.typeText, operator, isNegated, value },
  }
}

function decision(
  { operator, value, isNegated }: FilterText,
  column: RelationColumn,
  canonical: readonly (string | null)[],
): Condition['decide'] {
  const [given = null] = canonical
  /** NULL passes no comparison, negated or not. */
  const comparison =
    (test: (value: string) => boolean): Condition['decide'] =>
    (found) =>
      found !== null && test(found) !== isNegated
  if (operator === 'is') return isDecision(value, isNegated)
  if (column.baseType === bytea && (operator === 'eq' || operator === 'neq')) {
    const bytes = value.replace(/^\\x/, '').toLowerCase()
    return comparison((found) => (found.replace(/^\\x/, '') === bytes) === (operator === 'eq'))
  }
  if (!isExact(column)) return undefined
  if (operator === 'isdistinct') return (found) => (found !== given) !== isNegated
  if (operator === 'in') {
    // None of no values is equal, NULL included.
    if (canonical.length === 0) return () => isNegated
    const values = new Set(canonical)
    const hasNull = values.has(null)
    // With NULL among the values, it is unknown whether another value differs from all of them.
    return comparison((found) => values.has(found) || (hasNull && isNegated))
  }
  if (given === null) return undefined
  if (operator === 'eq') return comparison((found) => found === given)
  if (operator === 'neq') return comparison((found) => found !== given)
  const order = orders.get(operator)
  if (!order || !integers.includes(column.baseType)) return undefined
  const number = BigInt(given)
  return comparison((found) => order(BigInt(found), number))
}

const orders = new Map<FilterOperator, (found: bigint, given: bigint) => boolean>([
  ['lt', (found, given) => found < given],
  ['lte', (found, given) => found <= given],
  ['gt', (found, given) => found > given],
  ['gte', (found, given) => found >= given],
])

function isDecision(value: string, isNegated: boolean): Condition['decide'] {
  if (value === 'null' || value === 'unknown') return (found) => (found === null) !== isNegated
  const literal = value === 'true' ? 't' : 'f'
  return (found) => (found?.[0] === literal) !== isNegated
}

const operatorSymbols = {
  eq: '=',
  neq: '<>',
  lt: '<',
  lte: '<=',
  gt: '>',
  gte: '>=',
  in: '= any',
  like: 'like',
  ilike: 'ilike',
  match: '~',
  imatch: '~*',
  isdistinct: 'is distinct from',
  is: 'is',
} as const satisfies Record<FilterOperator, string>

const read = { access: 'read', hasNoEffect: true } as const

const statements = new Map<string, JsonStatement>()
/** Types and operators whose statements are kept. */
const mostStatements = 1000

/**
 * Compares all values of the first parameter with all of the second, and returns the numbers of the pairs that match. The
 * type is one that `format_type` has written.
 */
function statementFor({ type, operator, isNegated }: Question): JsonStatement {
  const test = `v.value ${operatorSymbols[operator]} (f.value)`
  const key = `${type}\0${operator}\0${isNegated}`
  const kept = statements.get(key)
  if (kept) return kept
  const statement = new JsonStatement(
    `select v.number::text, f.number::text
      from (select number, value::${type} as value from pg_catalog.unnest($1::text[]) with ordinality as v(value, number) offset 0) as v,
        (select number, value::${type}${operator === 'in' ? '[]' : ''} as value
          from pg_catalog.unnest($2::text[]) with ordinality as f(value, number) offset 0) as f
      where ${isNegated ? `not (${test})` : test}`,
    read,
  )
  if (statements.size >= mostStatements) statements.clear()
  statements.set(key, statement)
  return statement
}

export type FilterDatabase = Pick<Database, 'runWith'>

/**
 * Decides conditions for all of the values that rows have in their column.
 *
 * @param asked the questions, and the distinct values of their column
 * @param onFailure is called for a question that cannot be decided; nothing matches it
 */
export async function answer(
  database: FilterDatabase,
  settings: SettingsStatement,
  asked: readonly { readonly question: Question; readonly values: readonly (string | null)[] }[],
  onFailure: (question: Question, error: unknown) => void,
): Promise<Answers> {
  const groups = new Map<string, (typeof asked)[number][]>()
  for (const one of asked) {
    const { question } = one
    const key = JSON.stringify([question.type, question.operator, question.isNegated, one.values])
    const group = groups.get(key)
    if (group) group.push(one)
    else groups.set(key, [one])
  }
  const answers = new Map<string, Set<string>>()
  const ask = async (group: readonly (typeof asked)[number][]): Promise<void> => {
    const [first] = group
    if (!first) return
    try {
      const given = [first.values, group.map(({ question }) => question.value)].map(arrayText)
      const pairs = await database.runWith(statementFor(first.question), settings, given)
      for (const { question } of group) answers.set(question.key, new Set())
      for (const [value, filter] of pairs) {
        const question = group[Number(filter) - 1]?.question
        if (question) answers.get(question.key)?.add(valueKey(first.values[Number(value) - 1] ?? null))
      }
    } catch (error) {
      // The value of one client must not affect those of others.
      if (group.length > 1) await Promise.all(group.map((one) => ask([one])))
      else {
        answers.set(first.question.key, new Set())
        onFailure(first.question, error)
      }
    }
  }
  await Promise.all([...groups.values()].map(ask))
  return answers
}

/** NULL is no text. */
const valueKey = (value: string | null): string => (value === null ? '' : `=${value}`)

/** Whether a value matches; undefined if the value is not known, or the database was not asked about it. */
export function matches({ decide, question }: Condition, value: Value, answers: Answers): boolean | undefined {
  if (value === undefined) return undefined
  return decide ? decide(value) : answers.get(question.key)?.has(valueKey(value))
}
