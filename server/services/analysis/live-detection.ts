// The WebSocket for live detection: each message is a frame, each reply its prediction, in the same order.
// https://www.rfc-editor.org/rfc/rfc6455
import { STATUS_CODES, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { setImmediate as yielding, setTimeout as pause } from 'node:timers/promises'
import type { WebSocket, WebSocketServer } from 'ws'
import { unobservedSocket, type ObserveSocket, type SocketObserver } from '../../common/socket-observer.ts'
import { clientNetwork, limitedNetworks } from '../../http/client-address.ts'
import { isTrustedOrigin } from '../../http/cross-origin.ts'
import type { BodyBudget } from '../../rest/request/body-budget.ts'
import { callerOf, type Caller, type CallerSettings } from './caller.ts'
import { answerFrame, errorOfFrame } from './frame.ts'
import type { Predictor } from './predictor.ts'
import { internalError, Problem, problemOf, problems } from './problem.ts'
import type { CountImages } from './request-limit.ts'
import { SocketMessages } from './socket-messages.ts'

export type LiveDetectionSettings = {
  /** Path of the WebSocket. */
  readonly path: string
  readonly caller: CallerSettings
  readonly countImages: CountImages
  readonly predictor: Predictor
  /** Bytes of one image. */
  readonly fileLimit: number
  /** Memory for frames. */
  readonly budget: BodyBudget
  /** Maximum number of concurrent connections. */
  readonly socketLimit: number
  /** Records handshakes and frames; undefined: nothing is recorded. */
  readonly observe?: ObserveSocket | undefined
  /** Called with unexpected errors, for the log. */
  readonly onError: (error: unknown) => void
}

export type LiveDetection = {
  /** Takes over a connection whose request asks for the WebSocket. @returns false for all other requests */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean
  /** Closes every connection with the code 1001. */
  readonly stop: () => void
}

/** Close codes of RFC 6455 and its registry: going away, try again later. */
const goingAway = 1001
const policyViolation = 1008
const tryAgainLater = 1013
/** HTTP statuses of an upgraded connection, and of a request that is no valid handshake. */
const switchingProtocols = 101
const badHandshake = 400
/** Milliseconds between pings. */
const heartbeat = 30_000
/** Milliseconds after a close frame until the connection ends, also if the client does not respond to it. */
const closeTimeout = 2000
/** Maximum number of fragments of a message. */
const mostFragments = 4096
/** Milliseconds until the next frame is handled after one above the limit of images. */
const rest = 10
/** Fraction of all connections that one network may have; an IPv6 /56 or /48 may have twice as many. */
const networkShare = 4

/** Whether a network has its share of the connections already. */
function isCrowded(network: string, connections: ReadonlySet<Connection>, limit: number): boolean {
  const names = [...connections].flatMap((other) => limitedNetworks(other.network).map(({ name }) => name))
  return limitedNetworks(network).some(
    ({ name, share }) =>
      names.filter((other) => other === name).length >=
      Math.max(1, Math.ceil((limit * Math.min(share, 2)) / networkShare)),
  )
}

export function liveDetection(settings: LiveDetectionSettings): LiveDetection {
  const { path, fileLimit, socketLimit } = settings
  let server: WebSocketServer | undefined
  const connections = new Set<Connection>()
  const watch = setInterval(() => {
    for (const connection of connections) connection.checkAlive()
  }, heartbeat)
  watch.unref()

  const admit = async (request: IncomingMessage): Promise<Admission> => {
    const { origin } = request.headers
    const listed = settings.caller.allowedOrigins()
    if (origin !== undefined && listed.length > 0 && !isTrustedOrigin(request, listed)) {
      throw new Problem(403, 'Requests from pages of other sites are not accepted')
    }
    const caller = await callerOf(request, settings.caller)
    return { caller, server: (server ??= await createServer(fileLimit)) }
  }
  const begin = async (socket: WebSocket, request: IncomingMessage, by: ObservedCaller): Promise<void> => {
    const network = clientNetwork(request, settings.caller.trustedProxies)
    const connection = new Connection(socket, request.socket, network, by, settings)
    const wasCrowded = isCrowded(network, connections, socketLimit)
    connections.add(connection)
    socket.once('close', () => connections.delete(connection))
    const isFull = connections.size > socketLimit || wasCrowded
    const reason = isFull ? problems.busy() : await settings.predictor.unusable()
    if (reason) connection.refuse(reason)
    else connection.serve()
  }
  return {
    upgrade: (request, socket, head) => {
      const [target = ''] = (request.url ?? '').split('?', 1)
      if (target !== path || request.headers.upgrade?.toLowerCase() !== 'websocket') return false
      const onError = (): void => void socket.destroy()
      socket.on('error', onError)
      const observer = settings.observe?.(request, path) ?? unobservedSocket
      observer
        .handshake(() => admit(request))
        .then(
          ({ caller, server }) => {
            socket.off('error', onError)
            let status = badHandshake
            server.handleUpgrade(request, socket, head, (accepted) => {
              status = switchingProtocols
              begin(accepted, request, { caller, observer }).catch((error: unknown) => {
                settings.onError(error)
                accepted.terminate()
              })
            })
            observer.answered(status, caller.identity?.role)
          },
          (error: unknown) => {
            if (!problemOf(error)) settings.onError(error)
            const problem = problemOf(error) ?? internalError()
            refuseHandshake(socket, problem)
            observer.answered(problem.status, undefined)
          },
        )
      return true
    },
    stop: () => {
      clearInterval(watch)
      for (const connection of connections) connection.end(goingAway)
    },
  }
}

/** A request that may have the WebSocket, and what gives it one. */
type Admission = { readonly caller: Caller; readonly server: WebSocketServer }

async function createServer(fileLimit: number): Promise<WebSocketServer> {
  const { WebSocketServer } = await import('ws')
  return new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // No compression: a compressed frame could expand a thousandfold.
    perMessageDeflate: false,
    // Twice the largest accepted frame: a frame between the two gets an error, and the connection stays open.
    maxPayload: 2 * Math.ceil(fileLimit / 3) * 4 + 4096,
    maxFragments: mostFragments,
  })
}

function refuseHandshake(socket: Duplex, { status, detail, headers }: Problem): void {
  const body = JSON.stringify({ detail })
  const lines = Object.entries({
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
}

/** What stands for a message that contains no frame. */
const noFrame = Buffer.alloc(0)
/** The status in the reply to a frame above the limit of images. */
const tooManyImages = '429'

type ObservedCaller = { readonly caller: Caller; readonly observer: SocketObserver }

/**
 * One client. Handles one frame at a time and pauses reading meanwhile, so that the client buffers further frames. What
 * was read by then counts: a chunk of empty messages has thousands of them.
 */
class Connection {
  readonly network: string
  readonly #socket: WebSocket
  readonly #caller: Caller
  readonly #observer: SocketObserver
  readonly #settings: LiveDetectionSettings
  readonly #waiting: Buffer[] = []
  readonly #messages = new SocketMessages()
  readonly #gone = new AbortController()
  #isServing = false
  #isAnswering = false
  #isAlive = true

  constructor(
    socket: WebSocket,
    carrier: Duplex,
    network: string,
    { caller, observer }: ObservedCaller,
    settings: LiveDetectionSettings,
  ) {
    this.network = network
    this.#socket = socket
    this.#caller = caller
    this.#observer = observer
    this.#settings = settings
    // ws closes the connection after an error itself.
    socket.on('error', () => undefined)
    socket.on('ping', () => this.#countControl())
    socket.on('pong', () => {
      this.#isAlive = true
      this.#countControl()
    })
    socket.on('message', (data, isBinary) => {
      // After the server's close frame, clients may send more.
      if (socket.readyState !== socket.OPEN) return
      // Only text messages contain frames.
      this.#waiting.push(isBinary ? noFrame : (data as Buffer))
      if (this.#messages.mayWait(this.#waiting.length)) void this.#answerAll()
      else this.#rejectJunk()
    })
    const share = settings.budget.open()
    let arrived = 0
    carrier.on('data', (piece: Buffer) => {
      this.#isAlive = true
      arrived += piece.length
      const room = share.grow(arrived)
      if (!room) return
      socket.pause()
      room.then(
        () => this.#resume(),
        () => this.refuse(problems.busy()),
      )
    })
    this.#onAnswered = () => {
      arrived = 0
      share.release()
    }
    socket.once('close', () => {
      this.#waiting.length = 0
      this.#gone.abort()
      share.release()
    })
  }

  /** Releases the memory of a frame. */
  readonly #onAnswered: () => void

  /** Sends the reason why no analysis is available, and closes the connection. */
  refuse({ detail }: Problem): void {
    this.#socket.resume()
    this.#socket.send(JSON.stringify({ detail }))
    this.end(tryAgainLater)
  }

  end(code: number): void {
    this.#socket.resume()
    this.#socket.close(code)
  }

  /** Starts handling frames, first those that have arrived already. */
  serve(): void {
    this.#isServing = true
    void this.#answerAll()
  }

  /** Terminates a connection that did not respond to the last ping, and pings all others. */
  checkAlive(): void {
    if (!this.#isAlive && !this.#isAnswering) {
      this.#socket.terminate()
      return
    }
    this.#isAlive = false
    this.#messages.beginPeriod()
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
  }

  async #answerAll(): Promise<void> {
    if (this.#isAnswering) return
    this.#socket.pause()
    if (!this.#isServing) return
    this.#isAnswering = true
    for (let message = this.#waiting.shift(); message; message = this.#waiting.shift()) {
      await this.#answer(message)
      // A reply that needs no analysis would otherwise be followed by the next one before any other client is served.
      await yielding()
    }
    this.#onAnswered()
    this.#isAnswering = false
    this.#isAlive = true
    this.#resume()
  }

  async #answer(frame: Buffer): Promise<void> {
    let isImage = false
    const answer = await this.#observer.message(
      () =>
        answerFrame(frame, {
          ...this.#settings,
          count: async () => {
            isImage = true
            await this.#settings.countImages(this.#caller, 1)
            this.#messages.imageCounted()
          },
          signal: this.#gone.signal,
        }),
      errorOfFrame,
    )
    await this.#send(JSON.stringify(answer))
    if (!isImage && !this.#messages.mayBeJunk()) this.#rejectJunk()
    if (errorOfFrame(answer) === tooManyImages) await pause(rest)
  }

  #countControl(): void {
    if (!this.#messages.mayControl()) this.#rejectJunk()
  }

  /** Closes the connection, and forgets what has arrived. */
  #rejectJunk(): void {
    this.#waiting.length = 0
    if (this.#socket.readyState !== this.#socket.OPEN) return
    this.end(policyViolation)
    setTimeout(() => this.#socket.terminate(), closeTimeout).unref()
  }

  #resume(): void {
    if (!this.#isAnswering) this.#socket.resume()
  }

  /** Resolves when the reply is sent, or the client has disconnected. */
  #send(text: string): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(text, () => resolve())
      else resolve()
    })
  }
}
