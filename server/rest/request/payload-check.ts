// Validates bodies for tables with a JSON Schema before they are sent to the database, and reports all problems at
// once. Bodies for other tables are checked by Postgres only.
import type { BodyProblem, BodyValidator, TableBodies } from '../validation.ts'
import { ApiError, errors } from '../errors.ts'
import type { HttpRequest, PlannedRequest } from './api-request.ts'
import { hasLoneSurrogate } from '../../text/json-text.ts'
import { invalidJson, parseJson } from './payload.ts'
import { type Payload, type ReadPayload } from './api-request.ts'
import { pathSegments } from './resource.ts'

/**
 * Validates the body of a write.
 *
 * @param read value of the body, if it was parsed before, or its problems, if it was checked (see `ReadPayload`)
 * @throws ApiError PGRST102 whose details list all problems by JSON pointer
 */
export function checkPayload(
  { shape, input }: PlannedRequest,
  { value, problems: known }: Pick<ReadPayload, 'value' | 'problems'>,
  validator: BodyValidator,
): void {
  if (known) {
    rejectProblems(known)
    return
  }
  const { action, columns, contentType } = shape
  const { payload } = input
  if (!payload || action.kind !== 'mutate') return
  const table = validator.forTable(action.relation.schema, action.relation.name)
  if (!table) return
  const body = withColumns(value ?? valueOf(payload), payload, columns)
  const isText = contentType.kind !== 'json'
  const problems =
    action.mutation === 'update' ? table.validateUpdate(body, isText) : table.validateInsert(body, isText)
  rejectProblems(problems)
}

function rejectProblems(problems: readonly BodyProblem[]): void {
  if (problems.length > 0)
    throw errors.invalidBody('The body does not match the schema of the table', listedProblems(problems))
}

function valueOf(payload: Payload): unknown {
  if (payload.kind !== 'json' && payload.kind !== 'raw-json') return undefined
  const value = parseJson(payload.text)
  if (hasLoneSurrogate(payload.text)) throw invalidJson()
  return value
}

/** The part of a body that is written: the `columns` parameter excludes other properties. */
function withColumns(value: unknown, payload: Payload, columns: readonly string[]): unknown {
  if (payload.kind !== 'raw-json') return value
  return Array.isArray(value) ? value.map((row) => pick(row, columns)) : pick(value, columns)
}

/** The members of a row with some names. */
export const pick = (row: unknown, columns: readonly string[]): unknown =>
  typeof row === 'object' && row !== null
    ? Object.fromEntries(
        columns
          .filter((name) => Object.hasOwn(row, name))
          .map((name) => [name, (row as Record<string, unknown>)[name]]),
      )
    : row

/** Validates a row of an import. Throws as `checkPayload`. */
export type RowCheck = (row: unknown) => void

/**
 * The check of the rows of an import; undefined for a table without a JSON Schema.
 *
 * @param columns the properties that are written; undefined for all
 * @param isText whether all values are strings, which are converted to the types of the schema
 */
export function rowCheck(
  table: TableBodies | undefined,
  columns: readonly string[] | undefined,
  isText: boolean,
): RowCheck | undefined {
  if (!table) return undefined
  return (row) => rejectProblems(table.validateInsert(columns ? pick(row, columns) : row, isText))
}

/** All problems as one text. */
export const listedProblems = (problems: readonly BodyProblem[]): string =>
  problems.map(({ pointer, message }) => (pointer === '' ? message : `${pointer} ${message}`)).join('; ')

/**
 * Changes the status for a body of an unsupported media type to 415 if the table has a JSON Schema. For other tables
 * and errors, returns PostgREST's error as it is.
 */
export function bodyTypeError(
  error: unknown,
  http: HttpRequest,
  schemas: readonly string[],
  validator: BodyValidator,
): unknown {
  const isType =
    error instanceof ApiError && error.code === 'PGRST102' && error.message.startsWith('Content-Type not acceptable')
  if (!isType) return error
  const [table = ''] = pathSegments(http.path)
  const profile = http.headers.find(([name]) => name === 'content-profile')?.[1]
  if (!validator.forTable(profile ?? schemas[0] ?? '', table)) return error
  return error.with({ status: 415 })
}
