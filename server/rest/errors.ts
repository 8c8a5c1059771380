// Creates the errors of PostgREST. `extension-errors.ts`, `batch/batch-errors.ts`, `plan/nested-errors.ts` and
// `request/page-errors.ts` create those that PostgREST does not have. `error-codes.ts` declares the codes of all;
// `sql-errors.ts` converts the errors that PostgreSQL raises.
import { apiError, ApiError } from './api-error.ts'
import type { CredentialError } from '../identity/credential-error.ts'
import { extensionErrors } from './extension-errors.ts'

export { apiError, ApiError, errorBody, withLine, type ErrorBody } from './api-error.ts'
export type { ErrorCode } from './error-codes.ts'

const invalidToken = (message: string): readonly (readonly [string, string])[] => [
  ['WWW-Authenticate', `Bearer error="invalid_token", error_description=${JSON.stringify(message)}`],
]

const rangeProblems = {
  'negative limit': 'Limit should be greater than or equal to zero.',
  'lower above upper': 'The lower boundary must be lower than or equal to the upper boundary in the Range header.',
  'beyond the rows': 'The offset is beyond the last row.',
} as const

/** Functions that create errors, in the order of the codes. */
export const errors = {
  // PGRST0xx: connection
  connectionFailed: (details: string | null, cause?: unknown) =>
    apiError('PGRST000', 'Database connection error.', { details, cause }),
  databaseClient: (details: string | null) =>
    apiError('PGRST001', 'Database client error. Retrying the connection.', { details }),
  noSchemaCache: (message = 'Could not query the database for the schema cache. Retrying.') =>
    apiError('PGRST002', message),
  acquisitionTimeout: () => apiError('PGRST003', 'Timed out acquiring connection from connection pool.'),
  /** Never sent, but logged and counted in the metrics, with nginx's status for it. */
  callerGone: () => apiError('PGRSTX05', 'The client closed the connection before the response.'),

  // PGRSTXxx: codes that PostgREST does not have
  ...extensionErrors,

  // PGRST1xx: the request
  /** @param message has the position, `details` what was expected there */
  queryParam: (message: string, details: string, hint?: string) => apiError('PGRST100', message, { details, hint }),
  routineMethod: (method: string) => apiError('PGRST101', `Cannot use the ${method} method on RPC`),
  invalidBody: (message: string, details?: unknown) => apiError('PGRST102', message, { details }),
  /** @param limit in bytes */
  bodyTooLarge: (limit: number) =>
    apiError('PGRST102', 'Request body is too large', {
      status: 413,
      details: `The limit is ${limit} bytes.`,
      headers: [['Connection', 'close']],
    }),
  /** @param limit in bytes */
  bodyTooCostly: (limit: number) =>
    apiError('PGRST102', 'Request body takes too much memory', {
      status: 413,
      details: `Its rows, each with the names of all columns, may have ${limit} bytes as JSON. Send fewer rows, or shorter names.`,
    }),
  /** @param limit of the commas, colons and opening brackets of a JSON row that is checked before it is written */
  tooManyValues: (limit: number) =>
    apiError('PGRST102', 'A row has too many values', {
      status: 413,
      details: `Its JSON may have ${limit} commas, colons and opening brackets.`,
    }),
  /** Never sent: the connection is closed. */
  incompleteBody: () => apiError('PGRST102', 'The connection ended before the whole body had arrived'),
  rangeNotSatisfiable: (problem: keyof typeof rangeProblems | { readonly offset: string; readonly total: string }) =>
    apiError('PGRST103', 'Requested range not satisfiable', {
      details:
        typeof problem === 'string'
          ? rangeProblems[problem]
          : `An offset of ${problem.offset} was requested, but there are only ${problem.total} rows.`,
    }),
  putFilters: () => apiError('PGRST105', "Filters must include all and only primary key columns with 'eq' operators"),
  unacceptableSchema: (schema: string, exposed: readonly string[]) =>
    apiError('PGRST106', `Invalid schema: ${schema}`, {
      hint: `Only the following schemas are exposed: ${exposed.join(', ')}`,
    }),
  mediaType: (mimes: readonly string[]) =>
    apiError('PGRST107', `None of these media types are available: ${mimes.join(', ')}`),
  /** @param legacy set when the embed exists, but must be referred to by its alias */
  notEmbedded: (resource: string, legacy?: { readonly name: string; readonly alias: string }) =>
    apiError('PGRST108', `'${resource}' is not an embedded resource in this request`, {
      details: legacy ? 'Target names are not allowed in filters if they have an alias' : null,
      hint: legacy
        ? `Change '${legacy.name}' to '${legacy.alias}' in filters, orders or limits.`
        : `Verify that '${resource}' is included in the 'select' query parameter.`,
    }),
  /** @param details names the header that is not valid HTTP, if the JSON has the right form */
  headersSetting: (details?: string) =>
    apiError(
      'PGRST111',
      'response.headers guc must be a JSON array composed of objects with a single key and a string value',
      { details },
    ),
  statusSetting: () => apiError('PGRST112', 'response.status guc must be a valid status code'),
  putLimit: () => apiError('PGRST114', 'limit/offset querystring parameters are not allowed for PUT'),
  putMismatch: () => apiError('PGRST115', 'Payload values do not match URL in primary key column(s)'),
  notSingular: (rows: number) =>
    apiError('PGRST116', 'Cannot coerce the result to a single JSON object', {
      details: `The result contains ${rows} rows`,
    }),
  noRowWithKey: () => errors.notSingular(0).with({ status: 404 }),
  method: (method: string) => apiError('PGRST117', `Unsupported HTTP method: ${method}`),
  relatedOrder: (origin: string, target: string) =>
    apiError('PGRST118', `A related order on '${target}' is not possible`, {
      details: `'${origin}' and '${target}' do not form a many-to-one or one-to-one relationship`,
    }),
  embedFilter: (target: string) =>
    apiError('PGRST120', `Bad operator on the '${target}' embedded resource`, {
      details: 'Only is null or not is null filters are allowed on embedded resources',
    }),
  raiseUnreadable: (
    problem:
      | { readonly part: 'message'; readonly text: string }
      | { readonly part: 'detail'; readonly text: string }
      | { readonly part: 'no detail' },
  ) =>
    apiError('PGRST121', `Could not parse JSON in the "RAISE SQLSTATE 'PGRST'" error`, {
      details:
        problem.part === 'message'
          ? `Invalid JSON value for MESSAGE: '${problem.text}'`
          : problem.part === 'detail'
            ? `Invalid JSON value for DETAIL: '${problem.text}'`
            : 'DETAIL is missing in the RAISE statement',
      hint:
        problem.part === 'message'
          ? "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and optional keys: 'details', 'hint'."
          : "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and optional key: 'status_text'.",
    }),
  invalidPreferences: (preferences: readonly string[]) =>
    apiError('PGRST122', 'Invalid preferences given with handling=strict', {
      details: `Invalid preferences: ${preferences.join(', ')}`,
    }),
  aggregatesDisabled: () => apiError('PGRST123', 'Use of aggregate functions is not allowed'),
  maxAffected: (rows: number) =>
    apiError('PGRST124', 'Query result exceeds max-affected preference constraint', {
      details: `The query affects ${rows} rows`,
    }),
  path: () => apiError('PGRST125', 'Invalid path specified in request URL'),
  openapiDisabled: () => apiError('PGRST126', 'Root endpoint metadata is disabled'),
  notImplemented: (details: string) => apiError('PGRST127', 'Feature not implemented', { details }),
  maxAffectedRoutine: () =>
    apiError(
      'PGRST128',
      'Function must return SETOF or TABLE when max-affected preference is used with handling=strict',
    ),

  // PGRST2xx: the schema cache. `plan/suggestion.ts` creates the hints.
  noRelationship: (parent: string, child: string, details: string, hint: string | null) =>
    apiError('PGRST200', `Could not find a relationship between '${parent}' and '${child}' in the schema cache`, {
      details,
      hint,
    }),
  ambiguousRelationship: (parent: string, child: string, details: readonly unknown[], hint: string) =>
    apiError(
      'PGRST201',
      `Could not embed because more than one relationship was found for '${parent}' and '${child}'`,
      { details, hint },
    ),
  /** @param call the function with its parameters: `api.add(a, b)`, `api.add without parameters` */
  noRoutine: (call: string, details: string, hint: string | null) =>
    apiError('PGRST202', `Could not find the function ${call} in the schema cache`, { details, hint }),
  /** @param candidates in the form `schema.name(parameter => type, …)` */
  ambiguousRoutine: (candidates: readonly string[]) =>
    apiError('PGRST203', `Could not choose the best candidate function between: ${candidates.join(', ')}`, {
      hint: 'Try renaming the parameters or the function itself in the database so function overloading can be resolved',
    }),
  noColumn: (relation: string, column: string) =>
    apiError('PGRST204', `Could not find the '${column}' column of '${relation}' in the schema cache`),
  noTable: (schema: string, table: string, hint: string | null) =>
    apiError('PGRST205', `Could not find the table '${schema}.${table}' in the schema cache`, { hint }),

  // PGRST3xx: authentication
  noJwtSecret: () => apiError('PGRST300', 'Server lacks JWT secret'),
  /** The token cannot be decoded or verified. */
  invalidJwt: (message: string, details: string | null = null) =>
    apiError('PGRST301', message, { details, headers: invalidToken(message) }),
  anonymousDisabled: () =>
    apiError('PGRST302', 'Anonymous access is disabled', { headers: [['WWW-Authenticate', 'Bearer']] }),
  /** The signature of the token is valid, but its claims are not. */
  invalidClaims: (message: string) => apiError('PGRST303', message, { headers: invalidToken(message) }),

  // PostgreSQL's codes
  /** The response to PostgreSQL's error for a role that cannot be switched to. */
  roleNotPermitted: (message: string) => new ApiError({ code: '42501', status: 403, message }),
  /** What PostgreSQL answers to a statement after an error. */
  failedTransaction: () =>
    new ApiError({
      code: '25P02',
      status: 500,
      message: 'current transaction is aborted, commands ignored until end of transaction block',
    }),
}

/** Converts the error of a credential. */
export function ofCredential({ problem, message, details }: CredentialError): ApiError {
  switch (problem) {
    case 'no secret':
      return errors.noJwtSecret()
    case 'anonymous disabled':
      return errors.anonymousDisabled()
    case 'invalid token':
      return errors.invalidJwt(message, details)
    case 'invalid claims':
      return errors.invalidClaims(message)
    case 'role not permitted':
      return errors.roleNotPermitted(message)
    default:
      return problem satisfies never
  }
}
