// Hints of extensions for errors in conditions.
import { ApiError } from '../errors.ts'

/** The hint for a text that is not valid; undefined for none. */
export type HintFor = (text: string) => string | undefined

/** Extensions, of which some have hints. */
export type Hints = readonly { readonly hintFor?: HintFor }[]

/**
 * Parses or plans conditions on rows.
 *
 * @param texts the names of parameters, or a logic tree
 * @throws ApiError the error of `run`, with the first hint for one of the texts
 */
export function withHint<T>(texts: Iterable<string>, hints: Hints, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    for (const text of texts) {
      for (const { hintFor } of hints) {
        const hint = hintFor?.(text)
        if (hint !== undefined) throw error.with({ hint })
      }
    }
    throw error
  }
}
