// The location of a created row: `{id=eq.1,…}`, one pair for each column of the primary key.
import { literal } from './identifier.ts'
import { resultAlias, sourceName } from './handler.ts'

export const noLocation = 'array[]::text[]'

/** The pairs of the created row; empty unless exactly one row was created. */
export function locationSql(primaryKey: readonly string[]): string {
  const keys = primaryKey.length === 0 ? "''" : primaryKey.map(literal).join(',')
  const pairs =
    `(WITH data AS (SELECT row_to_json(_) AS row FROM ${sourceName} AS _ LIMIT 1)` +
    ` SELECT array_agg(json_data.key || '=' || coalesce('eq.' || json_data.value, 'is.null'))` +
    ` FROM data CROSS JOIN json_each_text(data.row) AS json_data WHERE json_data.key IN (${keys}))`
  return `CASE WHEN pg_catalog.count(${resultAlias}) = 1 THEN coalesce(${pairs}, ${noLocation}) ELSE ${noLocation} END`
}
