// Errors with their responses. `errors.ts` has the errors of the API itself.
// https://docs.postgrest.org/en/v14/references/errors.html
import { TracelessError } from '../common/traceless-error.ts'

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

/** The same error, with the line of the body that caused it. */
export function withLine(error: ApiError, line: number | undefined): ApiError {
  if (line === undefined) return error
  const { code, status, message, details, hint, headers, statusText, warning, cause } = error
  return new ApiError({ code, status, message, details, hint, headers, statusText, warning, cause, line })
}
