// The grammar of the `select` parameter.
import { checkedList, comma, field, fieldName, identifier, lexeme } from './field.ts'
import type { Field } from './field.ts'
import {
  ahead,
  attempt,
  between,
  choice,
  keepLeft,
  keepRight,
  literal,
  map,
  nested,
  notFollowedBy,
  optional,
  separatedBy,
  sequence,
  symbol,
} from './combinators.ts'
import { end, failed, noParseError, parse } from './parser.ts'
import type { Parser, TrailingText } from './parser.ts'

export type PlainAggregate = 'sum' | 'avg' | 'max' | 'min' | 'count'
/** An aggregate function of all values, or of the distinct ones: `sum()`, `sum(distinct)`. */
export type AggregateFunction = PlainAggregate | `${PlainAggregate} distinct`

/** The name of the function, which is also the default name of its result. */
export const functionName = (aggregate: AggregateFunction): PlainAggregate =>
  (aggregate.endsWith(distinctSuffix) ? aggregate.slice(0, -distinctSuffix.length) : aggregate) as PlainAggregate
const distinctSuffix = ' distinct'

export type JoinType = 'inner' | 'left'

export type SelectItem =
  /** `alias:field.aggregate()::cast` */
  | {
      readonly kind: 'field'
      readonly field: Field
      readonly aggregate: AggregateFunction | null
      /** Cast of the aggregate's result. */
      readonly aggregateCast: string | null
      /** Cast of the field itself. */
      readonly cast: string | null
      readonly alias: string | null
    }
  /** `alias:relation!hint!inner(…)` */
  | {
      readonly kind: 'embed'
      readonly relation: string
      readonly alias: string | null
      readonly hint: string | null
      readonly joinType: JoinType | null
      readonly select: readonly SelectItem[]
    }
  /** `...relation!hint!inner(…)` */
  | {
      readonly kind: 'spread'
      readonly relation: string
      readonly hint: string | null
      readonly joinType: JoinType | null
      readonly select: readonly SelectItem[]
    }

type Join = { readonly hint: string | null; readonly joinType: JoinType | null }

const alias = optional(attempt(keepLeft(fieldName, sequence(symbol(':'), notFollowedBy(symbol(':'))))))

const joinParameter = keepRight(
  symbol('!'),
  choice<Join>(
    attempt(map(literal('left'), () => ({ hint: null, joinType: 'left' }))),
    attempt(map(literal('inner'), () => ({ hint: null, joinType: 'inner' }))),
    attempt(map(fieldName, (hint) => ({ hint, joinType: null }))),
  ),
)

/** Up to two join parameters in any order. The first of two of the same kind wins. */
const join = map(
  sequence<[Join | null, Join | null]>(optional(joinParameter), optional(joinParameter)),
  ([first, second]): Join => ({
    hint: first?.hint ?? second?.hint ?? null,
    joinType: first?.joinType ?? second?.joinType ?? null,
  }),
)

const beforeParenthesis = attempt(ahead(literal('(')))

const spread = lexeme(
  map(
    sequence<[string, string, Join, unknown]>(literal('...'), fieldName, join, beforeParenthesis),
    ([, relation, join]) => ({ relation, ...join }),
  ),
)

/** The name of a relation. `count(…)` is the aggregate. */
const relationName: Parser<string> = (input) => {
  const name = fieldName(input)
  return name === 'count' ? failed : name
}

const relation = lexeme(
  map(
    sequence<[string | null, string, Join, unknown]>(alias, relationName, join, beforeParenthesis),
    ([alias, relation, join]) => ({ relation, alias, ...join }),
  ),
)

const itemEnd = choice<unknown>(attempt(ahead(literal(')'))), attempt(ahead(literal(','))), attempt(end))
/** `::type`, or null. */
export const cast = optional(keepRight(literal('::'), identifier))

const aggregate = choice(
  literal('sum'),
  literal('avg'),
  literal('count'),
  attempt(literal('max')),
  attempt(literal('min')),
) as Parser<AggregateFunction>

const distinctAggregate = /\.(sum|avg|max|min|count)\(distinct\)/y
const plainAggregate = attempt(keepRight(symbol('.'), keepLeft(aggregate, literal('()'))))

/** `.sum()`, `.sum(distinct)`. Parse errors are those of PostgREST, which has only the former. */
export const aggregateCall: Parser<AggregateFunction> = (input) => {
  distinctAggregate.lastIndex = input.at
  const match = distinctAggregate.exec(input.text)
  if (!match) return plainAggregate(input)
  input.at += match[0].length
  input.parseError = noParseError
  return `${match[1] as PlainAggregate} distinct`
}

const noField = { aggregate: null, aggregateCast: null, cast: null, alias: null }
const everything: SelectItem = { kind: 'field', field: { name: '*', jsonPath: [] }, ...noField }

const fieldItem = lexeme(
  choice<SelectItem>(
    attempt(map(sequence(literal('*'), itemEnd), () => everything)),
    attempt(
      map(
        sequence<[string | null, string, string | null, unknown]>(alias, literal('count()'), cast, itemEnd),
        ([alias, , aggregateCast]) => ({
          kind: 'field',
          field: { name: '*', jsonPath: [] },
          aggregate: 'count',
          aggregateCast,
          cast: null,
          alias,
        }),
      ),
    ),
    map(
      sequence<[string | null, Field, string | null, AggregateFunction | null, string | null, unknown]>(
        alias,
        field,
        cast,
        optional(aggregateCall),
        cast,
        itemEnd,
      ),
      ([alias, field, cast, aggregate, aggregateCast]) => ({
        kind: 'field',
        field,
        aggregate,
        aggregateCast,
        cast,
        alias,
      }),
    ),
  ),
)

const inner: Parser<SelectItem[]> = nested(between(symbol('('), symbol(')'), (input) => items(input)))

const item = choice<SelectItem>(
  map(sequence<[{ relation: string } & Join, SelectItem[]]>(attempt(spread), inner), ([spread, select]) => ({
    kind: 'spread',
    ...spread,
    select,
  })),
  map(
    sequence<[{ relation: string; alias: string | null } & Join, SelectItem[]]>(attempt(relation), inner),
    ([relation, select]) => ({ kind: 'embed', ...relation, select }),
  ),
  fieldItem,
)

const plainItem = /(?:\*|[A-Za-z0-9_$]+)(?=[,)]|$)/y

/** Fast path for plain names, which are unambiguous. */
const quickItem: Parser<SelectItem> = (input) => {
  plainItem.lastIndex = input.at
  const name = plainItem.exec(input.text)?.[0]
  if (name === undefined || input.isTraced(input.at + name.length)) return item(input)
  input.at += name.length
  input.parseError = noParseError
  return name === '*' ? everything : { kind: 'field', field: { name, jsonPath: [] }, ...noField }
}

const items = separatedBy(quickItem, lexeme(comma))

/** More than PostgreSQL returns, whose rows have at most 1664 columns. */
const mostItems = 2000

/**
 * Parses the select parameter: `id,alias:name::text,clients!inner(*,...cities(name)),count()`.
 * @throws PGRST100
 */
export const parseSelect = (text: string, trailing?: TrailingText): SelectItem[] =>
  parse(items, 'select parameter', checkedList('select', text, mostItems), trailing)
