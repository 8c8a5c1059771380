// The end of an HTTP server that cuts no request: queued connections are accepted, requests are answered, and every
// connection is told with its last response.
import type { RequestListener, Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { carrierOf } from './memory-connection.ts'

/** Milliseconds between two looks for idle connections. */
const sweepInterval = 200
/** Sweeps in a row that find a connection silent before it is closed: one that was used, and one that never was. */
const silentSweeps = { used: 1, unused: 5 }

/** A connection, and what the sweeps have seen of it. */
type Connection = {
  received: number
  silent: number
  /**
   * Responses that are not yet sent in full, in the order of their requests. A list for each connection: in one set of
   * all, whose tables V8 replaces as entries come and go, the old tables would keep responses alive that have ended.
   */
  readonly unfinished: ServerResponse[]
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/**
 * Ends one HTTP server. To be made before the server listens: connections and responses are counted from then on.
 *
 * While it ends, every response carries `Connection: close`, and connections that have been silent since the last sweep
 * are closed. A connection is not closed at once: the client may just be sending on it.
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

  /** Whether the server accepts requests and goes on doing so. */
  get isServing(): boolean {
    return this.#server.listening && !this.#isEnding
  }

  /**
   * Stops listening and resolves when every connection is closed.
   *
   * @param grace milliseconds that requests in flight have to finish
   * @param acceptLimit milliseconds that connections are still accepted at most, while the queue of new ones is not empty
   * @returns the number of requests that had not finished by then; their connections are destroyed
   */
  async end(grace: number, acceptLimit: number): Promise<number> {
    if (this.#isEnding) throw new Error('the server is ending already')
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
      // The method of http.Server would close idle connections at once.
      await new Promise<void>((resolve) => NetServer.prototype.close.call(this.#server, () => resolve()))
    } finally {
      clearTimeout(late)
      clearInterval(sweep)
    }
    return cut
  }

  /** Shared by all requests: a function for each of them would cost more than all the rest. */
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

  /** From now on, the next response of each connection is its last one. */
  #closeWithLastResponse(): void {
    for (const { unfinished } of this.#connections.values()) {
      const last = unfinished.at(-1)
      // Without an effect on a response whose head is sent: the next one on its connection is the last one.
      if (last && !last.headersSent) this.#makeLast(last.req.socket, last)
    }
    const listeners = this.#server.listeners('request') as RequestListener[]
    this.#server.removeAllListeners('request')
    const answerOnce: RequestListener = (request, response) => {
      const { socket } = request
      // Pipelined behind the last response: it would be carried out, but its response would never be sent.
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

  /** Closes connections without a request that have received nothing since the last sweep. */
  #closeSilent(): void {
    for (const [socket, connection] of this.#connections) {
      const { bytesRead } = socket
      const isBusy = connection.unfinished.length > 0
      connection.silent = !isBusy && connection.received === bytesRead ? connection.silent + 1 : 0
      // A response that ends between two sweeps leaves a connection that is looked at afresh.
      connection.received = isBusy ? -1 : bytesRead
      if (connection.silent >= (bytesRead > 0 ? silentSweeps.used : silentSweeps.unused)) socket.destroySoon()
    }
  }

  /**
   * Goes on accepting until no connection is waiting, since those in the queue of a socket that is closed are reset by
   * the kernel. libuv accepts one connection in each turn of the event loop, so a turn without one has found the queue
   * empty. The shorter that turn, the fewer connections can have arrived since: a long one counts only when short ones
   * do not happen.
   */
  async #untilQueueIsEmpty(limit: number): Promise<void> {
    const start = performance.now()
    for (let begin = start; begin - start < limit;) {
      const accepted = this.#accepted
      await nextTurn()
      const end = performance.now()
      if (accepted === this.#accepted && end - begin <= longestTurn((end - start) / limit)) return
      begin = end
    }
  }
}

/** Milliseconds that a turn of the event loop may take to be trusted, after this part of the time for waiting. */
const longestTurn = (waited: number): number => (waited < 0.4 ? 0.03 : waited < 0.7 ? 0.1 : 1)
