import type { SchemaCache } from './schema-cache.ts'

/** What was loaded, as one log line. Counts relationships by pairs of relation and foreign schema. */
export const summarize = (cache: SchemaCache): string =>
  [
    `${cache.tables.size} Relations`,
    `${cache.relationships.size} Relationships`,
    `${cache.routines.size} RPCs`,
    `${cache.representations.size} Domain Representations`,
    `${cache.mediaHandlers.size} Media Type Handlers`,
  ].join(', ')
