// The grammar of the `order` parameter.
import { checkedList, comma, delimiter, field, fieldName, lexeme, parseTreePath } from './field.ts'
import type { AtPath, Field } from './field.ts'
import {
  ahead,
  attempt,
  between,
  choice,
  keepLeft,
  keepRight,
  literal,
  map,
  optional,
  separatedBy1,
  sequence,
  symbol,
} from './combinators.ts'
import { end, parse } from './parser.ts'
import type { Parser, TrailingText } from './parser.ts'
import { remembering } from './remembered.ts'

export type OrderDirection = 'asc' | 'desc'
export type OrderNulls = 'nullsfirst' | 'nullslast'

export type OrderTerm =
  | {
      readonly kind: 'field'
      readonly field: Field
      readonly direction: OrderDirection | null
      readonly nulls: OrderNulls | null
    }
  /** `order=clients(name)`: a field of a to-one embed. */
  | {
      readonly kind: 'relation'
      readonly relation: string
      readonly field: Field
      readonly direction: OrderDirection | null
      readonly nulls: OrderNulls | null
    }

const afterDot = <T extends string>(...texts: readonly T[]): Parser<T> =>
  choice(...texts.map((text) => attempt(keepRight(delimiter, literal(text) as Parser<T>))))

const direction = optional(afterDot('asc', 'desc'))
const termEnd = choice<unknown>(attempt(ahead(comma)), attempt(end))
const nulls = choice<OrderNulls | null>(
  keepLeft(optional(afterDot('nullsfirst', 'nullslast')), termEnd),
  map(termEnd, () => null),
)

const relationTerm = map(
  sequence<[string, Field, OrderDirection | null, OrderNulls | null]>(
    fieldName,
    between(symbol('('), symbol(')'), field),
    direction,
    nulls,
  ),
  ([relation, field, direction, nulls]): OrderTerm => ({ kind: 'relation', relation, field, direction, nulls }),
)

const fieldTerm = map(
  sequence<[Field, OrderDirection | null, OrderNulls | null]>(field, direction, nulls),
  ([field, direction, nulls]): OrderTerm => ({ kind: 'field', field, direction, nulls }),
)

const terms = separatedBy1(lexeme(choice(attempt(relationTerm), fieldTerm)), comma)

/** More than PostgreSQL sorts by, whose limit is 1664. */
const mostTerms = 2000

const readTerms = remembering((text, trailing): readonly OrderTerm[] =>
  parse(terms, 'order', checkedList('order', text, mostTerms), trailing),
)

/**
 * Parses an order parameter: `name.desc.nullslast,clients(name)`.
 * @throws PGRST100
 */
export function parseOrder(key: string, text: string, trailing: TrailingText): AtPath<readonly OrderTerm[]> {
  const { path } = parseTreePath(key, trailing)
  return { path, value: readTerms(text, trailing) }
}
