// What the query string says, parsed but not looked up.
import type { AtPath } from './field.ts'
import type { Filter, LogicTree } from './filter.ts'
import type { OrderTerm } from './order.ts'
import type { RowRange } from './range.ts'
import type { SelectItem } from './select.ts'

export type QueryParams = {
  /** The parameters sorted by name and encoded anew: the form that `Content-Location` shows. */
  readonly canonical: string
  /** Arguments of a function called by GET or HEAD: parameters whose value is no filter. */
  readonly routineArguments: readonly (readonly [string, string])[]
  /** Ranges by parameter name, dots and all: `limit`, `clients.limit` (an `offset` is merged into its `limit`). */
  readonly ranges: ReadonlyMap<string, RowRange>
  readonly order: readonly AtPath<readonly OrderTerm[]>[]
  readonly logic: readonly AtPath<LogicTree>[]
  /** The `columns` parameter, sorted and without duplicates; undefined when absent. */
  readonly columns: readonly string[] | undefined
  readonly select: readonly SelectItem[]
  /** All filters in the order of the query string. */
  readonly filters: readonly AtPath<Filter>[]
  /** Names of all parameters that are filters, as written. */
  readonly filterKeys: ReadonlySet<string>
  readonly onConflict: readonly string[] | undefined
}
