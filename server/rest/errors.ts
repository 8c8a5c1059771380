// All errors of the API itself, one function per code. `sql-errors.ts` has the errors that Postgres raises.
// https://docs.postgrest.org/en/v14/references/errors.html
import { TracelessError } from '../common/traceless-error.ts'
import type { CredentialError } from '../identity/credential-error.ts'

/** The JSON body of an error response. */
export type ErrorBody = {
  readonly code: string
  readonly message: string
  readonly details: unknown
  readonly hint: string | null
  /** Line of an imported body that caused the error, if it is known. */
  readonly line?: number
  /** Only in the response to a batch: the id of the request that failed. */
  readonly request?: string | undefined
}

/** An error with its response. */
export class ApiError extends TracelessError {
  readonly status: number
  readonly code: string
  /** A string, a list (ambiguous embeds), or null. */
  readonly details: unknown
  readonly hint: string | null
  readonly headers: readonly (readonly [string, string])[]
  /** Line of the body that caused the error, if it was an import; the member `line` of the response. */
  readonly line: number | undefined
  /** Reason phrase of the status line, if set by the database. */
  readonly statusText: string | undefined
  /** Describes parts of the error that were ignored, for the log. */
  readonly warning: string | undefined
  /** Id of the request of a batch that failed. */
  readonly request: string | undefined

  constructor(error: {
    code: string
    status: number
    message: string
    details?: unknown
    hint?: string | null | undefined
    headers?: readonly (readonly [string, string])[]
    line?: number | undefined
    statusText?: string | undefined
    warning?: string | undefined
    request?: string | undefined
    cause?: unknown
  }) {
    super(error.message, error.cause)
    this.name = 'ApiError'
    this.status = error.status
    this.code = error.code
    this.details = error.details ?? null
    this.hint = error.hint ?? null
    this.headers = error.headers ?? []
    this.line = error.line
    this.statusText = error.statusText
    this.warning = error.warning
    this.request = error.request
  }
}

/** The body of an error response; `minimal` (setting `client-error-verbosity`) omits details and hint. */
export function errorBody(error: ApiError, verbosity: 'verbose' | 'minimal'): string {
  const { code, message, details, hint, line, request } = error
  // Keys are in alphabetical order, as in PostgREST. JSON leaves out what is undefined.
  return verbosity === 'minimal'
    ? JSON.stringify({ code, line, message, request })
    : JSON.stringify({ code, details, hint, line, message, request })
}

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
  /** @param budget in bytes */
  bodyBudget: (budget: number) =>
    new ApiError({
      code: 'PGRSTX01',
      status: 503,
      message: 'Too many large request bodies at the same time',
      details: `The server holds ${budget} bytes of them at most (rest-body-budget).`,
      hint: 'Try again later, or send smaller requests.',
      headers: [['Retry-After', '1']],
    }),

  /** @param slots maximum number of imports at once */
  importSlots: (slots: number) =>
    new ApiError({
      code: 'PGRSTX70',
      status: 503,
      message: 'Too many imports at the same time',
      details: `The server runs ${slots} imports at most (rest-import-slots).`,
      hint: 'Try again later.',
      headers: [['Retry-After', '1']],
    }),
  /** @param limit in bytes */
  importRepresentation: (limit: number) =>
    new ApiError({
      code: 'PGRSTX71',
      status: 413,
      message: 'The body is too large for return=representation',
      details: `The rows of a body of up to ${limit} bytes (rest-body-limit) can be returned.`,
      hint: 'Use return=minimal or return=headers-only, or send several smaller bodies.',
      headers: [['Connection', 'close']],
    }),
  /** @param limit in bytes */
  importRow: (limit: number, line: number) =>
    new ApiError({
      code: 'PGRSTX72',
      status: 413,
      message: 'A row of the body is too large',
      details: `The limit is ${limit} bytes (rest-body-limit).`,
      headers: [['Connection', 'close']],
      line,
    }),
  importKey: () =>
    new ApiError({
      code: 'PGRSTX74',
      status: 400,
      message: 'An import cannot have an Idempotency-Key',
      details: 'The key is stored with a digest of the whole body, which an import reads only while it writes.',
      hint: 'Use resolution=ignore-duplicates or resolution=merge-duplicates, so that the import may be repeated.',
      headers: [['Connection', 'close']],
    }),
  /** The login role of the server may not create temporary tables. */
  importPrivilege: (cause: unknown) =>
    new ApiError({
      code: 'PGRSTX73',
      status: 500,
      message: 'The server cannot import',
      details: 'Its login role lacks the privilege TEMPORARY on the database.',
      hint: 'Grant it: grant temporary on database … to …',
      cause,
    }),
  columnsChanged: () =>
    new ApiError({
      code: 'PGRSTX34',
      status: 503,
      message: 'The columns that the role may read have changed while the request was planned',
      hint: 'Try again, or select columns by their names.',
      headers: [['Retry-After', '1']],
    }),
  idempotencyKey: (value: string, longest: number) =>
    new ApiError({
      code: 'PGRSTX90',
      status: 400,
      message: `Invalid Idempotency-Key: ${value}`,
      details: `A key has 1 to ${longest} ASCII characters, in double quotes or without spaces, quotes, commas and semicolons.`,
    }),
  otherIdempotentRequest: (key: string) =>
    new ApiError({
      code: 'PGRSTX91',
      status: 422,
      message: `The Idempotency-Key "${key}" was used for another request`,
      hint: 'Send a new key with each new request, and the same key only to repeat a request unchanged.',
    }),
  idempotentRequestRunning: (key: string) =>
    new ApiError({
      code: 'PGRSTX92',
      status: 409,
      message: `A request with the Idempotency-Key "${key}" is still running`,
      hint: 'Repeat the request later to get its response.',
      headers: [['Retry-After', '1']],
    }),
  /** @param what the column or expression, `type` its type */
  notComparable: (what: string, type: string) =>
    new ApiError({
      code: 'PGRSTX31',
      status: 400,
      message: `Values of '${what}' cannot be compared, because the type ${type} has no equality operator`,
      hint: `Cast it to a type that has one, as in ${what}::${type.startsWith('json') ? 'jsonb' : 'text'}.`,
    }),
  /** @param parameter as the client wrote it */
  groupingOfWrite: (parameter: 'distinct' | 'having') =>
    new ApiError({
      code: 'PGRSTX32',
      status: 400,
      message: `The parameter '${parameter}' cannot be applied to the rows of a write`,
      hint: `Use it when reading, or for an embed of the representation, as in embed.${parameter}=….`,
    }),
  /** @param embed name of the spread in the request */
  havingOfSpread: (embed: string) =>
    new ApiError({
      code: 'PGRSTX33',
      status: 400,
      message: `The parameter 'having' cannot be applied to the spread embed '${embed}'`,
      hint: `Embed it without '...', or use 'having' of the relation that it is embedded in.`,
    }),
  /**
   * @param subject whose limit it is, such as `the role anon`
   * @param seconds until it may succeed; null: never, because more requests come at once than the limit allows
   */
  tooManyRequests: (subject: string, limit: { perSecond: number; burst: number }, seconds: number | null) =>
    new ApiError({
      code: 'PGRSTX80',
      status: 429,
      message: `Too many requests of ${subject}`,
      details: `The limit is ${limit.perSecond} requests per second, and ${limit.burst} at once.`,
      hint: seconds === null ? `Send at most ${limit.burst} at once.` : `Try again in ${seconds} s.`,
      headers: seconds === null ? [] : [['Retry-After', String(seconds)]],
    }),
  /** @param cost the planner's estimate */
  costTooHigh: (cost: number, limit: number) =>
    new ApiError({
      code: 'PGRSTX81',
      status: 403,
      message: `The request is too expensive: its estimated cost is ${cost}, and the limit is ${limit}`,
      details: "The cost is the planner's estimate for the whole statement, in its arbitrary unit.",
      hint: 'Filter by indexed columns, request fewer rows or embeds, or omit count=exact.',
    }),
  /** @param path the names of the embeds, from the outermost to the first that is too deep */
  embedTooDeep: (path: readonly string[], limit: number) =>
    new ApiError({
      code: 'PGRSTX82',
      status: 403,
      message: `The embed '${path.join('.')}' is too deep: the limit is ${limit}`,
      details: `Its depth is ${path.length}. Embeds of the requested resource itself have depth 1.`,
    }),
  /** @param expected the condition that the row does not satisfy */
  preconditionFailed: (expected: 'version' | 'exists' | 'absent') =>
    new ApiError({
      code: 'PGRSTX50',
      status: 412,
      message: expected === 'absent' ? 'The row already exists' : 'The row does not have the version in If-Match',
      details:
        expected === 'absent'
          ? 'If-None-Match: * allows creating a row only.'
          : expected === 'exists'
            ? 'No visible row matches.'
            : 'It has changed since, or the entity tag is weak or that of a list.',
      hint: expected === 'version' ? 'Read the row again, and send the ETag of that response.' : null,
    }),
  malformedIfMatch: (value: string) =>
    new ApiError({
      code: 'PGRSTX51',
      status: 400,
      message: `If-Match is not a list of entity tags: ${value}`,
      hint: 'Send the ETag of an earlier response with its double quotes, or an asterisk.',
    }),
  severalRowsMatch: () =>
    new ApiError({
      code: 'PGRSTX52',
      status: 400,
      message: 'If-Match is for one row, but the filters match several',
      hint: 'Filter by the primary key.',
    }),
  /** @param column the setting `db-version-column` */
  noRowVersion: (relation: string, column: string | null) =>
    new ApiError({
      code: 'PGRSTX53',
      status: 400,
      message: `The rows of '${relation}' have no version to compare with If-Match`,
      details:
        column === null
          ? 'Views and foreign tables need a version column (db-version-column).'
          : `It has no column '${column}' (db-version-column).`,
    }),
  unsupportedCondition: (header: 'If-Match' | 'If-None-Match', value: string, method: string) =>
    new ApiError({
      code: 'PGRSTX54',
      status: 400,
      message: `${method} does not support ${header}: ${value}`,
      hint: 'Use If-Match with PATCH, PUT and DELETE, If-None-Match with GET and HEAD, and If-None-Match: * with PUT.',
    }),
  tooManyExports: (limit: number) =>
    new ApiError({
      code: 'PGRSTX60',
      status: 503,
      message: 'Too many large responses are being streamed at the same time',
      details: `The server streams ${limit} at once (rest-export-limit).`,
      hint: 'Try again later, or request fewer rows with limit.',
      headers: [['Retry-After', '1']],
    }),

  // PGRST1xx: the request
  /** @param message has the position, `details` what was expected there */
  queryParam: (message: string, details: string) => new ApiError({ code: 'PGRST100', status: 400, message, details }),
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
  /** Never sent: the connection is closed. */
  incompleteBody: () =>
    new ApiError({ code: 'PGRST102', status: 400, message: 'The connection ended before the whole body had arrived' }),
  rangeNotSatisfiable: (
    problem: 'negative limit' | 'lower above upper' | { readonly offset: string; readonly total: string },
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

/** The same error, with the line of the body that caused it. */
export function withLine(error: ApiError, line: number | undefined): ApiError {
  if (line === undefined) return error
  const { code, status, message, details, hint, headers, statusText, warning, cause } = error
  return new ApiError({ code, status, message, details, hint, headers, statusText, warning, cause, line })
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
