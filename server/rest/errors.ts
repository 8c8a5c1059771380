// All errors of the API itself, one function per code. `sql-errors.ts` has the errors that Postgres raises.
// https://docs.postgrest.org/en/v14/references/errors.html
import { ApiError } from './api-error.ts'
import type { CredentialError } from '../identity/credential-error.ts'
import { extensionErrors } from './extension-errors.ts'

export { ApiError, errorBody, withLine, type ErrorBody } from './api-error.ts'

const invalidToken = (message: string): readonly (readonly [string, string])[] => [
  ['WWW-Authenticate', `Bearer error="invalid_token", error_description=${JSON.stringify(message)}`],
]

/**
 * Functions that create errors, grouped by code. Retired codes that must not be reused: PGRST104, PGRST109, PGRST110,
 * PGRST113, PGRST119.
 */
export const errors = {
  // PGRST0xx: connection
  connectionFailed: (details: string | null, cause?: unknown) =>
    new ApiError({ code: 'PGRST000', status: 503, message: 'Database connection error.', details, cause }),
  databaseClient: (details: string | null) =>
    new ApiError({
      code: 'PGRST001',
      status: 503,
      message: 'Database client error. Retrying the connection.',
      details,
    }),
  noSchemaCache: () =>
    new ApiError({
      code: 'PGRST002',
      status: 503,
      message: 'Could not query the database for the schema cache. Retrying.',
    }),
  acquisitionTimeout: () =>
    new ApiError({
      code: 'PGRST003',
      status: 504,
      message: 'Timed out acquiring connection from connection pool.',
    }),
  /** Never sent, but logged and counted in the metrics, with nginx's status for it. */
  callerGone: () =>
    new ApiError({ code: 'PGRSTX01', status: 499, message: 'The client closed the connection before the response.' }),

  // PGRSTXxx: codes that PostgREST does not have
  ...extensionErrors,

  // PGRST1xx: the request
  /** @param message has the position, `details` what was expected there */
  queryParam: (message: string, details: string, hint?: string) =>
    new ApiError({ code: 'PGRST100', status: 400, message, details, hint }),
  routineMethod: (method: string) =>
    new ApiError({ code: 'PGRST101', status: 405, message: `Cannot use the ${method} method on RPC` }),
  invalidBody: (message: string, details?: unknown) =>
    new ApiError({ code: 'PGRST102', status: 400, message, details }),
  /** @param limit in bytes */
  bodyTooLarge: (limit: number) =>
    new ApiError({
      code: 'PGRST102',
      status: 413,
      message: 'Request body is too large',
      details: `The limit is ${limit} bytes.`,
      headers: [['Connection', 'close']],
    }),
  /** @param limit in bytes */
  bodyTooCostly: (limit: number) =>
    new ApiError({
      code: 'PGRST102',
      status: 413,
      message: 'Request body takes too much memory',
      details: `Its rows, each with the names of all columns, may have ${limit} bytes as JSON. Send fewer rows, or shorter names.`,
    }),
  /** @param limit of the commas, colons and opening brackets of a JSON row that is checked before it is written */
  tooManyValues: (limit: number) =>
    new ApiError({
      code: 'PGRST102',
      status: 413,
      message: 'A row has too many values',
      details: `Its JSON may have ${limit} commas, colons and opening brackets.`,
    }),
  /** Never sent: the connection is closed. */
  incompleteBody: () =>
    new ApiError({ code: 'PGRST102', status: 400, message: 'The connection ended before the whole body had arrived' }),
  rangeNotSatisfiable: (
    problem:
      'negative limit' | 'lower above upper' | 'beyond the rows' | { readonly offset: string; readonly total: string },
  ) =>
    new ApiError({
      code: 'PGRST103',
      status: 416,
      message: 'Requested range not satisfiable',
      details:
        problem === 'negative limit'
          ? 'Limit should be greater than or equal to zero.'
          : problem === 'lower above upper'
            ? 'The lower boundary must be lower than or equal to the upper boundary in the Range header.'
            : problem === 'beyond the rows'
              ? 'The offset is beyond the last row.'
              : `An offset of ${problem.offset} was requested, but there are only ${problem.total} rows.`,
    }),
  putFilters: () =>
    new ApiError({
      code: 'PGRST105',
      status: 405,
      message: "Filters must include all and only primary key columns with 'eq' operators",
    }),
  unacceptableSchema: (schema: string, exposed: readonly string[]) =>
    new ApiError({
      code: 'PGRST106',
      status: 406,
      message: `Invalid schema: ${schema}`,
      hint: `Only the following schemas are exposed: ${exposed.join(', ')}`,
    }),
  mediaType: (mimes: readonly string[]) =>
    new ApiError({
      code: 'PGRST107',
      status: 406,
      message: `None of these media types are available: ${mimes.join(', ')}`,
    }),
  /** @param legacy set when the embed exists, but must be referred to by its alias */
  notEmbedded: (resource: string, legacy?: { readonly name: string; readonly alias: string }) =>
    new ApiError({
      code: 'PGRST108',
      status: 400,
      message: `'${resource}' is not an embedded resource in this request`,
      details: legacy ? 'Target names are not allowed in filters if they have an alias' : null,
      hint: legacy
        ? `Change '${legacy.name}' to '${legacy.alias}' in filters, orders or limits.`
        : `Verify that '${resource}' is included in the 'select' query parameter.`,
    }),
  /** @param details names the header that is not valid HTTP, if the JSON has the right form */
  headersSetting: (details?: string) =>
    new ApiError({
      code: 'PGRST111',
      status: 500,
      message: 'response.headers guc must be a JSON array composed of objects with a single key and a string value',
      details,
    }),
  statusSetting: () =>
    new ApiError({ code: 'PGRST112', status: 500, message: 'response.status guc must be a valid status code' }),
  putLimit: () =>
    new ApiError({
      code: 'PGRST114',
      status: 400,
      message: 'limit/offset querystring parameters are not allowed for PUT',
    }),
  putMismatch: () =>
    new ApiError({
      code: 'PGRST115',
      status: 400,
      message: 'Payload values do not match URL in primary key column(s)',
    }),
  notSingular: (rows: number) =>
    new ApiError({
      code: 'PGRST116',
      status: 406,
      message: 'Cannot coerce the result to a single JSON object',
      details: `The result contains ${rows} rows`,
    }),
  method: (method: string) =>
    new ApiError({ code: 'PGRST117', status: 405, message: `Unsupported HTTP method: ${method}` }),
  relatedOrder: (origin: string, target: string) =>
    new ApiError({
      code: 'PGRST118',
      status: 400,
      message: `A related order on '${target}' is not possible`,
      details: `'${origin}' and '${target}' do not form a many-to-one or one-to-one relationship`,
    }),
  embedFilter: (target: string) =>
    new ApiError({
      code: 'PGRST120',
      status: 400,
      message: `Bad operator on the '${target}' embedded resource`,
      details: 'Only is null or not is null filters are allowed on embedded resources',
    }),
  raiseUnreadable: (
    problem:
      | { readonly part: 'message'; readonly text: string }
      | { readonly part: 'detail'; readonly text: string }
      | { readonly part: 'no detail' },
  ) =>
    new ApiError({
      code: 'PGRST121',
      status: 500,
      message: `Could not parse JSON in the "RAISE SQLSTATE 'PGRST'" error`,
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
    new ApiError({
      code: 'PGRST122',
      status: 400,
      message: 'Invalid preferences given with handling=strict',
      details: `Invalid preferences: ${preferences.join(', ')}`,
    }),
  aggregatesDisabled: () =>
    new ApiError({ code: 'PGRST123', status: 400, message: 'Use of aggregate functions is not allowed' }),
  maxAffected: (rows: number) =>
    new ApiError({
      code: 'PGRST124',
      status: 400,
      message: 'Query result exceeds max-affected preference constraint',
      details: `The query affects ${rows} rows`,
    }),
  path: () => new ApiError({ code: 'PGRST125', status: 404, message: 'Invalid path specified in request URL' }),
  openapiDisabled: () => new ApiError({ code: 'PGRST126', status: 404, message: 'Root endpoint metadata is disabled' }),
  notImplemented: (details: string) =>
    new ApiError({ code: 'PGRST127', status: 400, message: 'Feature not implemented', details }),
  maxAffectedRoutine: () =>
    new ApiError({
      code: 'PGRST128',
      status: 400,
      message: 'Function must return SETOF or TABLE when max-affected preference is used with handling=strict',
    }),

  // PGRST2xx: the schema cache. `plan/suggestion.ts` creates the hints.
  noRelationship: (parent: string, child: string, details: string, hint: string | null) =>
    new ApiError({
      code: 'PGRST200',
      status: 400,
      message: `Could not find a relationship between '${parent}' and '${child}' in the schema cache`,
      details,
      hint,
    }),
  ambiguousRelationship: (parent: string, child: string, details: readonly unknown[], hint: string) =>
    new ApiError({
      code: 'PGRST201',
      status: 300,
      message: `Could not embed because more than one relationship was found for '${parent}' and '${child}'`,
      details,
      hint,
    }),
  /** @param call the function with its parameters: `api.add(a, b)`, `api.add without parameters` */
  noRoutine: (call: string, details: string, hint: string | null) =>
    new ApiError({
      code: 'PGRST202',
      status: 404,
      message: `Could not find the function ${call} in the schema cache`,
      details,
      hint,
    }),
  /** @param candidates in the form `schema.name(parameter => type, …)` */
  ambiguousRoutine: (candidates: readonly string[]) =>
    new ApiError({
      code: 'PGRST203',
      status: 300,
      message: `Could not choose the best candidate function between: ${candidates.join(', ')}`,
      hint: 'Try renaming the parameters or the function itself in the database so function overloading can be resolved',
    }),
  noColumn: (relation: string, column: string) =>
    new ApiError({
      code: 'PGRST204',
      status: 400,
      message: `Could not find the '${column}' column of '${relation}' in the schema cache`,
    }),
  noTable: (schema: string, table: string, hint: string | null) =>
    new ApiError({
      code: 'PGRST205',
      status: 404,
      message: `Could not find the table '${schema}.${table}' in the schema cache`,
      hint,
    }),

  // PGRST3xx: authentication
  noJwtSecret: () => new ApiError({ code: 'PGRST300', status: 500, message: 'Server lacks JWT secret' }),
  /** The token cannot be decoded or verified. */
  invalidJwt: (message: string, details: string | null = null) =>
    new ApiError({ code: 'PGRST301', status: 401, message, details, headers: invalidToken(message) }),
  anonymousDisabled: () =>
    new ApiError({
      code: 'PGRST302',
      status: 401,
      message: 'Anonymous access is disabled',
      headers: [['WWW-Authenticate', 'Bearer']],
    }),
  /** The signature of the token is valid, but its claims are not. */
  invalidClaims: (message: string) =>
    new ApiError({ code: 'PGRST303', status: 401, message, headers: invalidToken(message) }),
  /** The response to PostgreSQL's error for a role that cannot be switched to. */
  roleNotPermitted: (message: string) => new ApiError({ code: '42501', status: 403, message }),
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
