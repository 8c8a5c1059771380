// Requests for a row by its key in the path: `/classification_runs/{id}`, for tables with a primary key of one column.
// They are ordinary requests with the filter `key=eq.{id}` and a single object as their result.
import type { SchemaCache } from '../../../catalogue/schema-cache.ts'
import { qualifiedKey } from '../../../catalogue/identifier.ts'
import { errors } from '../../errors.ts'
import type { Address } from '../../extension.ts'
import { planRowByKey } from './row-by-key-response.ts'
import type { ApiRequest } from '../../request/api-request.ts'
import type { Filter } from '../../request/filter.ts'
import { isCallPath, pathSegments } from '../../request/resource.ts'

/** Whether a path is `/table/id`. */
function isRowPath(path: string): boolean {
  const second = path.indexOf('/', 1)
  if (second < 0 || second === path.length - 1 || isCallPath(path)) return false
  return !path.includes('/', second + 1)
}

/** Paths of the form `/table/id`. */
export const rowAddress: Address = {
  has: isRowPath,
  of: (http) => {
    const second = http.path.indexOf('/', 1)
    const id = decoded(http.path.slice(second + 1))
    const table = { ...http, path: http.path.slice(0, second) }
    return {
      http: table,
      // In PostgREST, a path of two segments is invalid, and that error takes precedence over all others.
      require: ({ dbSchemas }, cache) => {
        if (!hasSingleColumnKey(table.path, dbSchemas, cache)) throw errors.path()
      },
      complete: (request, cache) => filterByKey(request, id, cache),
      completePlan: planRowByKey,
    }
  },
}

/** @throws ApiError PGRST125 for text that is not valid percent-encoded UTF-8 */
function decoded(text: string): string {
  try {
    return decodeURIComponent(Buffer.from(text, 'latin1').toString('utf8'))
  } catch {
    throw errors.path()
  }
}

/** The column of a primary key of one column; undefined for other keys and for unknown tables. */
function keyColumn(cache: SchemaCache, schema: string, table: string): string | undefined {
  const key = cache.tables.get(qualifiedKey(schema, table))?.primaryKey
  return key?.length === 1 ? key[0] : undefined
}

/** Whether a path names a table in one of the schemas with a primary key of one column. */
function hasSingleColumnKey(path: string, schemas: readonly string[], cache: SchemaCache): boolean {
  const [table = ''] = pathSegments(path)
  return schemas.some((schema) => keyColumn(cache, schema, table) !== undefined)
}

/**
 * Adds the filter by key to a request.
 *
 * @throws ApiError PGRST125 when the table is unknown or its primary key is not one column; PGRST117 for POST
 */
function filterByKey(request: ApiRequest, id: string, cache: SchemaCache): ApiRequest {
  const { shape, queryParams, input } = request
  const { action } = shape
  if (action.kind !== 'read' && action.kind !== 'mutate' && action.kind !== 'relation-info') throw errors.path()
  const column = keyColumn(cache, action.relation.schema, action.relation.name)
  if (column === undefined) throw errors.path()
  if (action.kind === 'mutate' && action.mutation === 'create') throw errors.method(shape.method)
  const value: Filter = {
    field: { name: column, jsonPath: [] },
    negated: false,
    operation: { kind: 'quantifiable', operator: 'eq', quantifier: null, value: id },
  }
  // An update without columns affects no row, so it is replaced by a read that shows whether the row exists.
  const unchanged = action.kind === 'mutate' && action.mutation === 'update' && shape.columns.length === 0
  const headersOnly = shape.preferences.representation !== 'representation'
  return {
    ...request,
    shape: unchanged ? { ...shape, action: { kind: 'read', relation: action.relation, headersOnly } } : shape,
    input: { ...input, tableShape: shape },
    queryParams: {
      ...queryParams,
      filters: [{ path: [], value }, ...queryParams.filters],
      filterKeys: new Set([column, ...queryParams.filterKeys]),
    },
  }
}
