// The REST API on Node's own request and response: `node:http`, Express, Fastify's raw ones.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { StreamedBody } from '../rest/database.ts'
import { contentLength } from '../rest/response/header.ts'
import { isStreamed, type RestResponse } from '../rest/response/result.ts'
import type { Answering } from '../rest/rest-request.ts'
import { basePathOf, isBelow } from './base-path.ts'
import { NodeRequest } from './node-request.ts'
import { endAfterRequest, isUnfinished } from '../common/unfinished.ts'

export type NodeHandlerOptions = {
  /**
   * Mount path, such as `/rest/v1`; the root when left out. Not needed below an Express mount path, which Express has
   * taken off the URL.
   */
  readonly basePath?: string
  /** Called when a response could not be sent; its connection is closed. Writes to the console when left out. */
  readonly onError?: (error: unknown) => void
}

/** Answers a request. Calls `next`, or responds with 404 without one, when the path is not below `basePath`. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/**
 * A request listener for `node:http`, which is also a middleware of Express:
 * `express().use('/rest', nodeHandler(rest))`. Bodies must not have been read by a parser before it.
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
    // Express has taken its mount path off the URL.
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
  // Node writes a text and the head in front of it at once, and in one encoding: that of the head must be latin1, which
  // leaves the bytes of its values as they are. A buffer would be a piece of its own.
  if (body.length <= smallBody) response.end(body.toString('latin1'), 'latin1')
  else response.end(body)
}

/** Sends a body while it arrives. A response that is queued behind another one does not hear that its connection closes. */
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
  if (!hasLength && !bodiless) flat.push(...contentLength(body))
  try {
    if (statusText === undefined) response.writeHead(status, flat)
    else response.writeHead(status, statusText, flat)
  } catch (error) {
    if (isStreamed(body)) body.drop()
    throw error
  }
  if (!isStreamed(body)) {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    if (isUnfinished(request)) endAfterRequest(request, response, bytes, closes)
    else if (bodiless) response.end()
    else sendWhole(response, bytes)
  } else if (!bodiless) sendArriving(request, response, body)
  else {
    body.drop()
    response.end()
  }
}
