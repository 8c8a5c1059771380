// Reads the parameters of a binding of `postgres_changes`: `{event, schema, table, filter, select}`. The rules, and the texts of
// errors, are those of Supabase's realtime.
import { ChangesRefused } from './row-changes.ts'

export const operators = [
  'eq',
  'neq',
  'lt',
  'lte',
  'gt',
  'gte',
  'in',
  'like',
  'ilike',
  'is',
  'match',
  'imatch',
  'isdistinct',
] as const

export type FilterOperator = (typeof operators)[number]

/** A condition as the client wrote it. The value of `in` is the text of an array. */
export type FilterText = {
  readonly column: string
  readonly operator: FilterOperator
  readonly value: string
  readonly isNegated: boolean
}

export const changeKinds = ['INSERT', 'UPDATE', 'DELETE'] as const

export type ChangeKind = (typeof changeKinds)[number]

export type Binding = {
  readonly event: ChangeKind | '*'
  /** `*` for any. */
  readonly schema: string
  /** `*` for any. */
  readonly table: string
  readonly filters: readonly FilterText[]
  /** Null: all columns. */
  readonly select: readonly string[] | null
  /** Whether numbers that JavaScript rounds, `int8` and `numeric`, are strings. */
  readonly hasTextNumbers: boolean
  /** Whether an update after which a row no longer matches is reported. */
  readonly reportsLeaving: boolean
}

/** @throws ChangesRefused */
export function readBinding(given: unknown): Binding {
  const parameters = typeof given === 'object' && given !== null ? (given as Readonly<Record<string, unknown>>) : {}
  const select = readSelect(parameters)
  const { schema, table, filter } = parameters
  const hasFilter = 'filter' in parameters
  const names = namesOf(schema, table, hasFilter, 'schema' in parameters, 'table' in parameters)
  if (!names || (hasFilter && typeof filter !== 'string')) throw new ChangesRefused(noNames(parameters))
  const filters = typeof filter === 'string' ? readFilters(filter) : []
  if (select && (names.schema === '*' || names.table === '*')) {
    throw new ChangesRefused(
      'Column selection is not supported for wildcard subscriptions. Provide an explicit schema and table name.',
    )
  }
  return {
    event: eventOf(parameters.event),
    ...names,
    filters,
    select,
    hasTextNumbers: parameters.types === 'text',
    reportsLeaving: parameters.leave === true,
  }
}

function namesOf(
  schema: unknown,
  table: unknown,
  hasFilter: boolean,
  hasSchema: boolean,
  hasTable: boolean,
): Pick<Binding, 'schema' | 'table'> | undefined {
  if (typeof schema === 'string' && typeof table === 'string') return { schema, table }
  if (typeof schema === 'string' && !hasTable && !hasFilter) return { schema, table: '*' }
  if (typeof table === 'string' && !hasSchema && !hasFilter) return { schema: 'public', table }
  return undefined
}

const noNames = (parameters: Readonly<Record<string, unknown>>): string =>
  'No subscription params provided. Please provide at least a `schema` or `table` to subscribe to: ' +
  ('user_token' in parameters || 'auth_token' in parameters ? '<redacted>' : inspected(parameters))

function readSelect({ select }: Readonly<Record<string, unknown>>): readonly string[] | null {
  if (typeof select === 'string') {
    throw new ChangesRefused(
      'Error parsing `select` params: expected a list of column name strings, e.g. select: ["col1", "col2"]',
    )
  }
  const names = Array.isArray(select) ? select.filter((name) => typeof name === 'string') : []
  return names.length > 0 ? names : null
}

function eventOf(event: unknown): Binding['event'] {
  const name = typeof event === 'string' ? event.toUpperCase() : '*'
  return changeKinds.find((kind) => kind === name) ?? '*'
}

/** @throws ChangesRefused */
function readFilters(text: string): FilterText[] {
  const trimmed = text.trim()
  return trimmed === '' ? [] : segmentsOf(trimmed).map(readSegment)
}

/** Splits at commas outside of parentheses and quotes. A quote opens only after `.`, `(` or `,`. */
function segmentsOf(text: string): string[] {
  const segments: string[] = []
  let start = 0
  let depth = 0
  let isQuoted = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (isQuoted) {
      if (character === '\\') index++
      else if (character === '"') isQuoted = false
    } else if (character === '"') isQuoted = index > start && '.(,'.includes(text[index - 1] ?? '')
    else if (character === '(') depth++
    else if (character === ')') depth = Math.max(0, depth - 1)
    else if (character === ',' && depth === 0) {
      segments.push(text.slice(start, index))
      start = index + 1
    }
  }
  segments.push(text.slice(start))
  return segments
}

function readSegment(segment: string): FilterText {
  const trimmed = segment.trim()
  const refuse = (reason: string): never => {
    throw new ChangesRefused(`Error parsing \`filter\` params: ${reason}`)
  }
  if (trimmed === '') return refuse('filter must not contain empty segments (check for extra commas)')
  const equals = trimmed.indexOf('=')
  if (equals < 0) return refuse(inspected([trimmed]))
  const column = trimmed.slice(0, equals)
  const rest = trimmed.slice(equals + 1)
  const isNegated = rest.startsWith('not.')
  const condition = isNegated ? rest.slice('not.'.length) : rest
  const dot = condition.indexOf('.')
  if (dot < 0) return refuse(inspected([condition]))
  const [name, value] = [condition.slice(0, dot), condition.slice(dot + 1)]
  const operator = operators.find((known) => known === name)
  if (!operator) return refuse(inspected([name, value]))
  if (operator !== 'in') return { column, operator, value: unquoted(value), isNegated }
  if (!/^\([^]*\)$/.test(value)) return refuse('`in` filter value must be wrapped by parentheses')
  return { column, operator, value: `{${value.slice(1, -1)}}`, isNegated }
}

/** Removes the quotes around a value, and the backslashes in it. A value that goes on after its second quote stays as it is. */
function unquoted(value: string): string {
  const [, inner] = /^"((?:[^"\\]|\\[^])*)"$/.exec(value) ?? []
  return inner === undefined ? value : inner.replace(/\\([^])/g, '$1')
}

/** A value in Elixir's notation, in which messages name what the client sent. */
function inspected(value: unknown): string {
  if (value === null || value === undefined) return 'nil'
  if (Array.isArray(value)) return `[${value.map(inspected).join(', ')}]`
  if (typeof value === 'object') {
    const members = Object.entries(value).map(([name, member]) => `${inspected(name)} => ${inspected(member)}`)
    return `%{${members.join(', ')}}`
  }
  return JSON.stringify(value)
}

/** The parameters as messages name them. */
export function describedBinding({ event, schema, table, filters, select }: Binding): string {
  const conditions = filters.map(
    ({ column, operator, value, isNegated }) =>
      `{${[column, operator, value, isNegated].map((part) => JSON.stringify(part)).join(', ')}}`,
  )
  return `event: ${event}, schema: ${schema}, table: ${table}, filters: [${conditions.join(', ')}], select: ${inspected(select)}`
}
