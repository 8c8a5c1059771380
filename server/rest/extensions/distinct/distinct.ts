// The grammar of the `distinct` parameter. PostgREST has none: it rejects the values, because `on` is not an operator.
import { checkedList, comma, field, fieldName, lexeme, parseTreePath } from '../../request/field.ts'
import type { AtPath, Field } from '../../request/field.ts'
import {
  attempt,
  between,
  choice,
  keepRight,
  literal,
  map,
  separatedBy1,
  sequence,
  symbol,
} from '../../request/combinators.ts'
import { parse } from '../../request/parser.ts'
import { cast } from '../../request/select.ts'

/** What the rows of a result differ in. */
export type DistinctKey =
  | { readonly kind: 'field'; readonly field: Field; readonly cast: string | null }
  /** `clients(name)`: a field of a to-one embed. */
  | { readonly kind: 'relation'; readonly relation: string; readonly field: Field }

/** `on.*`: rows that differ in anything selected. `on.(a,b)`: the first row of each combination of these values. */
export type Distinct = { readonly kind: 'rows' } | { readonly kind: 'on'; readonly keys: readonly DistinctKey[] }

const relationKey = map(
  sequence<[string, Field]>(fieldName, between(symbol('('), symbol(')'), field)),
  ([relation, field]): DistinctKey => ({ kind: 'relation', relation, field }),
)

const fieldKey = map(sequence<[Field, string | null]>(field, cast), ([field, cast]): DistinctKey => ({
  kind: 'field',
  field,
  cast,
}))

const keys = between(symbol('('), symbol(')'), separatedBy1(lexeme(choice(attempt(relationKey), fieldKey)), comma))

const distinct = keepRight(
  literal('on.'),
  choice<Distinct>(
    map(symbol('*'), () => ({ kind: 'rows' })),
    map(keys, (keys) => ({ kind: 'on', keys })),
  ),
)

/** More than PostgreSQL sorts by, whose limit is 1664. */
const mostKeys = 2000

/**
 * Parses a distinct parameter: `on.*`, `on.(customer_id,created_at::date,data->>size,clients(name))`.
 * @throws PGRST100
 */
export const parseDistinct = (key: string, text: string): AtPath<Distinct> => ({
  path: parseTreePath(key).path,
  value: parse(distinct, 'distinct parameter', checkedList('distinct', text, mostKeys)),
})
