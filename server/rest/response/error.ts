// Errors as answers.
import { errorBody } from '../errors.ts'
import type { ApiError } from '../errors.ts'
import { contentTypeOf } from '../media-type.ts'
import { contentLength, headerText } from './header.ts'
import type { RestResponse } from './result.ts'

/**
 * The answer to a request that failed. It is complete: of what `complete` adds to other answers (Vary, Server-Timing,
 * Warning) it carries nothing.
 */
export function errorResponse(error: ApiError, verbosity: 'verbose' | 'minimal'): RestResponse {
  const body = errorBody(error, verbosity)
  return {
    status: error.status,
    statusText: error.statusText === undefined ? undefined : headerText(error.statusText),
    headers: [
      ['Content-Type', contentTypeOf({ kind: 'json' })],
      contentLength(body),
      ['Proxy-Status', headerText(`PostgREST; error=${error.code}`)],
      ...error.headers.map(([name, value]) => [name, headerText(value)] as const),
    ],
    body,
    ...(error.warning === undefined ? {} : { warning: error.warning }),
  }
}
