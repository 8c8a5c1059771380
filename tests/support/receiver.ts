// A server of others in a test: what outgoing requests are sent to.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { listenOnLoopback } from './loopback-server.ts'

export type ReceivedCall = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** By `performance.now()`. */
  readonly at: number
}

export type Receiver = {
  readonly received: ReceivedCall[]
  readonly url: string
  readonly port: number
}

/** Starts a server that responds with `respond`, once the request has arrived completely. */
export async function startReceiver(
  t: Pick<Test, 'teardown'>,
  respond: (call: ReceivedCall, response: ServerResponse) => void,
): Promise<Receiver> {
  const received: ReceivedCall[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const body = Buffer.concat(chunks).toString()
      const call = { method, path: url, headers, body, at: performance.now() }
      received.push(call)
      respond(call, response)
    })
  })
  const port = await listenOnLoopback(t, server)
  t.teardown(() => server.closeAllConnections())
  return { received, port, url: `http://127.0.0.1:${port}` }
}

/** Starts a server that answers a connection with bytes of its own, after the head of the request has arrived. */
export async function startRawReceiver(t: Pick<Test, 'teardown'>, answer: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    socket.once('data', () => answer(socket))
  })
  const port = await listenOnLoopback(t, server)
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  return `http://127.0.0.1:${port}/`
}
