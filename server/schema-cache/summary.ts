import type { SchemaCache } from './schema-cache.ts'

/** What was loaded, in one line for the log. Relationships are counted by the pairs of relation and schema they join. */
export const summarize = (cache: SchemaCache): string =>
  [
    `${cache.tables.size} Relations`,
    `${cache.relationships.size} Relationships`,
    `${cache.routines.size} RPCs`,
    `${cache.representations.size} Domain Representations`,
    `${cache.mediaHandlers.size} Media Type Handlers`,
  ].join(', ')
