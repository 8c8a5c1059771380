// Error responses.
import { errorBody } from '../errors.ts'
import type { ApiError } from '../errors.ts'
import { contentTypeOf } from '../media-type.ts'
import { HeaderList, headerText } from './header.ts'
import type { RestResponse } from './result.ts'

/** The response to a request that failed. */
export function errorResponse(error: ApiError, verbosity: 'verbose' | 'minimal'): RestResponse {
  const body = errorBody(error, verbosity)
  const list = new HeaderList()
  list.add('Content-Type', contentTypeOf({ kind: 'json' }))
  list.addLength(body)
  list.add('Proxy-Status', `PostgREST; error=${error.code}`)
  for (const [name, value] of error.headers) list.add(name, value)
  return {
    status: error.status,
    statusText: error.statusText === undefined ? undefined : headerText(error.statusText),
    headers: list.headers,
    body,
    ...(error.warning === undefined ? {} : { warning: error.warning }),
  }
}
