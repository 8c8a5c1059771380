// Parses the parameters of the query string.
// https://docs.postgrest.org/en/stable/references/api/url_grammar.html
import { errors } from '../errors.ts'
import { parseNames, parseTreePath } from './field.ts'
import type { AtPath } from './field.ts'
import { parseTest, parseTestOrNone } from './filter.ts'
import type { Filter, LogicTree } from './filter.ts'
import type { FurtherParameter, FurtherParams } from './further-parameters.ts'
import { withHint } from './hint.ts'
import type { Groupings } from '../extensions/distinct/groupings.ts'
import { parseLogic } from './logic.ts'
import { parseOrder } from './order.ts'
import type { OrderTerm } from './order.ts'
import { canonicalQueryString, parseQueryString, utf8Text } from './query-string.ts'
import type { TrailingText } from './parser.ts'
import { parseRanges } from './range.ts'
import type { RowRange } from './range.ts'
import { remembering } from './remembered.ts'
import { parseSelect } from './select.ts'
import type { SelectItem } from './select.ts'
import { keyPart, logicKey, partKind, testKey } from './shape-key.ts'
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
  /** Names of arguments that are parameters of an extension unless the function has a parameter of that name. */
  readonly ambiguousArguments?: ReadonlySet<string>
  /** Equal only for parameters that differ at most in the values of conditions, arguments and cursors. */
  readonly key: string
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
  /** The key of all but logics and filters. */
  key: string
}

function text(bytes: string): string {
  const decoded = utf8Text(bytes)
  if (decoded === undefined) throw errors.queryParam('The query string is not valid UTF-8', 'unexpected bytes')
  return decoded
}

function sort(name: string, value: string | undefined, sorted: Sorted): void {
  if (name === 'select' || name === 'columns' || name === 'on_conflict') {
    if (sorted.singles.has(name)) return
    sorted.singles.set(name, value)
    if (value !== undefined) sorted.key += textKey(name, value)
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
      return
    case 'limit':
      sorted.limits.set(name, value)
      break
    case 'offset':
      sorted.offsets.set(`${name.slice(0, lastDot + 1)}limit`, value)
      break
    default:
      sorted.filters.push([name, value])
      return
  }
  sorted.key += textKey(name, value)
}

const textKey = (name: string, text: string): string => keyPart(partKind.name, name) + keyPart(partKind.text, text)

const readSelect = remembering(parseSelect)
const readColumns = remembering((text, trailing) => sortedTexts(parseNames('columns parameter', text, trailing)))
const readConflict = remembering((text, trailing) => parseNames('on_conflict parameter', text, trailing))

/**
 * Parses a query string.
 * @param query raw, without the question mark; one character per byte
 * @param argumentsAllowed whether parameters that are not filters are arguments of a function (called with GET or HEAD)
 * @param cursorsAllowed whether `cursor` may be the cursor of a page (see `page-request.ts`)
 * @param trailing what happens to text after a complete value
 * @param further the parameters of extensions
 * @throws PGRST100 for the first error in this order: order, logic, columns, select, filters, on_conflict
 */
export function parseQueryParams(
  query: string,
  argumentsAllowed: boolean,
  cursorsAllowed = false,
  trailing: TrailingText = 'rejected',
  further: readonly FurtherParameter[] = [],
): QueryParams {
  const pairs = parseQueryString(query)
  const sorted: Sorted = {
    orders: [],
    logics: [],
    filters: [],
    limits: new Map(),
    offsets: new Map(),
    singles: new Map(),
    key: '',
  }
  for (const [name, value] of pairs) sort(text(name), value === undefined ? undefined : text(value), sorted)

  const order = sorted.orders.map(([name, value]) => parseOrder(name, value, trailing))
  let { key } = sorted
  const logic = sorted.logics.map(([name, value]) => {
    const parsed = parseLogic(name, value, trailing, further)
    key += keyPart(partKind.name, name) + logicKey(parsed.value)
    return parsed
  })
  const columns = sorted.singles.get('columns')
  const columnNames = columns === undefined ? undefined : readColumns(columns, trailing)
  const select = readSelect(sorted.singles.get('select') ?? '*', trailing)
  const filters: AtPath<Filter>[] = []
  const routineArguments: Parameter[] = []
  const found: FurtherParams = { argumentsAllowed, cursorsAllowed, routineArguments }
  // `forEach`, because an error thrown from a `for … of` loop costs twice as much: the iterator has to be closed.
  sorted.filters.forEach(([name, value]) => {
    key += keyPart(partKind.name, name)
    for (const { read } of further) {
      const ofValue = read(name, value, found)
      if (ofValue === undefined) continue
      key += keyPart(partKind.further, ofValue)
      return
    }
    const { path, value: field } = withHint([name], further, () => parseTreePath(name, trailing))
    const test = argumentsAllowed ? parseTestOrNone(value, trailing) : parseTest(value, trailing)
    key += test ? testKey(test) : keyPart(partKind.argument, '')
    if (test) filters.push({ path, value: { field, ...test } })
    else routineArguments.push([field.name, value])
  })
  const onConflict = sorted.singles.get('on_conflict')
  const { groupings, cursors, ambiguousArguments } = found
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
    onConflict: onConflict === undefined ? undefined : readConflict(onConflict, trailing),
    ...(groupings ? { groupings } : {}),
    ...(cursors ? { cursors } : {}),
    ...(ambiguousArguments ? { ambiguousArguments } : {}),
    key,
  }
}
