// Concise constructors for the parsed requests that the request stage returns.
import type { PlanSettings } from '../../server/rest/plan/plan-context.ts'
import type {
  Action,
  ApiRequest,
  InvokeMethod,
  Mutation,
  RequestInput,
  RequestShape,
} from '../../server/rest/request/api-request.ts'
import type { Field, JsonOperation } from '../../server/rest/request/field.ts'
import type { Filter, LogicTree, Operation } from '../../server/rest/request/filter.ts'
import type { OrderTerm } from '../../server/rest/request/order.ts'
import { allRows } from '../../server/rest/request/range.ts'
import type { AggregateFunction, SelectItem } from '../../server/rest/request/select.ts'
import { requestShape } from './plans.ts'
import { qi } from './small-schema-cache.ts'

export const settings: PlanSettings = {
  dbMaxEmbedDepth: null,
  dbMaxRows: null,
  dbAggregatesEnabled: true,
  dbPlanEnabled: false,
  urlIgnoreTrailingText: false,
  urlUseLegacyTargetNames: true,
}

/** `data->a->>0`; plain names otherwise. */
export function field(text: string): Field {
  const [name = '', ...rest] = text.split('->')
  const jsonPath = rest.map((part): JsonOperation => {
    const arrow = part.startsWith('>') ? '->>' : '->'
    const operand = part.replace('>', '')
    const isIndex = operand !== '' && Number.isInteger(Number(operand))
    return { arrow, operand: isIndex ? { kind: 'index', text: operand } : { kind: 'key', text: operand } }
  })
  return { name, jsonPath }
}

type Selected = Extract<SelectItem, { kind: 'field' }>

/** A selected field: `item('id')`, `item('id', { alias: 'a' })`. */
export const item = (text: string, rest: Partial<Selected> = {}): Selected => ({
  kind: 'field',
  field: field(text),
  aggregate: null,
  aggregateCast: null,
  cast: null,
  alias: null,
  ...rest,
})

/** `aggregated('sum', 'amount')`. */
export const aggregated = (aggregate: AggregateFunction, name = '*', rest: Partial<Selected> = {}): Selected =>
  item(name, { aggregate, ...rest })

type Embedded = Extract<SelectItem, { kind: 'embed' }>
type Spread = Extract<SelectItem, { kind: 'spread' }>

const items = (select: readonly (SelectItem | string)[]): SelectItem[] =>
  select.map((entry) => (typeof entry === 'string' ? item(entry) : entry))

/** `clients(…)`. */
export const embed = (
  relation: string,
  select: readonly (SelectItem | string)[],
  rest: Partial<Embedded> = {},
): Embedded => ({ kind: 'embed', relation, alias: null, hint: null, joinType: null, select: items(select), ...rest })

/** `...clients(…)`. */
export const spread = (
  relation: string,
  select: readonly (SelectItem | string)[],
  rest: Partial<Spread> = {},
): Spread => ({ kind: 'spread', relation, hint: null, joinType: null, select: items(select), ...rest })

export const eq = (value: string): Operation => ({ kind: 'quantifiable', operator: 'eq', quantifier: null, value })
export const isNull: Operation = { kind: 'is', value: 'null' }

/** `name=eq.1`, `name=not.is.null`. */
export const filter = (name: string, operation: Operation = eq('1'), negated = false): Filter => ({
  field: field(name),
  negated,
  operation,
})

/** `or(…)`. */
export const or = (...operands: readonly (LogicTree | Filter)[]): LogicTree => ({
  kind: 'logic',
  negated: false,
  operator: 'or',
  operands: operands.map((operand) => ('kind' in operand ? operand : { kind: 'filter', filter: operand })),
})

/** `name.desc`; `relation(name)` with a second argument. */
export const orderBy = (name: string, relation?: string): OrderTerm => {
  const rest = { field: field(name), direction: 'desc', nulls: null } as const
  return relation === undefined ? { kind: 'field', ...rest } : { kind: 'relation', relation, ...rest }
}

/** A value at a path of embeds: `at('clients.projects', value)`; `at('', value)` at the top level. */
export const at = <T>(path: string, value: T) => ({ path: path === '' ? [] : path.split('.'), value })

type Words = Partial<RequestShape & RequestInput & Pick<ApiRequest, 'ranges' | 'accept'>> &
  Partial<Omit<ApiRequest['queryParams'], 'select' | 'ranges'>> & {
    readonly select?: readonly (SelectItem | string)[]
  }

/** A request for an action, with query parameters. The default is `select=*`. */
export function request(action: Action, given: Words = {}): ApiRequest {
  const { select = ['*'], routineArguments = [], order = [], logic = [], filters = [], ...others } = given
  const { filterKeys, ranges = new Map(), accept = [{ kind: 'any' }], ...rest } = others
  const { headers = [], cookies = [], payload, canonicalQuery = '', ...shape } = rest
  return {
    shape: requestShape({ action, path: '/', topLevelRange: allRows, ...shape }),
    input: { headers, cookies, payload, canonicalQuery },
    ranges,
    accept,
    queryParams: {
      routineArguments,
      ranges: new Map(),
      order,
      logic,
      select: items(select),
      filters,
      filterKeys: filterKeys ?? new Set(filters.map(({ path, value }) => [...path, value.field.name].join('.'))),
    },
  }
}

export const read = (relation: string, given: Words = {}): ApiRequest =>
  request({ kind: 'read', relation: qi(relation), headersOnly: false }, given)

export const mutate = (mutation: Mutation, relation: string, given: Words = {}): ApiRequest =>
  request({ kind: 'mutate', relation: qi(relation), mutation }, given)

/** A call by GET with arguments in the query, or by POST with `columns`. */
export const call = (method: InvokeMethod, routine: string, given: Words = {}): ApiRequest =>
  request({ kind: 'call', routine: qi(routine), method }, given)
