// The hook for extensions with parameters of their own, whose values PostgREST rejects or takes as arguments.
import type { Distinct } from '../extensions/distinct/distinct.ts'
import type { GroupFilter } from '../extensions/distinct/having.ts'
import type { AtPath } from './field.ts'
import type { LogicTree } from './filter.ts'
import type { HintFor } from './hint.ts'

/** The parameters of a request that extensions add to. */
export type FurtherParams = {
  /** Whether parameters that are not filters are arguments of a function. */
  readonly argumentsAllowed: boolean
  /** Whether `cursor` may be the cursor of a page. */
  readonly cursorsAllowed: boolean
  readonly routineArguments: (readonly [string, string])[]
  groupings?: { readonly distinct: AtPath<Distinct>[]; readonly having: AtPath<LogicTree<GroupFilter>>[] }
  cursors?: string[]
  ambiguousArguments?: Set<string>
}

export type FurtherParameter = {
  /**
   * Reads a parameter that may be a filter or an argument, unless it is one of the extension.
   *
   * @returns a text that is equal for values of the same shape (see `shape-key.ts`); undefined for another parameter
   * @throws ApiError PGRST100
   */
  readonly read: (name: string, value: string, into: FurtherParams) => string | undefined
  /** The hint for a text that is not valid as the name of a filter, or as a tree of conditions. */
  readonly hintFor?: HintFor
}
