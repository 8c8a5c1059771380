// Requests to upgrade their connection to another protocol (RFC 9110, section 7.8).
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** @returns whether the handler has taken over the connection; if not, it must not have used it */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean

/**
 * Lets a handler take over connections of a server. Requests that the handler does not accept are served without an
 * upgrade, because many clients offer HTTP/2 and servers may ignore that. With an `upgrade` listener, Node does not
 * parse such requests further, so they are pushed back onto their connection, and parsed by a server without that
 * listener.
 *
 * @param options the options that `server` was created with
 */
export function handleUpgrades(server: Server, options: ServerOptions, handler: UpgradeHandler): void {
  const plain = createServer(options, (request, response) => server.emit('request', request, response))
  plain.on('clientError', (error, socket) => server.emit('clientError', error, socket))
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Node has removed its own listener. Without one, an error would end the process.
    socket.on('error', () => socket.destroy())
    whenAnswered(socket, () => {
      if (handler(request, socket, head)) return
      socket.unshift(Buffer.concat([headOf(request), head]))
      plain.emit('connection', socket)
    })
  })
}

/** Calls `then` after the responses to earlier requests of a connection, which Node keeps in a private field. */
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
  // Node decodes request heads as Latin-1.
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}
