// Says where aggregates may be filtered when a request has them in a filter of rows.
import { ApiError } from '../../errors.ts'

const aggregate = /(?:sum|avg|max|min|count)\((?:distinct)?\)/

/** The hint for an aggregate in a filter of rows. */
const havingHint = "Use the parameter 'having' to filter by aggregates, as in having=amount.sum().gt.100."

/**
 * Parses or plans conditions on rows. If that fails and one of the texts has an aggregate function, the error hints at
 * `having`.
 *
 * @param texts the text of the conditions: names of parameters, or a logic tree
 * @throws ApiError the error of `run`
 */
export function withHavingHint<T>(texts: Iterable<string>, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    for (const text of texts) {
      if (aggregate.test(text)) throw error.with({ hint: havingHint })
    }
    throw error
  }
}
