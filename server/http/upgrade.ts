// Requests to go on with another protocol on their connection (RFC 9110, section 7.8).
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** @returns whether it has taken the connection over; otherwise it has not touched it */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean

/**
 * Lets a handler take over connections of a server. A server may ignore that a client asks for another protocol, as many
 * ask for HTTP/2: every request that the handler does not take is an ordinary one. Node hands over all of them once there
 * is a listener, so those are put back on their connection and read by a parser that knows of no other protocol.
 *
 * @param options those of the server
 */
export function handleUpgrades(server: Server, options: ServerOptions, handler: UpgradeHandler): void {
  const plain = createServer(options, (request, response) => server.emit('request', request, response))
  plain.on('clientError', (error, socket) => server.emit('clientError', error, socket))
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Node has removed its own listener: an error without any would end the process.
    socket.on('error', () => socket.destroy())
    whenAnswered(socket, () => {
      if (handler(request, socket, head)) return
      socket.unshift(Buffer.concat([headOf(request), head]))
      plain.emit('connection', socket)
    })
  })
}

/** Waits for the responses to earlier requests of a connection. Node keeps the next one in a field without a type. */
function whenAnswered(socket: Duplex, then: () => void): void {
  const { _httpMessage: pending } = socket as { readonly _httpMessage?: ServerResponse | null }
  if (socket.destroyed) return
  if (pending) pending.once('close', () => whenAnswered(socket, then))
  else then()
}

/** The request line and the headers as they arrived. */
function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`)
  }
  // Node reads heads byte by byte.
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}
