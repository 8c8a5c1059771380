// The REST API as a function from `Request` to `Response` of the Fetch standard: Hono, Bun, Deno, edge runtimes.
// https://fetch.spec.whatwg.org/#response-class
import { errors } from '../rest/errors.ts'
import { errorResponse } from '../rest/response/error.ts'
import { finish, type FinishOptions } from '../rest/response/finish.ts'
import { contentLength, hasHeader } from '../rest/response/header.ts'
import { isStreamed, type RestResponse } from '../rest/response/result.ts'
import type { Answering } from '../rest/rest-request.ts'
import { basePathOf, isBelow } from './base-path.ts'
import { streamOf } from './fetch-body.ts'
import { FetchRequest, targetOf } from './fetch-request.ts'

export type FetchHandlerOptions = {
  /** Mount path, such as `/rest/v1`. Defaults to the root. */
  readonly basePath?: string
}

/** Responds to a request, with 404 when its path is not below `basePath`. Rejects when the response cannot be built. */
export type FetchHandler = (request: Request) => Promise<Response>

/**
 * A handler for servers that use the Fetch standard. Streams large results at the pace of the reader. Cancels the query
 * when the request's signal aborts.
 *
 * The standard allows no status above 599: a function that sets one (`response.status`) gets 500 with PGRST112.
 *
 * @throws TypeError when `basePath` does not begin with a slash
 */
export function fetchHandler(rest: Answering, options: FetchHandlerOptions = {}): FetchHandler {
  const basePath = basePathOf(options.basePath)
  return async (request) => {
    const target = targetOf(request.url)
    if (!isBelow(target, basePath)) return new Response(null, { status: 404 })
    const result = await rest.answer(new FetchRequest(request, basePath, target.slice(basePath.length)))
    return responseTo(request, result)
  }
}

const highestStatus = 599
/** An error of the adapter's own. */
const plain: FinishOptions = { notices: undefined, cors: [], closesConnection: false, trace: undefined }
/** https://fetch.spec.whatwg.org/#null-body-status */
const bodilessStatuses: ReadonlySet<number> = new Set([204, 205, 304])

function responseTo(request: Request, result: RestResponse): Response {
  if (result.status > highestStatus) {
    if (isStreamed(result.body)) result.body.drop()
    return responseTo(request, finish(errorResponse(errors.statusSetting(), 'verbose'), plain))
  }
  const { status, statusText, body } = result
  const isBodiless = request.method === 'HEAD' || bodilessStatuses.has(status)
  try {
    const headers = new Headers()
    // Header values have one character per byte, like the standard's byte strings.
    // RFC 9110, section 8.6: no Content-Length with 204.
    for (const [name, value] of result.headers) {
      if (status !== 204 || name !== 'Content-Length') headers.append(name, value)
    }
    const length = contentLength(body)
    if (!isBodiless && length && !hasHeader(result.headers, 'Content-Length')) headers.set(...length)
    if (isBodiless && isStreamed(body)) body.drop()
    const init = { status, headers, ...(statusText === undefined ? {} : { statusText }) }
    if (isBodiless) return new Response(null, init)
    // Passes bytes, because `Response` adds a Content-Type to a string.
    const whole = typeof body === 'string' ? Buffer.from(body) : body
    return new Response(isStreamed(whole) ? streamOf(whole, request) : whole, init)
  } catch (error) {
    if (isStreamed(body)) body.drop()
    throw error
  }
}
