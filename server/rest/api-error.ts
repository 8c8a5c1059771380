// Errors with their responses. `errors.ts` has the errors of the API itself.
// https://docs.postgrest.org/en/stable/references/errors.html
import { TracelessError } from '../common/traceless-error.ts'
import { errorCodes, type ErrorCode, type ErrorCodeEntry, type StatusOf } from './error-codes.ts'

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

/** What an error may have besides its code, status and message. */
type ErrorParts = {
  readonly details?: unknown
  readonly hint?: string | null | undefined
  readonly headers?: readonly (readonly [string, string])[]
  readonly line?: number | undefined
  readonly statusText?: string | undefined
  readonly warning?: string | undefined
  readonly request?: string | undefined
  readonly cause?: unknown
}

type CompleteError = ErrorParts & { readonly code: string; readonly status: number; readonly message: string }

/** An error with its response. Those with a code of the API itself are created by `apiError`. */
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

  constructor(error: CompleteError) {
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

  /** A copy with other parts. */
  with(changes: Partial<CompleteError>): ApiError {
    // Neither message nor cause is enumerable.
    return new ApiError({ ...this, message: this.message, cause: this.cause, ...changes })
  }
}

/** Creates an error with a code of the table. Its status is the first of the code unless `parts` has another. */
export function apiError<Code extends ErrorCode>(
  code: Code,
  message: string,
  parts: ErrorParts & { readonly status?: StatusOf<Code> } = {},
): ApiError {
  const entry: ErrorCodeEntry = errorCodes[code]
  return new ApiError({ ...parts, code, message, status: parts.status ?? entry.status[0] })
}

/** The body of an error response; `minimal` (setting `client-error-verbosity`) omits details and hint. */
export function errorBody(error: ApiError, verbosity: 'verbose' | 'minimal'): string {
  const { code, message, details, hint, line, request } = error
  // Keys are in alphabetical order, as in PostgREST. JSON leaves out what is undefined.
  return verbosity === 'minimal'
    ? JSON.stringify({ code, line, message, request })
    : JSON.stringify({ code, details, hint, line, message, request })
}

/** The same error, with the line of the body that caused it. */
export function withLine(error: ApiError, line: number | undefined): ApiError {
  return line === undefined ? error : error.with({ line })
}
