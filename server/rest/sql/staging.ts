// The temporary table that the rows of an import arrive in.
//
// PostgreSQL refuses COPY FROM on tables with row-level security, and COPY has no ON CONFLICT, RETURNING or JSON. So COPY
// fills a temporary table with one JSON object per row, and the statement that inserts a JSON body reads its rows there:
// policies, defaults, triggers and conflicts are those of a JSON body, and neither side has all rows in memory.
//
// The login role creates the table, because the role of the request may lack the privilege TEMPORARY. Its name is random,
// so that no earlier user of the connection can have created it, with a trigger for example. Nothing outside of the
// connection sees it, and the end of the transaction drops it. It is not logged, and the server checks no file for it.
import { randomBytes } from 'node:crypto'
import type { StagedRange } from '../plan/mutate-plan.ts'
import type { Fragment } from './fragment.ts'
import { payloadFrom, type PayloadField } from './payload.ts'

export const stagingTable = (): string => `pg_temp."rowhouse_import_${randomBytes(8).toString('hex')}"`

/** Statements that create the table, for the login role. Only this connection has access, so everyone may use it. */
export const createStaging = (table: string): readonly string[] => [
  `create temporary table ${table} (line pg_catalog.int8 not null, data pg_catalog.text not null) on commit drop`,
  `grant select, insert on ${table} to public`,
]

/** The COPY whose data `CopyData` writes. */
export const copyStaging = (table: string): string => `copy ${table} (line, data) from stdin (format binary)`

/** `FROM` the rows of a staging table, in the order of the body, as `payloadSql`. */
export function stagedSql(
  { table, after, last }: StagedRange,
  fields: readonly PayloadField[],
  applyDefaults: boolean,
): Fragment {
  const source: Fragment = [
    `(SELECT data::${applyDefaults ? 'jsonb' : 'json'} AS json_data FROM ${table} WHERE line > `,
    { value: String(after) },
    '::bigint AND line <= ',
    { value: String(last) },
    '::bigint)',
  ]
  return payloadFrom(source, true, { fields, applyDefaults })
}
