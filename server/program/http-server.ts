// The HTTP server, with what Node's parser refuses but PostgREST answers: methods that Node does not know (`get`), and
// bytes above 127 in the request target. Such a request is repaired and read once more, on a connection in memory.
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { handleUpgrades, type UpgradeHandler } from '../http/upgrade.ts'
import { memoryConnection } from './memory-connection.ts'
import { repairConnect, repairRequest, type ParseError, type RepairedRequest } from './repaired-request.ts'
import { requestTimeouts } from './request-timeouts.ts'

export type HttpServerOptions = {
  /** Maximum bytes of a request's URL and headers together; beyond it the answer is 431. */
  readonly requestHeaderLimit: number
  /** Seconds in which a request must have arrived as a whole; beyond them the answer is 408. */
  readonly serverRequestTimeout: number
}

/** Milliseconds that an idle connection is kept: longer than load balancers do. */
const keepAliveTimeout = 65_000

/**
 * Creates a server that does not listen yet.
 *
 * @param upgrade takes over connections that go on with another protocol; without it, no connection does
 */
export function createHttpServer(
  listener: RequestListener,
  { requestHeaderLimit, serverRequestTimeout }: HttpServerOptions,
  upgrade?: UpgradeHandler,
): Server {
  const options = { keepAliveTimeout, maxHeaderSize: requestHeaderLimit, ...requestTimeouts(serverRequestTimeout) }
  const server = createServer(options, listener)
  if (upgrade) handleUpgrades(server, options, upgrade)
  /** Connections that end after what is being answered: their parsers cannot go on after an error. */
  const ending = new WeakSet<Socket>()
  server.on('clientError', (error: ParseError, socket: Socket) => {
    if (ending.has(socket)) return
    ending.add(socket)
    const repaired = isAnswering(socket) ? undefined : repairRequest(error)
    if (!socket.writable) socket.destroy()
    else if (repaired) answerRepaired(repaired, socket)
    else refuse(error.code, socket)
  })

  // Node has a request for a tunnel handled apart from all others, and without a listener ends the connection.
  // It also takes all of its own listeners from the connection: an error that nobody listens for would end the process.
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    ending.add(socket)
    socket.on('error', () => socket.destroy())
    // The response would go out before those to earlier requests, and be taken for the first of them.
    if (isAnswering(socket)) socket.destroy()
    else answerRepaired(repairConnect(request), socket)
  })

  function answerRepaired({ method, target, bytes }: RepairedRequest, socket: Socket): void {
    const second = createServer(options, (request, response) => {
      request.method = method
      request.url = target
      response.shouldKeepAlive = false
      // As any other: whatever watches the requests of the server sees it.
      server.emit('request', request, response)
    })
    second.on('clientError', (error: ParseError) => refuse(error.code, socket))
    second.emit('connection', memoryConnection(bytes, socket))
  }

  return server
}

/** Whether an earlier request of a connection is still being answered. Node keeps the response in a field without a type. */
const isAnswering = (socket: Socket): boolean => Boolean((socket as { _httpMessage?: unknown })._httpMessage)

const reasons: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** The answer that Node itself gives. */
function refuse(code: string | undefined, socket: Socket): void {
  if (socket.writable && !isAnswering(socket)) {
    socket.write(
      `HTTP/1.1 ${reasons[code ?? ''] ?? '400 Bad Request'}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    )
  }
  socket.destroySoon()
}
