// Filters and orders as the REST API writes them in a query string: `age=gte.18`, `order=name.desc`.

/** An operator with what it means, for people. */
export type Operator = {
  readonly name: string
  readonly meaning: string
  /** An example of its value. */
  readonly example?: string
}

export const operators: readonly Operator[] = [
  { name: 'eq', meaning: 'equals' },
  { name: 'neq', meaning: 'differs from' },
  { name: 'gt', meaning: 'greater than' },
  { name: 'gte', meaning: 'at least' },
  { name: 'lt', meaning: 'less than' },
  { name: 'lte', meaning: 'at most' },
  { name: 'like', meaning: 'matches a pattern', example: '*text*' },
  { name: 'ilike', meaning: 'matches a pattern, any case', example: '*text*' },
  { name: 'match', meaning: 'matches a regular expression', example: '^a.*z$' },
  { name: 'imatch', meaning: 'matches a regular expression, any case', example: '^a.*z$' },
  { name: 'in', meaning: 'is one of', example: '(a,b,"c,d")' },
  { name: 'is', meaning: 'is null, not_null, true, false, unknown', example: 'null' },
  { name: 'isdistinct', meaning: 'differs from, null included' },
  { name: 'fts', meaning: 'full text search', example: 'cat & dog' },
  { name: 'plfts', meaning: 'full text search, plain words', example: 'cat dog' },
  { name: 'phfts', meaning: 'full text search, phrase', example: 'the cat' },
  { name: 'wfts', meaning: 'full text search, as on the web', example: 'cat -dog' },
  { name: 'cs', meaning: 'contains', example: '{a,b}' },
  { name: 'cd', meaning: 'is contained in', example: '{a,b}' },
  { name: 'ov', meaning: 'overlaps', example: '{a,b}' },
  { name: 'sl', meaning: 'range left of', example: '[1,10)' },
  { name: 'sr', meaning: 'range right of', example: '[1,10)' },
  { name: 'nxr', meaning: 'range not right of', example: '[1,10)' },
  { name: 'nxl', meaning: 'range not left of', example: '[1,10)' },
  { name: 'adj', meaning: 'range adjacent to', example: '[1,10)' },
]

/** A parameter of a query string. */
export type Parameter = readonly [name: string, value: string]

export type Filter = {
  readonly column: string
  readonly isNegated: boolean
  readonly operator: string
  readonly value: string
}

const plainName = /^[\p{L}\p{N}_$]+$/u
/** Parameters that are no filters. */
const reserved = new Set([
  'select',
  'columns',
  'on_conflict',
  'order',
  'and',
  'or',
  'limit',
  'offset',
  'cursor',
  'distinct',
  'having',
])

/** A name as the grammar of the API needs it. */
export const quotedName = (name: string): string =>
  plainName.test(name) && !reserved.has(name) ? name : `"${name.replace(/["\\]/g, '\\$&')}"`

const nameOf = (quoted: string): string =>
  quoted.length > 1 && quoted.startsWith('"') && quoted.endsWith('"')
    ? quoted.slice(1, -1).replace(/\\(.)/gs, '$1')
    : quoted

const test = /^(not\.)?([a-z]+)\.(.*)$/s

/** The filter of a parameter; undefined for one that the form cannot show, such as `or=(…)`. */
export function filterOf([name, text]: Parameter): Filter | undefined {
  const [, not, operator = '', value = ''] = test.exec(text) ?? []
  if (!operators.some((it) => it.name === operator)) return undefined
  if (reserved.has(name) || !(plainName.test(name) || name.startsWith('"'))) return undefined
  return { column: nameOf(name), isNegated: not !== undefined, operator, value }
}

export const parameterOf = ({ column, isNegated, operator, value }: Filter): Parameter => [
  quotedName(column),
  `${isNegated ? 'not.' : ''}${operator}.${value}`,
]

/** A filter for one value; `is.null` for null. */
export const equals = (column: string, value: string | null): Parameter => [
  quotedName(column),
  value === null ? 'is.null' : `eq.${value}`,
]

/** An item of `in.(…)`, and of `and(…)`. */
export const listItem = (value: string): string =>
  /^[\p{L}\p{N}_@:+-]+$/u.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`

export type Order = { readonly column: string; readonly isDescending: boolean }

/** The first column of an order. */
export function orderOf(text: string | null): Order | undefined {
  const [, quoted, plain, rest = ''] = /^(?:("(?:[^"\\]|\\.)*")|([^.,]+))((?:\.\w+)*)/s.exec(text ?? '') ?? []
  const name = quoted ?? plain
  return name === undefined ? undefined : { column: nameOf(name), isDescending: rest.split('.').includes('desc') }
}

export const orderText = ({ column, isDescending }: Order): string =>
  `${quotedName(column)}.${isDescending ? 'desc' : 'asc'}`

/** A query string that is easy to read: only what must be encoded is. */
export const queryText = (parameters: readonly Parameter[]): string =>
  parameters.map(([name, value]) => `${readable(name)}=${readable(value)}`).join('&')

const readable = (text: string): string =>
  encodeURIComponent(text).replace(/%(?:2C|3A|40|2F|24|20)/g, (code) =>
    code === '%20' ? '%20' : decodeURIComponent(code),
  )
