// Parses the parameters of the query string.
// https://docs.postgrest.org/en/stable/references/api/url_grammar.html
import { errors } from '../errors.ts'
import { parseNames } from './field.ts'
import type { AtPath } from './field.ts'
import { parseFilter, parseFilterOrArgument } from './filter.ts'
import type { Filter, LogicTree } from './filter.ts'
import { GroupingReader, groupingName, isGroupingName } from '../extensions/distinct/groupings.ts'
import type { Groupings } from '../extensions/distinct/groupings.ts'
import { parseLogic } from './logic.ts'
import { parseOrder } from './order.ts'
import type { OrderTerm } from './order.ts'
import { hasCursorForm } from '../extensions/keyset-pages/page-cursor.ts'
import { canonicalQueryString, parseQueryString, utf8Text } from './query-string.ts'
import type { TrailingText } from './parser.ts'
import { parseRanges } from './range.ts'
import type { RowRange } from './range.ts'
import { parseSelect } from './select.ts'
import type { SelectItem } from './select.ts'
import { sortedTexts } from '../../text/code-point-order.ts'

export type QueryParams = {
  /** The query string for `Content-Location`: parameters sorted by name and encoded uniformly. */
  readonly canonical: string
  /** Arguments of a function called with GET or HEAD: parameters whose value is not a filter. */
  readonly routineArguments: readonly (readonly [string, string])[]
  /** Ranges by parameter name: `limit`, `clients.limit`. An `offset` is merged into the range of its `limit`. */
  readonly ranges: ReadonlyMap<string, RowRange>
  readonly order: readonly AtPath<readonly OrderTerm[]>[]
  readonly logic: readonly AtPath<LogicTree>[]
  /** The `columns` parameter, sorted and without duplicates; undefined when absent. */
  readonly columns: readonly string[] | undefined
  readonly select: readonly SelectItem[]
  /** All filters in the order of the query string. */
  readonly filters: readonly AtPath<Filter>[]
  /** Raw names of all parameters that are filters or arguments of a function. */
  readonly filterKeys: ReadonlySet<string>
  readonly onConflict: readonly string[] | undefined
  /** The `distinct` and `having` parameters; undefined without any. */
  readonly groupings?: Groupings | undefined
  /** The `cursor` parameters of a read that cannot be filters. */
  readonly cursors?: readonly string[]
}

type Parameter = readonly [name: string, value: string]

/** The parameters by purpose. */
type Sorted = {
  readonly orders: Parameter[]
  readonly logics: Parameter[]
  readonly filters: Parameter[]
  readonly limits: Map<string, string>
  readonly offsets: Map<string, string>
  /** `select`, `columns` and `on_conflict`: the first of each; undefined for one without a value. */
  readonly singles: Map<string, string | undefined>
}

function text(bytes: string): string {
  const decoded = utf8Text(bytes)
  if (decoded === undefined) throw errors.queryParam('The query string is not valid UTF-8', 'unexpected bytes')
  return decoded
}

function sort(name: string, value: string | undefined, sorted: Sorted): void {
  if (name === 'select' || name === 'columns' || name === 'on_conflict') {
    if (!sorted.singles.has(name)) sorted.singles.set(name, value)
    return
  }
  if (value === undefined) return
  const lastDot = name.lastIndexOf('.')
  switch (name.slice(lastDot + 1)) {
    case 'order':
      sorted.orders.push([name, value])
      break
    case 'and':
    case 'or':
      sorted.logics.push([name, value])
      break
    case 'limit':
      sorted.limits.set(name, value)
      break
    case 'offset':
      sorted.offsets.set(`${name.slice(0, lastDot + 1)}limit`, value)
      break
    default:
      sorted.filters.push([name, value])
  }
}

/**
 * Parses a query string.
 * @param query raw, without the question mark; one character per byte
 * @param argumentsAllowed whether parameters that are not filters are arguments of a function (called with GET or HEAD)
 * @param cursorsAllowed whether `cursor` may be the cursor of a page (see `page-request.ts`)
 * @param trailing what happens to text after a complete value
 * @throws PGRST100 for the first error in this order: order, logic, columns, select, filters, on_conflict
 */
export function parseQueryParams(
  query: string,
  argumentsAllowed: boolean,
  cursorsAllowed = false,
  trailing: TrailingText = 'rejected',
): QueryParams {
  const pairs = parseQueryString(query)
  const sorted: Sorted = {
    orders: [],
    logics: [],
    filters: [],
    limits: new Map(),
    offsets: new Map(),
    singles: new Map(),
  }
  for (const [name, value] of pairs) sort(text(name), value === undefined ? undefined : text(value), sorted)

  const order = sorted.orders.map(([name, value]) => parseOrder(name, value, trailing))
  const logic = sorted.logics.map(([name, value]) => parseLogic(name, value, trailing))
  const columns = sorted.singles.get('columns')
  const columnNames =
    columns === undefined ? undefined : sortedTexts(parseNames('columns parameter', columns, trailing))
  const select = parseSelect(sorted.singles.get('select') ?? '*', trailing)
  const filters: AtPath<Filter>[] = []
  const routineArguments: Parameter[] = []
  const cursors: string[] = []
  // `forEach`, because an error thrown from a `for … of` loop costs twice as much: the iterator has to be closed.
  const groupings = new GroupingReader(argumentsAllowed)
  sorted.filters.forEach(([name, value]) => {
    if (isGroupingName(name) && groupings.add(name, value)) {
      if (argumentsAllowed) routineArguments.push([groupingName(name), value])
      return
    }
    if (cursorsAllowed && name === 'cursor' && hasCursorForm(value)) {
      cursors.push(value)
      return
    }
    const parsed = argumentsAllowed ? parseFilterOrArgument(name, value, trailing) : parseFilter(name, value, trailing)
    if ('path' in parsed) filters.push(parsed)
    else routineArguments.push(parsed)
  })
  const onConflict = sorted.singles.get('on_conflict')
  return {
    canonical: canonicalQueryString(pairs),
    routineArguments,
    ranges: parseRanges(sorted.limits, sorted.offsets),
    order,
    logic,
    columns: columnNames,
    select,
    filters,
    filterKeys: new Set(sorted.filters.map(([name]) => name)),
    onConflict: onConflict === undefined ? undefined : parseNames('on_conflict parameter', onConflict, trailing),
    ...(groupings.result ? { groupings: groupings.result } : {}),
    ...(cursors.length === 0 ? {} : { cursors }),
  }
}
