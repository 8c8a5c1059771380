// A connection for `pg` that connects like libpq: tries hosts in order, with or without TLS according to sslmode.
import { once } from 'node:events'
import { isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import pg from 'pg'
import { SharedReadSocket } from '../protocol/incoming.ts'
import type { ConnectionPlan, SslMode, Target } from './connection-plan.ts'
import { closedByServer, Startup, type Outcome, type WantedSession } from './connection-startup.ts'

type Encryption = 'none' | 'tls' | 'tls when offered'

/** Ends all attempts: the client was closed or timed out. */
class GivenUp extends Error {}

/** The server does not accept this kind of encryption. */
class EncryptionRefused extends Error {}

/** SSLRequest: length 8 and the request code. */
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** CancelRequest's code, in place of a protocol version. */
const cancelCode = 80877102
/** Timeout of a request to cancel, in milliseconds. */
const cancelTimeout = 5000

const encryptions = {
  disable: ['none'],
  allow: ['none', 'tls'],
  prefer: ['tls when offered', 'none'],
  require: ['tls'],
  'verify-ca': ['tls'],
  'verify-full': ['tls'],
} as const satisfies Record<SslMode, readonly Encryption[]>

const isSocketFolder = (host: string): boolean => host.startsWith('/')

function shuffle<T>(items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item)
}

export class LibpqConnection extends pg.Connection {
  // Members of pg.Connection that are missing from its types.
  declare stream: Duplex
  declare _connecting: boolean
  declare _ending: boolean
  declare attachListeners: (stream: Duplex) => void

  readonly #plan: ConnectionPlan
  #target: Target | undefined
  #way: Encryption = 'none'
  /** Receives events first while an attempt is in progress. Returning true stops the event. */
  #inspect: ((event: string | symbol, value: unknown) => boolean) | undefined

  constructor(plan: ConnectionPlan) {
    super()
    this.#plan = plan
  }

  /** The current target: connected, or being tried. */
  get target(): Target | undefined {
    return this.#target
  }

  /** Called by pg.Client. Ignores the client's host and port. */
  connect(): void {
    this._connecting = true
    this.#attemptAll().catch((error: unknown) => {
      this.#inspect = undefined
      if (!(error instanceof GivenUp)) this.emit('error', error)
      this.emit('end')
    })
  }

  override emit(event: string | symbol, ...values: unknown[]): boolean {
    if (this.#inspect?.(event, values[0]) === true) return true
    return super.emit(event, ...values)
  }

  /** See `LibpqClient`. https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS */
  async requestCancel(processId: number, secretKey: number): Promise<void> {
    if (!this.#target) throw new Error('there is no connection')
    const other = new LibpqConnection(this.#plan)
    const timer = setTimeout(() => other.stream.destroy(new Error('timeout expired')), cancelTimeout)
    try {
      const stream = await other.#open(this.#target, this.#way)
      const message = Buffer.alloc(16)
      for (const [index, value] of [16, cancelCode, processId, secretKey].entries()) {
        message.writeInt32BE(value | 0, index * 4)
      }
      stream.end(message)
      stream.resume()
      // The server closes the connection after processing the request.
      if (!stream.closed) await once(stream, 'close')
    } finally {
      clearTimeout(timer)
    }
  }

  async #attemptAll(): Promise<void> {
    const { session } = this.#plan
    const targets = this.#plan.shuffled ? shuffle(this.#plan.targets) : this.#plan.targets
    // Prefers a standby; the second pass accepts any server.
    const passes = session === 'prefer-standby' ? (['standby', 'any'] as const) : [session]
    let failure: Error = new Error('there is no server to connect to')
    for (const wanted of passes) {
      for (const target of targets) {
        const fault = await this.#attempt(target, wanted)
        if (!fault) return
        failure = fault
      }
    }
    throw failure
  }

  /** Tries to connect. Returns undefined on success, otherwise the reason of the failure. */
  async #attempt(target: Target, wanted: WantedSession): Promise<Error | undefined> {
    const ways: readonly Encryption[] = isSocketFolder(target.address) ? ['none'] : encryptions[this.#plan.sslMode]
    let failure: Error | undefined
    for (const [index, way] of ways.entries()) {
      const timer = this.#startTimer()
      try {
        this.#target = target
        this.#way = way
        const stream = await this.#open(target, way)
        const verdict = await this.#startUp(stream, index < ways.length - 1, wanted)
        if (verdict.kind === 'accepted') return undefined
        if (verdict.kind === 'given up') throw new GivenUp()
        failure = verdict.error
        if (verdict.kind === 'next target') break
      } catch (error) {
        if (!(error instanceof Error) || error instanceof GivenUp || this._ending) throw error
        failure = error
        if (!(error instanceof EncryptionRefused)) break
      } finally {
        clearTimeout(timer)
      }
    }
    return failure
  }

  #startTimer(): NodeJS.Timeout | undefined {
    const { connectTimeout } = this.#plan
    if (connectTimeout === 0) return undefined
    return setTimeout(() => this.stream.destroy(new Error('timeout expired')), connectTimeout * 1000)
  }

  /** Opens a stream that is ready for the startup message. */
  async #open(target: Target, way: Encryption): Promise<Duplex> {
    const { host, address, port } = target
    const socket = new SharedReadSocket()
    this.stream = watched(socket)
    if (isSocketFolder(address)) socket.connect({ path: `${address}/.s.PGSQL.${port}` })
    else socket.setNoDelay(true).connect({ host: address, port })
    await happens(socket, 'connect')
    const { keepAliveIdle } = this.#plan
    if (keepAliveIdle !== undefined) socket.setKeepAlive(true, keepAliveIdle * 1000)
    if (way === 'none') return socket
    if (this.#plan.sslNegotiation === 'postgres') {
      const answer = await this.#askForTls(socket)
      if (answer === 'N' && way === 'tls when offered') return socket
      if (answer !== 'S') {
        socket.destroy()
        throw new Error('The server does not support SSL connections')
      }
    }
    return this.#secure(socket, host)
  }

  async #askForTls(socket: Socket): Promise<string> {
    socket.write(sslRequest)
    const answer = await happens<Buffer>(socket, 'data')
    // More than one byte means that unencrypted data was injected before the TLS handshake.
    return answer.length === 1 ? answer.toString('latin1') : ''
  }

  async #secure(socket: Socket, host: string): Promise<TLSSocket> {
    const { tls, sslNegotiation, sendsServerName } = this.#plan
    const secure = connectTls({
      ...tls,
      socket,
      host,
      ...(sendsServerName && isIP(host) === 0 ? { servername: host } : {}),
      ...(sslNegotiation === 'direct' ? { ALPNProtocols: ['postgresql'] } : {}),
    })
    this.stream = watched(secure)
    try {
      await happens(secure, 'secureConnect')
    } catch (error) {
      socket.destroy()
      if (error instanceof GivenUp || this._ending) throw error
      throw new EncryptionRefused(error instanceof Error ? error.message : String(error), { cause: error })
    }
    return secure
  }

  /** Lets the client send its startup message, and waits until the outcome is known. */
  #startUp(stream: Duplex, canFallBack: boolean, wanted: WantedSession): Promise<Outcome> {
    return new Promise((resolve) => {
      const { requiresChannelBinding } = this.#plan
      const startup = new Startup(canFallBack, requiresChannelBinding, wanted, (text) => this.query(text))
      const closed = this.#adopt(stream)
      this.#inspect = (event, value) => {
        const verdict = startup.judge(event, value, stream)
        if (!verdict) return false
        if (verdict.kind === 'asking') return true
        resolve(verdict)
        if (verdict.kind === 'accepted') {
          this.#inspect = undefined
          return false
        }
        // Further events belong to an attempt that is over.
        this.#inspect = () => true
        closed.matters = false
        stream.destroy()
        return true
      }
      this.emit('connect')
    })
  }

  /** Forwards errors and the end of the stream to the connection, as long as `matters` is true. */
  #adopt(stream: Duplex): { matters: boolean } {
    const closed = { matters: true }
    stream.on('error', (error: NodeJS.ErrnoException) => {
      const isExpected = this._ending && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
      if (closed.matters && !isExpected) this.emit('error', error)
    })
    stream.on('close', () => {
      if (closed.matters) this.emit('end')
    })
    this.attachListeners(stream)
    return closed
  }
}

/** Ignores errors of a stream without other listeners, which would end the process. */
const watched = <T extends Duplex>(stream: T): T => stream.on('error', () => undefined)

/** Waits for an event of a stream before `#adopt`. */
function happens<T>(stream: Duplex, event: string): Promise<T> {
  return new Promise((resolve, reject) => {
    let hasEnded = false
    const settle = (act: () => void) => () => {
      stream.off(event, onEvent).off('error', onError).off('end', onEnd).off('close', onClose)
      act()
    }
    const onEvent = (value: T): void => settle(() => resolve(value))()
    const onError = (error: Error): void => {
      settle(() => reject(error))()
    }
    const onEnd = (): void => {
      hasEnded = true
    }
    const onClose = settle(() => reject(hasEnded ? new Error(closedByServer) : new GivenUp()))
    stream.on(event, onEvent).on('error', onError).on('end', onEnd).on('close', onClose)
  })
}
