// Row changes as server-sent events, for clients without a WebSocket.
// https://html.spec.whatwg.org/multipage/server-sent-events.html
import type { IncomingMessage, ServerResponse } from 'node:http'
import { RealtimeError } from '../realtime-error.ts'
import type { RealtimeSettings } from '../settings.ts'
import type { RealtimeStatistics } from '../statistics.ts'
import { expiredText, TokenRefused, type Credential, type Tokens } from '../tokens.ts'
import {
  ChangesRefused,
  ChangesUnavailable,
  type ChangeEvent,
  type ChangeSubscription,
  type RowChanges,
} from './row-changes.ts'

/** Milliseconds for which a request waits until its subscription is live. */
const subscribeTimeout = 9000
/** Milliseconds between two comments that keep the connection open. */
const keepAliveInterval = 15_000
/** Milliseconds between two checks for expired tokens. */
const expiryInterval = 1000
/** Milliseconds after which a client connects again. */
const retry = 1000

type StreamParts = {
  /** Read each time, because the settings can be reloaded. */
  readonly settings: () => Pick<RealtimeSettings, 'realtimeMaxConnections' | 'realtimeMaxBufferedBytes'>
  readonly statistics: RealtimeStatistics
  readonly changes: RowChanges
  readonly tokens: Tokens
  readonly onError: (error: unknown) => void
}

type Stream = {
  readonly response: ServerResponse
  readonly credential: Credential
  /** Ends it. The message says why. */
  readonly end: (message: string) => void
}

/** What a request asks for. */
export type StreamRequest = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly credential: Credential
  readonly binding: unknown
  /** The last position that the client has seen. */
  readonly since: string | undefined
}

/** All streams of the process. */
export class ChangeStreams {
  readonly #parts: StreamParts
  readonly #streams = new Set<Stream>()
  /** Called with true for the first stream, and with false after the last. */
  onUse: (isUsed: boolean) => void = () => undefined
  #timers: readonly NodeJS.Timeout[] = []
  #isEnding = false
  #lastEvent: ChangeEvent | undefined
  #lastText = ''

  constructor(parts: StreamParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#streams.size
  }

  /**
   * Subscribes, and sends the events until the client disconnects, the token expires or the session ends.
   *
   * @throws RealtimeError before the stream begins
   */
  async open({ request, response, credential, binding, since }: StreamRequest): Promise<void> {
    const { settings, statistics, changes } = this.#parts
    if (this.#isEnding) throw new RealtimeError(503, { message: 'Realtime is restarting, please standby' })
    if (this.#streams.size >= settings().realtimeMaxConnections) {
      statistics.drop('too many connections')
      throw new RealtimeError(429, { message: 'Too many connected users' })
    }
    const gone = new AbortController()
    let subscription: ChangeSubscription | undefined
    const stream: Stream = {
      response,
      credential,
      end: (message) => {
        if (response.headersSent && !response.writableEnded) {
          response.write(systemText(message))
          response.end()
        }
        close()
      },
    }
    const close = (): void => {
      gone.abort()
      subscription?.end()
      if (this.#streams.delete(stream) && this.#streams.size === 0) this.#stopWatching()
    }
    response.once('close', close)
    this.#streams.add(stream)
    if (this.#streams.size === 1) this.#watch()
    try {
      subscription = await changes.subscribe({
        bindings: [binding],
        identity: credential.identity,
        since,
        signal: AbortSignal.any([gone.signal, AbortSignal.timeout(subscribeTimeout)]),
        receiver: {
          onChange: (event) => this.#send(response, this.#textOf(event)),
          onFailure: ({ code, message }) => {
            if (code === 'Refused') stream.end(message)
            else this.#send(response, systemText(message, code))
          },
        },
      })
    } catch (error) {
      const isGone = gone.signal.aborted
      close()
      // The client has hung up, and the attempt has ended with it.
      if (isGone) return
      throw refusalOf(error)
    }
    if (gone.signal.aborted || request.socket.destroyed) return close()
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      // Nginx would collect the events.
      'X-Accel-Buffering': 'no',
    })
    response.write(`retry: ${retry}\n: subscribed\n\n`)
  }

  /** Ends all streams, so that their clients connect again. */
  endAll(): void {
    this.#isEnding = true
    this.#end(() => true, 'The server restarts')
  }

  /** Checks credentials again that may have ended. */
  async checkAgain(mayHaveEnded: (credential: Credential) => boolean): Promise<void> {
    const credentials = [...this.#streams].map(({ credential }) => credential).filter(mayHaveEnded)
    for (const token of new Set(credentials.map((credential) => credential.token))) {
      try {
        await this.#parts.tokens.verify(token)
      } catch (error) {
        if (!(error instanceof TokenRefused) || error.problem === 'unavailable') continue
        this.#end((credential) => credential.token === token, error.message)
      }
    }
  }

  #end(isEnded: (credential: Credential) => boolean, message: string): void {
    for (const stream of [...this.#streams]) if (isEnded(stream.credential)) stream.end(message)
  }

  /** An event is written once for all streams that get it one after the other. */
  #textOf(event: ChangeEvent): string {
    if (event !== this.#lastEvent) {
      this.#lastEvent = event
      // Line breaks are white space in JSON.
      this.#lastText = `id: ${event.position}\ndata: ${event.data.replace(/[\r\n]+/g, ' ')}\n\n`
    }
    return this.#lastText
  }

  #send(response: ServerResponse, text: string): void {
    if (response.writableEnded || response.destroyed) return
    response.write(text)
    this.#parts.statistics.changes++
    if (response.writableLength <= this.#parts.settings().realtimeMaxBufferedBytes) return
    // It reads nothing, so that it would not read a reason either. It can resume.
    this.#parts.statistics.drop('slow client')
    response.destroy()
  }

  #watch(): void {
    this.onUse(true)
    const every = (milliseconds: number, run: () => void): NodeJS.Timeout => setInterval(run, milliseconds).unref()
    this.#timers = [
      every(expiryInterval, () => {
        const now = Date.now()
        for (const { credential, end } of [...this.#streams]) {
          if (credential.expiresAt * 1000 <= now) end(expiredText(credential.expiresAt, now))
        }
      }),
      every(keepAliveInterval, () => {
        for (const { response } of this.#streams) if (response.headersSent) response.write(': keep-alive\n\n')
        this.checkAgain(() => true).catch(this.#parts.onError)
      }),
    ]
  }

  #stopWatching(): void {
    this.onUse(false)
    for (const timer of this.#timers) clearInterval(timer)
    this.#timers = []
  }
}

/** An event `system`, which says what is wrong with the subscription. */
function systemText(message: string, code?: string): string {
  const status = { extension: 'postgres_changes', status: 'error', message, ...(code === undefined ? {} : { code }) }
  return `event: system\ndata: ${JSON.stringify(status)}\n\n`
}

function refusalOf(error: unknown): unknown {
  if (error instanceof ChangesRefused) return new RealtimeError(400, { message: error.message })
  if (error instanceof ChangesUnavailable) return new RealtimeError(503, { message: error.message })
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new RealtimeError(503, { message: `The subscription was not live within ${subscribeTimeout} ms.` })
  }
  return error
}
