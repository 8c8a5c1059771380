// Names of fields in a query string.

export type JsonOperation = {
  readonly arrow: '->' | '->>'
  readonly operand: { readonly kind: 'key' | 'index'; readonly text: string }
}

/** A column, possibly followed into its JSON (or composite) value. */
export type Field = { readonly name: string; readonly jsonPath: readonly JsonOperation[] }

/** Names of the embeds that lead to where a parameter applies; empty for the top level. */
export type EmbedPath = readonly string[]

/** A parsed parameter and the embed it is for. */
export type AtPath<T> = { readonly path: EmbedPath; readonly value: T }
