// The temporary table that the rows of an import arrive in.
//
// PostgreSQL refuses COPY FROM on tables with row-level security, and COPY has no ON CONFLICT, RETURNING or JSON. So COPY
// fills a temporary table with JSON arrays of some rows each, and the statement that inserts a JSON body reads them there:
// policies, defaults, triggers and conflicts are those of a JSON body, and neither side has all rows in memory.
//
// The login role creates the table, because the role of the request may lack the privilege TEMPORARY. Its name is random,
// so that no earlier user of the connection can have created it, with a trigger for example. Nothing outside of the
// connection sees it, and the end of the transaction drops it. It is not logged, and the server checks no file for it.
import { randomBytes } from 'node:crypto'
import type { Fragment } from '../../sql/fragment.ts'
import { payloadFrom, type PayloadField } from '../../sql/payload.ts'

/** Rows in a staging table: those of the lines above `after`, up to `last`. */
export type StagedRange = {
  readonly table: string
  readonly after: number
  readonly last: number
  readonly sql: (range: StagedRange, fields: readonly PayloadField[], applyDefaults: boolean) => Fragment
}

export const stagingTable = (): string => `pg_temp."rowhouse_import_${randomBytes(8).toString('hex')}"`

/**
 * Statements that create the table, for the login role. Only this connection has access, so everyone may use it. Arrays are
 * stored as they are: compressing them would take longer than writing them.
 */
export const createStaging = (table: string): readonly string[] => [
  `create temporary table ${table} (first_line pg_catalog.int8 not null, last_line pg_catalog.int8 not null,` +
    ` data pg_catalog.text not null) with (toast_tuple_target = 8160) on commit drop`,
  // The rows that ANALYZE reads are in memory: 300 for each unit of its target.
  `alter table ${table} alter column data set storage external, alter column first_line set statistics 1`,
  `grant select, insert on ${table} to public`,
]

/** The COPY whose data `CopyData` writes. */
export const copyStaging = (table: string): string =>
  `copy ${table} (first_line, last_line, data) from stdin (format binary)`

/** Counts the arrays for the planner, which would expect the table to have hundreds of them on each page. */
export const analyzeStaging = (table: string): string => `analyze ${table} (first_line)`

/** `FROM` the rows of a staging table, in the order of the body, as `payloadSql`. */
export function stagedSql(
  { table, after, last }: StagedRange,
  fields: readonly PayloadField[],
  applyDefaults: boolean,
): Fragment {
  const afterSql: Fragment = [{ value: String(after) }, '::bigint']
  const lastSql: Fragment = [{ value: String(last) }, '::bigint']
  const lines: Fragment = [
    '(pg_catalog.string_to_array(data, pg_catalog.chr(10)))[(greatest(',
    afterSql,
    ' + 1, first_line) - first_line + 1)::int : (least(',
    lastSql,
    ', last_line) - first_line + 1)::int]',
  ]
  const source: Fragment = [
    '(SELECT (CASE WHEN first_line > ',
    afterSql,
    ' AND last_line <= ',
    lastSql,
    // Some lines of an array lack its brackets, and begin with a comma.
    " THEN data ELSE '[' || pg_catalog.rtrim(pg_catalog.ltrim(pg_catalog.array_to_string(",
    lines,
    ", pg_catalog.chr(10)), '[,' || pg_catalog.chr(10)), ']') || ']' END)",
    `::${applyDefaults ? 'jsonb' : 'json'} AS json_data FROM ${table} WHERE last_line > `,
    afterSql,
    ' AND first_line <= ',
    lastSql,
    ')',
  ]
  return payloadFrom(source, false, { fields, applyDefaults })
}
