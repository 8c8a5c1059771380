// Shuts an HTTP server down without losing requests: accepts queued connections, completes requests, and announces the end
// of each connection with its last response.
import type { RequestListener, Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { carrierOf } from './memory-connection.ts'

/** Milliseconds between two checks for idle connections. */
const sweepInterval = 200
/** Consecutive checks without received data after which a connection is closed, if it was used, or never was. */
const silentSweeps = { used: 3, unused: 5 }

/** A connection and its state at the last check. */
type Connection = {
  received: number
  silent: number
  /**
   * Responses that are not sent completely, in the order of their requests. Not one set for all connections: V8 replaces
   * the table of a changing set, and old tables would keep finished responses alive.
   */
  readonly unfinished: ServerResponse[]
}

/**
 * Shuts one HTTP server down. Create it before the server listens, because it tracks connections and responses.
 *
 * During the shutdown, every response has `Connection: close`, and connections without data since the last checks are
 * closed. They are not closed immediately, because the client may be sending a request.
 */
export class GracefulEnd {
  readonly #server: Server
  readonly #connections = new Map<Socket, Connection>()
  /** Connections whose last response is on its way. */
  readonly #closing = new WeakSet<Socket>()
  #accepted = 0
  #isEnding = false

  constructor(server: Server) {
    this.#server = server
    const { accept, track } = this.#observers()
    server.on('connection', accept)
    server.prependListener('request', track)
  }

  /** Whether the server accepts requests and is not shutting down. */
  get isServing(): boolean {
    return this.#server.listening && !this.#isEnding
  }

  /**
   * Stops listening and resolves when every connection is closed.
   *
   * @param grace milliseconds for requests in flight
   * @param acceptLimit maximum milliseconds for accepting queued connections
   * @returns the number of requests that did not finish in time; their connections are destroyed
   */
  async end(grace: number, acceptLimit: number): Promise<number> {
    if (this.#isEnding) throw new Error('the server is already shutting down')
    this.#isEnding = true
    this.#closeWithLastResponse()
    let cut = 0
    const late = setTimeout(() => {
      for (const [socket, { unfinished }] of this.#connections) {
        cut += unfinished.length
        socket.destroy()
      }
    }, grace)
    const sweep = setInterval(() => this.#closeSilent(), sweepInterval)
    this.#closeSilent()
    try {
      await this.#untilQueueIsEmpty(acceptLimit)
      // The method of http.Server would close idle connections immediately.
      await new Promise<void>((resolve) => NetServer.prototype.close.call(this.#server, () => resolve()))
    } finally {
      clearTimeout(late)
      clearInterval(sweep)
    }
    return cut
  }

  /** The listeners are shared by all requests: a closure per request would cost more than everything else here. */
  #observers(): { accept: (socket: Socket) => void; track: RequestListener } {
    const connections = this.#connections
    const unfinishedOn = (socket: Socket): ServerResponse[] | undefined =>
      connections.get(carrierOf(socket))?.unfinished
    function finish(this: ServerResponse): void {
      const unfinished = unfinishedOn(this.req.socket)
      const index = unfinished?.indexOf(this) ?? -1
      if (index >= 0) unfinished?.splice(index, 1)
    }
    return {
      accept: (socket) => {
        this.#accepted += 1
        connections.set(socket, { received: -1, silent: 0, unfinished: [] })
        socket.once('close', () => connections.delete(socket))
      },
      track: ({ socket }, response) => {
        unfinishedOn(socket)?.push(response)
        response.on('close', finish)
      },
    }
  }

  /** Makes the next response of each connection its last one. */
  #closeWithLastResponse(): void {
    for (const { unfinished } of this.#connections.values()) {
      const last = unfinished.at(-1)
      // Too late for a response whose head is sent: the next response of its connection is the last one.
      if (last && !last.headersSent) this.#makeLast(last.req.socket, last)
    }
    const listeners = this.#server.listeners('request') as RequestListener[]
    this.#server.removeAllListeners('request')
    const answerOnce: RequestListener = (request, response) => {
      const { socket } = request
      // Ignores requests pipelined behind the last response: their own responses would never be sent.
      if (this.#closing.has(socket)) return
      this.#makeLast(socket, response)
      for (const listener of listeners) listener.call(this.#server, request, response)
    }
    this.#server.on('request', answerOnce)
  }

  #makeLast(socket: Socket, response: ServerResponse): void {
    this.#closing.add(socket)
    response.shouldKeepAlive = false
  }

  /** Closes connections without requests that received nothing since the last checks. */
  #closeSilent(): void {
    for (const [socket, connection] of this.#connections) {
      const { bytesRead } = socket
      const isBusy = connection.unfinished.length > 0
      connection.silent = !isBusy && connection.received === bytesRead ? connection.silent + 1 : 0
      // A connection that was busy starts over.
      connection.received = isBusy ? -1 : bytesRead
      if (connection.silent >= (bytesRead > 0 ? silentSweeps.used : silentSweeps.unused)) socket.destroySoon()
    }
  }

  /**
   * Accepts connections until none is queued, because the kernel resets the queued ones when the socket closes. libuv
   * accepts one connection per event loop iteration, so the queue was empty in an iteration without one. Few connections
   * can arrive during a short iteration; longer ones are accepted as evidence only when time runs out.
   */
  async #untilQueueIsEmpty(limit: number): Promise<void> {
    const start = performance.now()
    for (let begin = start; begin - start < limit;) {
      const accepted = this.#accepted
      await setImmediate()
      const end = performance.now()
      if (accepted === this.#accepted && end - begin <= longestTurn((end - start) / limit)) return
      begin = end
    }
  }
}

/** Maximum milliseconds of an event loop iteration that counts, after this fraction of the time limit. */
const longestTurn = (waited: number): number => (waited < 0.4 ? 0.03 : waited < 0.7 ? 0.1 : 1)
