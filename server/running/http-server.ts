// The HTTP server. It also accepts requests that Node's parser rejects, but PostgREST does not: unknown methods (`get`), and
// bytes above 127 in the request target. Such a request is repaired and parsed again on an in-memory connection.
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { receivesLongUpload } from '../http/long-upload.ts'
import { handleUpgrades, type UpgradeHandler } from '../http/upgrade.ts'
import { takeTurns } from './chunk-turns.ts'
import { joinWrites } from './joined-writes.ts'
import { memoryConnection } from './memory-connection.ts'
import { limitPipelines } from './pipelined-requests.ts'
import { repairConnect, repairRequest, type ParseError, type RepairedRequest } from './repaired-request.ts'
import { requestTimeouts } from './request-timeouts.ts'

export type HttpServerOptions = {
  /** Maximum bytes of a request's URL and headers together; larger requests get 431. */
  readonly requestHeaderLimit: number
  /** Seconds in which a whole request must arrive; slower requests get 408. */
  readonly serverRequestTimeout: number
  /** Whether a response is sent in one piece; true unless a test compares both. */
  readonly joinsWrites?: boolean
}

/** Milliseconds that an idle connection stays open: longer than on load balancers. */
const keepAliveTimeout = 65_000

/**
 * Creates a server that does not listen yet.
 *
 * @param upgrade takes over connections that switch to another protocol; without it, upgrades are ignored
 */
export function createHttpServer(
  listener: RequestListener,
  { requestHeaderLimit, serverRequestTimeout, joinsWrites = true }: HttpServerOptions,
  upgrade?: UpgradeHandler,
): Server {
  const options = { keepAliveTimeout, maxHeaderSize: requestHeaderLimit, ...requestTimeouts(serverRequestTimeout) }
  const inTurn = limitPipelines(listener)
  const server = createServer(options, (request, response) => {
    if (request.headers['transfer-encoding'] !== undefined) takeTurns(request)
    inTurn(request, response)
  })
  if (joinsWrites) server.on('connection', joinWrites)
  if (upgrade) handleUpgrades(server, options, upgrade)
  /** Connections that end after the current response, because their parser failed. */
  const ending = new WeakSet<Socket>()
  server.on('clientError', (error: ParseError, socket: Socket) => {
    if (ending.has(socket)) return
    // Node reports this once, and leaves the connection as it is.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && receivesLongUpload(socket)) return
    ending.add(socket)
    const repaired = isAnswering(socket) ? undefined : repairRequest(error)
    if (!socket.writable) socket.destroy()
    else if (repaired) answerRepaired(repaired, socket)
    else refuse(error.code, socket)
  })

  // Node closes the connection of a CONNECT request if this event has no listener. It also removes its own listeners from
  // the socket, so that an error without a listener would end the process.
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    ending.add(socket)
    socket.on('error', () => socket.destroy())
    // The response would overtake those to earlier requests and be mistaken for the first of them.
    if (isAnswering(socket)) socket.destroy()
    else answerRepaired(repairConnect(request), socket)
  })

  function answerRepaired({ method, target, bytes }: RepairedRequest, socket: Socket): void {
    const second = createServer(options, (request, response) => {
      request.method = method
      request.url = target
      response.shouldKeepAlive = false
      // Emits an ordinary request, so that all listeners of the server see it.
      server.emit('request', request, response)
    })
    second.on('clientError', (error: ParseError) => refuse(error.code, socket))
    second.emit('connection', memoryConnection(bytes, socket))
  }

  return server
}

/** Whether a response of the connection is in progress. Node stores it in an untyped field. */
const isAnswering = (socket: Socket): boolean => Boolean((socket as { _httpMessage?: unknown })._httpMessage)

const reasons: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** Sends the same response as Node. */
function refuse(code: string | undefined, socket: Socket): void {
  if (socket.writable && !isAnswering(socket)) {
    socket.write(
      `HTTP/1.1 ${reasons[code ?? ''] ?? '400 Bad Request'}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    )
  }
  socket.destroySoon()
}
