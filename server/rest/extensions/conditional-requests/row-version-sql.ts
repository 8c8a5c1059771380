// Versions of rows in SQL: reading them, requiring them, and finding out why a write affected no row.
import type { QualifiedIdentifier } from '../../../catalogue/identifier.ts'
import type { MutatePlan } from '../../plan/mutate-plan.ts'
import type { MatchedCount, Precondition, RequiredVersions, RowVersion, RowVersionSql } from './version-plan.ts'
import { conditionsOf, whereSql } from '../../sql/filter.ts'
import type { Fragment } from '../../sql/fragment.ts'
import { sourceName } from '../../sql/handler.ts'
import { column, qualified, unqualified } from '../../sql/identifier.ts'
import { arrayParameter } from '../../sql/parameter.ts'

/** The version of a row as text. A timestamp is written independently of the settings `timezone` and `datestyle`. */
function of(relation: QualifiedIdentifier, version: RowVersion): string {
  if (version.kind === 'system') return `${qualified(relation)}.xmin::text`
  const value = column(relation, version.name)
  return version.isTimestamp
    ? `pg_catalog.to_char(${value} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')`
    : `${value}::text`
}

/** Rows of foreign partitions have no version: their `xmin` is 0. */
const none = '0'

/**
 * The condition that a row has one of the versions. In an UPDATE or DELETE that waits for another transaction, Postgres
 * evaluates it again on the new version of the row.
 */
function required(relation: QualifiedIdentifier, { source, versions }: RequiredVersions): Fragment {
  const possible = source.kind === 'system' ? versions.filter((version) => version !== none) : versions
  return [of(relation, source), ' = ANY(', arrayParameter(possible), '::text[])']
}

/** The version of the row of a read, from rows with the column `pgrst_version`. */
const read = "nullif(pg_catalog.min(pgrst_version), '0')"

/**
 * The version of the row that a statement has written. The system version is the number of the transaction, which is
 * known without a privilege on the table.
 */
const written = (version: RowVersion): string =>
  version.kind === 'system'
    ? 'pg_catalog.pg_current_xact_id_if_assigned()::xid::text'
    : `(SELECT pg_catalog.min(${of(unqualified(sourceName), version)}) FROM ${sourceName})`

export const versionSql: RowVersionSql = { of, read, written, required }

/** Counts the rows that filters match before the write, up to two. */
export const matchedCount: MatchedCount = ({ into, where }) => [
  `(SELECT pg_catalog.count(*) FROM (SELECT FROM ${qualified(into)}`,
  whereSql(conditionsOf(into, where)),
  ' LIMIT 2) pgrst_matched)',
]

/**
 * Selects the versions of visible rows that the filters of a write match, after it affected none. Its snapshot is newer
 * than that of the write.
 */
export const probeStatement = ({ into, where }: MutatePlan, precondition: Precondition): Fragment => [
  `SELECT ${precondition.kind === 'version' ? of(into, precondition.source) : "''"} FROM ${qualified(into)}`,
  whereSql(conditionsOf(into, where)),
  ' LIMIT 2',
]
