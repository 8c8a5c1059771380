// The REST API on Node's request and response: `node:http`, Express, Fastify's raw objects.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { StreamedBody } from '../rest/row-transfer.ts'
import { contentLength } from '../rest/response/header.ts'
import { isStreamed, type RestResponse } from '../rest/response/result.ts'
import type { Answering } from '../rest/rest-request.ts'
import { basePathOf, isBelow } from './base-path.ts'
import { NodeRequest } from './node-request.ts'
import { endAfterRequest, isIncomplete } from '../common/incomplete-request.ts'

export type NodeHandlerOptions = {
  /**
   * Mount path, such as `/rest/v1`. Defaults to the root. Not needed below an Express mount path, which Express removes
   * from the URL.
   */
  readonly basePath?: string
  /** Called when a response could not be sent; its connection is closed. Defaults to `console.error`. */
  readonly onError?: (error: unknown) => void
}

/** Responds to a request. When the path is not below `basePath`, calls `next`, or responds with 404 without one. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/**
 * A request listener for `node:http` and middleware for Express: `express().use('/rest', nodeHandler(rest))`. No body
 * parser may run before it.
 *
 * @throws TypeError when `basePath` does not begin with a slash
 */
export function nodeHandler(rest: Answering, options: NodeHandlerOptions = {}): NodeHandler {
  const { onError = (error: unknown) => console.error(error) } = options
  const basePath = basePathOf(options.basePath)
  return (request, response, next) => {
    const url = request.url ?? '/'
    if (!isBelow(url, basePath)) {
      if (next) next()
      else response.writeHead(404, ['Content-Length', '0']).end()
      return
    }
    // Express removes its mount path from the URL.
    const { baseUrl = '' } = request as { readonly baseUrl?: string }
    const target = basePath === '' ? url : url.slice(basePath.length)
    void serve(rest, new NodeRequest(request, response, baseUrl + basePath, target), response, onError)
  }
}

async function serve(
  rest: Answering,
  request: NodeRequest,
  response: ServerResponse,
  onError: (error: unknown) => void,
): Promise<void> {
  try {
    send(request.source, response, await rest.answer(request))
  } catch (error) {
    response.destroy()
    onError(error)
  }
}

/** Bytes up to which a body is sent with the head. */
const smallBody = 16 * 1024

function sendWhole(response: ServerResponse, body: Buffer): void {
  // Node sends a string together with the head, in a single write and encoding; a buffer would be a second write. Only
  // latin1 preserves the bytes of header values.
  if (body.length <= smallBody) response.end(body.toString('latin1'), 'latin1')
  else response.end(body)
}

/** Streams a body. Listens to the socket, because a queued response does not emit `close` with its connection. */
function sendArriving({ socket }: IncomingMessage, response: ServerResponse, body: StreamedBody): void {
  const onClose = (): void => body.drop()
  socket.once('close', onClose)
  response.once('close', () => socket.off('close', onClose))
  body.sendTo(response)
}

function send(request: IncomingMessage, response: ServerResponse, { status, statusText, headers, body }: RestResponse) {
  if (response.destroyed || request.socket.destroyed) {
    if (isStreamed(body)) body.drop()
    return
  }
  const flat: string[] = []
  let hasLength = false
  let closes = !response.shouldKeepAlive
  for (const [name, value] of headers) {
    if (name === 'Content-Length') {
      hasLength = true
      // RFC 9110, section 8.6.
      if (status === 204) continue
    } else if (name === 'Connection') closes = value === 'close'
    flat.push(name, value)
  }
  const bodiless = request.method === 'HEAD' || status === 204 || status === 304
  if (!hasLength && !bodiless) flat.push(...(contentLength(body) ?? []))
  try {
    if (statusText === undefined) response.writeHead(status, flat)
    else response.writeHead(status, statusText, flat)
  } catch (error) {
    if (isStreamed(body)) body.drop()
    throw error
  }
  if (!isStreamed(body)) {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    if (isIncomplete(request)) endAfterRequest(request, response, bytes, closes)
    else if (bodiless) response.end()
    else sendWhole(response, bytes)
  } else if (!bodiless) sendArriving(request, response, body)
  else {
    body.drop()
    response.end()
  }
}
