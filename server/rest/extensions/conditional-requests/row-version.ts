// Versions of rows, for conditional requests: which relations have one, which reads return it, and what `If-Match` and
// `If-None-Match` require of a write.
import type { Table } from '../../../catalogue/table.ts'
import { parseTagCondition, strongVersions, type TagCondition } from './entity-tag.ts'
import { errors } from '../../errors.ts'
import { versionSql } from './row-version-sql.ts'
import type { Precondition, RowVersion } from './version-plan.ts'
import type { ApiRequest, Mutation } from '../../request/api-request.ts'
import { isPlainEquality } from '../../request/filter.ts'
import type { MediaHandler } from '../../../catalogue/media-handler.ts'
import { isGrouped, type ReadPlan } from '../../plan/read-plan.ts'

export type VersionSettings = {
  readonly dbVersionColumn?: string | null
  /** Whether reads return versions. Off for a caller who may read columns, but not versions. */
  readonly readsVersions?: boolean
}

/** The version of a relation's rows; undefined when they have none. */
function rowVersion(table: Table, { dbVersionColumn = null }: VersionSettings): RowVersion | undefined {
  const column = dbVersionColumn === null ? undefined : table.columns.get(dbVersionColumn)
  if (column) {
    const isTimestamp = column.type === 'timestamp with time zone'
    return { kind: 'column', name: column.name, isTimestamp, sql: versionSql }
  }
  return table.hasSystemVersion === true ? { kind: 'system', sql: versionSql } : undefined
}

/** Whether filters compare each column of the primary key, so that at most one row matches. */
export function isByKey({ primaryKey }: Table, { queryParams: { filters } }: ApiRequest): boolean {
  return (
    primaryKey.length > 0 &&
    primaryKey.every((name) =>
      filters.some(
        ({ path, value }) =>
          path.length === 0 && value.field.name === name && value.field.jsonPath.length === 0 && isPlainEquality(value),
      ),
    )
  )
}

/**
 * The version that a read returns: if its rows have one, and it is for one row, by its key or as a single object.
 * Undefined for tables with grants on columns, because a role that may read some columns may not read `xmin`.
 *
 * @param handler creates the body of a GET request
 */
export function versionOfRead(
  table: Table,
  request: ApiRequest,
  read: ReadPlan,
  handler: MediaHandler,
  settings: VersionSettings,
): RowVersion | undefined {
  if (settings.readsVersions === false || table.hasColumnGrants === true || isGrouped(read) || read.distinct)
    return undefined
  const { kind } = handler
  const isSingle =
    kind === 'single-json' || ((kind === 'json' || kind === 'array-json-strip') && isByKey(table, request))
  return isSingle ? rowVersion(table, settings) : undefined
}

/** Whether a trigger may write the row again, after the statement has returned it. */
const mayRewrite = (
  { rewritesInserted = false, rewritesUpdated = false }: Table,
  { preferences }: ApiRequest['shape'],
  mutation: Mutation,
): boolean => {
  const mayInsert = mutation !== 'update'
  const mayUpdate = mutation !== 'create' || preferences.resolution === 'merge-duplicates'
  return (mayInsert && rewritesInserted) || (mayUpdate && rewritesUpdated)
}

/**
 * The version that a write returns; undefined when a trigger may write the row again, so that it would be another one. The system version needs no privileges: it is the current transaction. A column has
 * to be returned, which needs more privileges than a write without a result.
 */
export function versionOfWrite(
  table: Table,
  { shape }: ApiRequest,
  mutation: Mutation,
  precondition: Precondition | undefined,
  settings: VersionSettings,
): RowVersion | undefined {
  if (mutation === 'delete' || mayRewrite(table, shape, mutation)) return undefined
  const version = rowVersion(table, settings)
  if (version?.kind !== 'column') return version
  const { representation } = shape.preferences
  const returnsRows = representation !== undefined && representation !== 'minimal' && table.hasColumnGrants !== true
  return returnsRows || precondition ? version : undefined
}

/** @throws ApiError PGRSTX51 when it is malformed */
export function parseIfMatch(text: string): TagCondition {
  const condition = parseTagCondition(text)
  if (condition === undefined) throw errors.malformedIfMatch(text)
  return condition
}

/**
 * The precondition of a write; undefined without one.
 *
 * @throws ApiError PGRSTX51 for a malformed `If-Match`, PGRSTX53 when rows have no version, PGRSTX54 for a condition
 *   that the method does not support
 */
export function preconditionOf(
  table: Table,
  { shape, input: { conditions } }: ApiRequest,
  mutation: Mutation,
  settings: VersionSettings,
): Precondition | undefined {
  if (conditions === undefined) return undefined
  const { ifMatch, ifNoneMatch } = conditions
  if (mutation === 'create') {
    // `If-None-Match` is ignored, as in PostgREST: a POST without `resolution` never changes an existing row.
    if (ifMatch !== undefined) throw errors.unsupportedCondition('If-Match', ifMatch, shape.method)
    return undefined
  }
  if (ifNoneMatch !== undefined) {
    const isCreateOnly = mutation === 'single-upsert' && ifMatch === undefined && parseTagCondition(ifNoneMatch) === '*'
    if (!isCreateOnly) throw errors.unsupportedCondition('If-None-Match', ifNoneMatch, shape.method)
    return { kind: 'absent' }
  }
  if (ifMatch === undefined) return undefined
  const condition = parseIfMatch(ifMatch)
  if (condition === '*') return { kind: 'exists' }
  const source = rowVersion(table, settings)
  if (!source) throw errors.noRowVersion(table.name, settings.dbVersionColumn ?? null)
  return { kind: 'version', source, versions: strongVersions(condition) }
}
