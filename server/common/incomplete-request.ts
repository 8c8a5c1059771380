// Responses to requests whose body has not arrived completely, such as early rejections.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { TracelessError } from './traceless-error.ts'

/** Milliseconds for which the rest of a body is read after the response, in total and without new data. */
const longest = 30_000
const longestSilence = 5_000

/** The client has hung up before all of its request's body had arrived: that is no fault, and there is nothing to answer. */
export class RequestAborted extends TracelessError {
  constructor(cause?: unknown) {
    super('the client has hung up', cause)
    this.name = 'RequestAborted'
  }
}

/** Whether part of the request body has not arrived. */
export const isIncomplete = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)

/**
 * Sends the body of a response whose head was written, discards the rest of the request body, and only then ends the
 * response. Closing a connection with unread data resets it, and many clients would never see the response.
 * https://www.rfc-editor.org/rfc/rfc9112#section-9.6-11
 *
 * @param closes whether the response closes the connection; otherwise the connection stays open, and
 * `server-request-timeout` limits the time for the rest of the body
 */
export function endAfterRequest(
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  closes: boolean,
): void {
  if (!closes) {
    response.end(body)
    request.resume()
    return
  }
  const end = (): void => {
    clearTimeout(late)
    clearTimeout(silent)
    request.off('end', end).off('close', end)
    response.end()
  }
  const late = setTimeout(end, longest)
  const silent = setTimeout(end, longestSilence)
  response.write(body)
  request
    .on('data', () => silent.refresh())
    .on('end', end)
    .on('close', end)
    .resume()
}

/**
 * Sends a response. Discards the rest of the request's body, if it has not arrived, so that the client sees the response.
 *
 * @param headers without `Content-Length`
 */
export function sendWhole(
  response: ServerResponse,
  status: number,
  body: Buffer,
  headers: Readonly<Record<string, string>>,
): void {
  const { req: request } = response
  const closes = isIncomplete(request)
  response.writeHead(status, {
    'Content-Length': body.length,
    ...(closes ? { Connection: 'close' } : {}),
    ...headers,
  })
  if (closes) endAfterRequest(request, response, body, true)
  else response.end(request.method === 'HEAD' ? undefined : body)
}
