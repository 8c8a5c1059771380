// The parameters `distinct` and `having`, which PostgREST does not have. Their values are those that cannot be filters:
// `distinct=eq.x` is a filter of the column `distinct`, and an argument of a function may have either name.
import { ApiError } from '../../errors.ts'
import { parseDistinct, type Distinct } from './distinct.ts'
import type { AtPath } from '../../request/field.ts'
import { beginsLikeFilter, type LogicTree } from '../../request/filter.ts'
import type { FurtherParameter, FurtherParams } from '../../request/further-parameters.ts'
import { keyPart, partKind } from '../../request/shape-key.ts'
import { havingHints } from './having-hint.ts'
import { havingKey, parseHaving, type GroupFilter } from './having.ts'

/** The parsed parameters, with the embeds they apply to. */
export type Groupings = {
  readonly distinct: readonly AtPath<Distinct>[]
  readonly having: readonly AtPath<LogicTree<GroupFilter>>[]
}

/** Whether a parameter has one of the names, possibly after the embeds it applies to: `lines.distinct`. */
export function isGroupingName(name: string): boolean {
  const word = groupingName(name)
  return word === 'distinct' || word === 'having'
}

/** The name of a parameter without the embeds before it. */
const groupingName = (name: string): string => name.slice(name.lastIndexOf('.') + 1)

/** Reads the parameters. One that may be an argument is both until the function is known. */
export const groupingParameters: FurtherParameter = {
  read: (name, text, into) => {
    if (!isGroupingName(name) || beginsLikeFilter(text)) return undefined
    try {
      return readGrouping(name, text, into)
    } catch (error) {
      if (into.argumentsAllowed && error instanceof ApiError) return undefined
      throw error
    }
  },
  ...havingHints,
}

/** @throws ApiError PGRST100 for a value that is neither a filter nor a grouping */
function readGrouping(name: string, text: string, into: FurtherParams): string | undefined {
  const word = groupingName(name)
  if (word === 'distinct' && !text.startsWith('on.')) return undefined
  const having = word === 'having' ? parseHaving(name, text) : undefined
  const distinct = having ? undefined : parseDistinct(name, text)
  into.groupings ??= { distinct: [], having: [] }
  if (having) into.groupings.having.push(having)
  if (distinct) into.groupings.distinct.push(distinct)
  if (into.argumentsAllowed) {
    into.routineArguments.push([word, text])
    into.ambiguousArguments ??= new Set()
    into.ambiguousArguments.add(word)
  }
  return having ? havingKey(having.value) : keyPart(partKind.text, text)
}
