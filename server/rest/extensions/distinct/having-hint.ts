// Says where aggregates may be filtered when a request has them in a filter of rows.

const aggregate = /(?:sum|avg|max|min|count)\((?:distinct)?\)/

/** The hint for conditions on rows whose text (the name of a parameter, a logic tree) has an aggregate function. */
const hintFor = (text: string): string | undefined =>
  aggregate.test(text)
    ? "Use the parameter 'having' to filter by aggregates, as in having=amount.sum().gt.100."
    : undefined

export const havingHints = { hintFor }
