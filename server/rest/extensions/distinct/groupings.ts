// The parameters `distinct` and `having`, which PostgREST does not have. Their values are those that cannot be filters:
// `distinct=eq.x` is a filter of the column `distinct`, and an argument of a function may have either name.
import { ApiError } from '../../errors.ts'
import { parseDistinct, type Distinct } from './distinct.ts'
import type { AtPath } from '../../request/field.ts'
import { beginsLikeFilter, type LogicTree } from '../../request/filter.ts'
import { parseHaving, type GroupFilter } from './having.ts'

/** The parsed parameters, with the embeds they apply to. */
export type Groupings = {
  readonly distinct: readonly AtPath<Distinct>[]
  readonly having: readonly AtPath<LogicTree<GroupFilter>>[]
  /** Whether they may be arguments of a function called with GET or HEAD, so that the names of its parameters decide. */
  readonly mayBeArguments: boolean
}

/** Whether a parameter has one of the names, possibly after the embeds it applies to: `lines.distinct`. */
export function isGroupingName(name: string): boolean {
  const word = groupingName(name)
  return word === 'distinct' || word === 'having'
}

/** The name of a parameter without the embeds before it. */
export const groupingName = (name: string): string => name.slice(name.lastIndexOf('.') + 1)

/** Collects the parameters. */
export class GroupingReader {
  readonly #distinct: AtPath<Distinct>[] = []
  readonly #having: AtPath<LogicTree<GroupFilter>>[] = []
  readonly #mayBeArguments: boolean

  /** @param mayBeArguments whether the parameters may be arguments of a function */
  constructor(mayBeArguments: boolean) {
    this.#mayBeArguments = mayBeArguments
  }

  /**
   * Adds a parameter that has one of the names.
   *
   * @returns false for a filter, and for any other argument of a function
   * @throws PGRST100 for a value that is neither a filter nor a grouping
   */
  add(name: string, text: string): boolean {
    if (beginsLikeFilter(text)) return false
    try {
      if (name.endsWith('having')) this.#having.push(parseHaving(name, text))
      else if (text.startsWith('on.')) this.#distinct.push(parseDistinct(name, text))
      else return false
    } catch (error) {
      if (this.#mayBeArguments && error instanceof ApiError) return false
      throw error
    }
    return true
  }

  /** The collected parameters; undefined without any. */
  get result(): Groupings | undefined {
    if (this.#distinct.length === 0 && this.#having.length === 0) return undefined
    return { distinct: this.#distinct, having: this.#having, mayBeArguments: this.#mayBeArguments }
  }
}
