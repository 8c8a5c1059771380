// Row ranges: `limit`/`offset` parameters, `Range` headers.

/** Rows from `offset` on; `limit` rows, or all that are left when it is null. `limit` 0 is allowed. */
export type RowRange = { readonly offset: number; readonly limit: number | null }

export const allRows: RowRange = { offset: 0, limit: null }
