// All WebSockets of the process: opens, watches and closes them.
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { SocketObserver } from '../../common/socket-observer.ts'
import type { JwtVerifier } from '../../identity/jwt/jwt.ts'
import type { Channel } from './channel.ts'
import type { RealtimeParts } from './realtime-parts.ts'
import { ClientSocket, closeCodes } from './socket.ts'
import type { SerializerVersion } from './frames.ts'
import { TokenRefused, type Credential } from './tokens.ts'

/** Bytes of a message, as in the original. */
const largestMessage = 5_000_000
/** Maximum number of fragments of a message. */
const mostFragments = 4096
/** Milliseconds between two checks for expired tokens and changed settings, for silent connections, and for API keys. */
const expiryInterval = 1000
const silenceInterval = 5000
const keyInterval = 60_000

export type Handshake = {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  readonly version: SerializerVersion
  readonly credential: Credential
  readonly observer: SocketObserver
}

export class Sockets {
  readonly #parts: RealtimeParts
  readonly #sockets = new Set<ClientSocket>()
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // No compression: a compressed frame could expand a thousandfold.
    perMessageDeflate: false,
    maxPayload: largestMessage,
    maxFragments: mostFragments,
    // After each message, all others have their turn: a chunk of empty messages has thousands of them.
    allowSynchronousEvents: false,
  })
  #verifier: JwtVerifier
  #isPrivateOnly: boolean
  #timers: readonly NodeJS.Timeout[] = []

  constructor(parts: RealtimeParts) {
    this.#parts = parts
    this.#verifier = parts.verifier()
    this.#isPrivateOnly = parts.settings().realtimePrivateOnly
  }

  get size(): number {
    return this.#sockets.size
  }

  /** The channels of all sockets. */
  channels(): readonly Channel[] {
    return [...this.#sockets].flatMap((socket) => [...socket.channels])
  }

  /** @param answered called with the status of the response */
  open(
    { request, socket: carrier, head, version, credential, observer }: Handshake,
    answered: (status: number) => void,
  ): void {
    let status = 400
    this.#server.handleUpgrade(request, carrier, head, (socket) => {
      status = 101
      const headers = customHeaders(request)
      const client = new ClientSocket({ socket, carrier, version, credential, observer, headers, parts: this.#parts })
      this.#sockets.add(client)
      this.#parts.statistics.sockets++
      if (this.#sockets.size === 1) this.#watch()
      socket.once('close', () => {
        this.#sockets.delete(client)
        this.#parts.statistics.sockets--
        if (this.#sockets.size === 0) this.stopWatching()
      })
    })
    answered(status)
  }

  /** Closes all sockets so that their clients connect again. */
  closeAll(): void {
    for (const socket of this.#sockets) socket.close(closeCodes.restart, 'The server restarts')
  }

  /** Checks credentials again that may have ended. */
  async checkAgain(mayHaveEnded: (credential: Credential) => boolean): Promise<void> {
    const tokens = new Set<string>()
    for (const socket of this.#sockets) {
      if (mayHaveEnded(socket.credential)) tokens.add(socket.credential.token)
      for (const { credential } of socket.channels) if (mayHaveEnded(credential)) tokens.add(credential.token)
    }
    for (const token of tokens) {
      try {
        await this.#parts.tokens.verify(token)
      } catch (error) {
        if (!(error instanceof TokenRefused) || error.problem === 'unavailable') continue
        const isOf = (credential: Credential): boolean => credential.token === token
        if (isOfSecret(error))
          this.#disconnect((socket) => isOf(socket.credential) || has(socket, (one) => isOf(one.credential)))
        else this.#end(isOf, error.message)
      }
    }
  }

  stopWatching(): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#timers = []
  }

  /** Ends channels by their credential, and closes sockets by theirs. */
  #end(isEnded: (credential: Credential) => boolean, message: string): void {
    for (const socket of [...this.#sockets]) {
      const isSocketEnded = isEnded(socket.credential)
      for (const channel of [...socket.channels]) {
        if (!isSocketEnded && !isEnded(channel.credential)) continue
        this.#parts.statistics.drop('session ended')
        channel.end(message)
      }
      if (isSocketEnded) socket.close(closeCodes.policyViolation, message)
    }
  }

  /** Closes sockets whose clients must join again under other settings. */
  #disconnect(isConcerned: (socket: ClientSocket) => boolean): void {
    for (const socket of [...this.#sockets]) {
      if (!isConcerned(socket)) continue
      this.#parts.statistics.drop('settings changed')
      socket.disconnect()
    }
  }

  /** With other secrets, all tokens may be invalid; with a check of sessions, those of sessions that have ended without one. */
  #checkSettings(): void {
    const { tokens } = this.#parts
    const verifier = this.#parts.verifier()
    // Not what the setting was at the last look: sessions may have gone unchecked for less than the time between two.
    const wereUnchecked = this.#parts.checksSessions() && tokens.takeUnchecked()
    if (verifier !== this.#verifier) {
      this.#verifier = verifier
      void this.checkAgain(() => true)
    } else if (wereUnchecked) {
      void this.checkAgain(({ session }) => session !== undefined)
    }
    const { realtimePrivateOnly: isPrivateOnly } = this.#parts.settings()
    if (isPrivateOnly && !this.#isPrivateOnly) {
      this.#disconnect((socket) => has(socket, ({ request }) => !request.isPrivate))
    }
    this.#isPrivateOnly = isPrivateOnly
  }

  #watch(): void {
    const every = (milliseconds: number, run: () => void): NodeJS.Timeout => setInterval(run, milliseconds).unref()
    this.#timers = [
      every(expiryInterval, () => {
        const now = Date.now()
        for (const channel of [...this.#parts.hub.channels]) channel.checkExpiry(now)
        this.#checkSettings()
      }),
      every(silenceInterval, () => {
        const now = performance.now()
        for (const socket of [...this.#sockets]) socket.check(now)
      }),
      // Keys may have an end that is not announced.
      every(keyInterval, () => void this.checkAgain(({ keyHash }) => keyHash !== undefined)),
    ]
  }
}

/** The token was signed with a secret that is no longer valid. */
const isOfSecret = ({ problem }: TokenRefused): boolean => problem === 'signature' || problem === 'signer'

const has = ({ channels }: ClientSocket, test: (channel: Channel) => boolean): boolean => [...channels].some(test)

const noHeaders = {}

/** The headers that policies can read, as in the original: those that begin with `x-`, but the key. */
function customHeaders({ headers }: IncomingMessage): ClientSocket['headers'] {
  const custom = Object.entries(headers).filter(([name]) => name.startsWith('x-') && name !== 'x-api-key')
  return custom.length === 0 ? noHeaders : Object.fromEntries(custom)
}
