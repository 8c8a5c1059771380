// Limits the requests of one connection that run at once. Node starts a request as soon as it is parsed, and a client may send
// thousands without waiting for a response: one packet would keep the event loop busy for seconds.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that run at once while an earlier response of their connection is in progress. */
const mostRunning = 8
/** Requests that wait for these. A connection with more is closed. */
const mostWaiting = 1000

/** The requests of a connection that arrived before the response to an earlier one was complete. */
class Pipeline {
  readonly #start: (request: IncomingMessage, response: ServerResponse) => void
  readonly #socket: Socket
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(socket: Socket, start: RequestListener) {
    this.#socket = socket
    this.#start = start
    socket.once('close', () => this.#waiting.splice(0))
  }

  add(request: IncomingMessage, response: ServerResponse): void {
    if (this.#running < mostRunning) this.#run(request, response)
    else if (this.#waiting.length < mostWaiting) this.#waiting.push(() => this.#run(request, response))
    else this.#socket.destroy()
  }

  #run(request: IncomingMessage, response: ServerResponse): void {
    this.#running += 1
    response.once('close', () => {
      this.#running -= 1
      // Other connections are served in between.
      setImmediate(() => this.#waiting.shift()?.())
    })
    this.#start(request, response)
  }
}

const ofSocket = Symbol('pipeline')
/** Only a connection with pipelined requests has the field. */
type PipelinedSocket = Socket & { [ofSocket]?: Pipeline }

/** A listener that starts pipelined requests in turn. */
export function limitPipelines(listener: RequestListener): RequestListener {
  return (request, response) => {
    // Node assigns the socket to a response when those before it are complete.
    if (response.socket) {
      listener(request, response)
      return
    }
    const socket: PipelinedSocket = request.socket
    socket[ofSocket] ??= new Pipeline(socket, listener)
    socket[ofSocket].add(request, response)
  }
}
