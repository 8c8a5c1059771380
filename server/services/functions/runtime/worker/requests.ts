// Requests of the server as those of the Fetch standard, and back.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { requestIdHeader } from '../message.ts'
import { headerPairs, messageHeaders } from '../headers.ts'
import { runInCall, type Call } from './call-scope.ts'
import { currentService, type Service } from './handler.ts'
import { describeError, writeLog } from './log.ts'

/** Responds that the function failed, or cuts the response that has begun. */
function failResponse(response: ServerResponse): void {
  if (response.headersSent) response.destroy()
  else response.writeHead(500, { 'content-type': 'text/plain;charset=UTF-8' }).end('Internal Server Error')
}

/** Removes the header with the id of the request, which is for the log and not for functions. */
function takeRequestId(request: IncomingMessage): string {
  const id = decodeURIComponent(String(request.headers[requestIdHeader]))
  delete request.headers[requestIdHeader]
  const at = request.rawHeaders.findIndex((text, index) => index % 2 === 0 && text === requestIdHeader)
  request.rawHeaders.splice(at, 2)
  return id
}

function fetchRequest(request: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url = '/' } = request
  const hasBody = request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined
  const headers = new Headers()
  for (const [name, value] of messageHeaders(headerPairs(request.rawHeaders))) headers.append(name, value)
  if (!hasBody || method === 'GET' || method === 'HEAD') return new Request(url, { method, headers, signal })
  const body = Readable.toWeb(request) as globalThis.ReadableStream
  return new Request(url, { method, headers, signal, body, duplex: 'half' })
}

/** The address of the client as the server says it. */
const remoteAddress = (request: IncomingMessage) => ({
  transport: 'tcp' as const,
  hostname: String(request.headers['x-forwarded-for'] ?? '127.0.0.1').split(',', 1)[0] ?? '',
  port: 0,
})

async function sendResponse(response: Response, to: ServerResponse): Promise<void> {
  // A header such as `set-cookie` may occur several times.
  for (const [name, value] of response.headers) to.appendHeader(name, value)
  to.writeHead(response.status)
  if (response.body) await pipeline(Readable.fromWeb(response.body), to)
  else to.end()
}

type FetchService = Extract<Service, { kind: 'fetch' }>

/** The response of the handler, of `onError`, or to an error of both. */
async function responseOf(
  { handler, onError }: FetchService,
  request: Request,
  message: IncomingMessage,
  completed: Promise<void>,
) {
  const checked = (response: unknown): Response => {
    if (!(response instanceof Response)) throw new TypeError('The handler must return a Response, or a promise of one')
    if (response.bodyUsed) throw new TypeError('The body of the response has already been used')
    return response
  }
  try {
    return checked(await handler(request, { remoteAddr: remoteAddress(message), completed }))
  } catch (error) {
    if (onError) return checked(await onError(error))
    throw error
  }
}

async function answer(service: FetchService, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const aborted = new AbortController()
  const completed = new Promise<void>((resolve, reject) => {
    response.once('close', () => {
      if (response.writableFinished) return resolve()
      const reason = new DOMException('The client has closed the connection', 'AbortError')
      aborted.abort(reason)
      reject(reason)
    })
  })
  // Few handlers are interested in it.
  completed.catch(() => undefined)
  try {
    await sendResponse(await responseOf(service, fetchRequest(request, aborted.signal), request, completed), response)
  } catch (error) {
    // What fails because the client is gone is no fault of the function.
    if (aborted.signal.aborted) return
    writeLog('error', describeError(error))
    failResponse(response)
  }
}

/** Lets the function respond to a request, which is a call of its own. */
export function serveRequest(request: IncomingMessage, response: ServerResponse): void {
  const call: Call = { requestId: takeRequestId(request), fail: () => failResponse(response) }
  response.sendDate = false
  // Too few or too many bytes would be those of the next response on the connection.
  response.strictContentLength = true
  response.on('error', () => undefined)
  runInCall(call, () => {
    const service = currentService()
    switch (service?.kind) {
      case 'fetch':
        return void answer(service, request, response)
      case 'node': {
        // Servers of Node.js expect the path only.
        const { pathname, search } = new URL(request.url ?? '/')
        request.url = pathname + search
        return void service.server.emit('request', request, response)
      }
      default:
        writeLog('error', 'The function has stopped to serve')
        return failResponse(response)
    }
  })
}
