// One WebSocket, and the channels that it has joined.
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { SocketObserver } from '../../common/socket-observer.ts'
import { Allowance } from './allowance.ts'
import { Channel } from './channel.ts'
import { ByteBudget } from './byte-budget.ts'
import {
  messageFrame,
  readFrame,
  readLargeFrame,
  type ClientMessage,
  type ReceivedFrame,
  type Ref,
  type SerializerVersion,
} from './frames.ts'
import { readJoin } from './join.ts'
import type { RealtimeParts } from './realtime-parts.ts'
import type { RealtimeDrop } from './statistics.ts'
import type { Credential } from './tokens.ts'

/** Close codes of RFC 6455 and its registry. After each of them, clients connect again. */
export const closeCodes = { goingAway: 1001, policyViolation: 1008, restart: 1012, tryAgainLater: 1013 } as const

/** Milliseconds without a message from the client after which the connection is closed. */
const longestSilence = 60_000
/** Milliseconds after which a connection without a channel is closed. */
const longestIdle = 600_000
/** Bytes of a message that is read in several turns of the event loop. */
const largeFrame = 128 * 1024
/** Milliseconds after a close frame until the connection ends, also if the client does not respond to it. */
const closeTimeout = 2000

export type SocketOptions = {
  readonly socket: WebSocket
  /** The connection that carries the WebSocket. */
  readonly carrier: Duplex
  readonly version: SerializerVersion
  readonly credential: Credential
  readonly observer: SocketObserver
  /** Headers of the handshake that policies can read. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly parts: RealtimeParts
}

export class ClientSocket {
  readonly version: SerializerVersion
  readonly headers: SocketOptions['headers']
  readonly credential: Credential
  readonly observer: SocketObserver
  /** Bytes of messages that wait until joins are answered, of what the client tracks, and of its requests to join. */
  readonly waiting: ByteBudget
  readonly presence: ByteBudget
  readonly #requests: ByteBudget
  readonly #socket: WebSocket
  readonly #carrier: Duplex
  readonly #parts: RealtimeParts
  readonly #channels = new Map<string, Channel>()
  readonly #messages = new Allowance()
  readonly #bytes = new Allowance()
  readonly #joins = new Allowance()
  /** Milliseconds, as of `performance.now()`. */
  #lastMessage = performance.now()
  #emptySince = performance.now()
  #closedAt: number | undefined
  /** A large message that is being read, and those that have come meanwhile. */
  #unread: Received[] | undefined
  /** Whether what the client sends is not read any more. */
  #isIgnored = false

  constructor({ socket, carrier, version, credential, observer, headers, parts }: SocketOptions) {
    this.version = version
    this.headers = headers
    this.credential = credential
    this.observer = observer
    this.#socket = socket
    this.#carrier = carrier
    this.#parts = parts
    const most = (): number => parts.settings().realtimeMaxBufferedBytes
    this.waiting = new ByteBudget(most)
    this.presence = new ByteBudget(most)
    this.#requests = new ByteBudget(most)
    // ws closes the connection after an error itself.
    socket.on('error', () => undefined)
    socket.on('message', (data, isBinary) => this.#receive({ data: data as Buffer, isBinary }))
    socket.on('ping', () => this.#countControl())
    socket.on('pong', () => this.#countControl())
    socket.once('close', () => this.#closed())
  }

  get channels(): IterableIterator<Channel> {
    return this.#channels.values()
  }

  /** Sends a frame, unless the connection is closing. Closes it if too much waits for the client already: a single frame may be larger. */
  write(frame: Buffer): void {
    if (this.#closedAt !== undefined || this.#socket.readyState !== this.#socket.OPEN) return
    if (this.#carrier.writableLength > this.#parts.settings().realtimeMaxBufferedBytes) {
      this.#reject('slow client', closeCodes.tryAgainLater, 'The client reads too slowly')
      return
    }
    this.#parts.statistics.delivered++
    this.#carrier.write(frame)
  }

  reply(joinRef: Ref, ref: Ref, topic: string, status: 'ok' | 'error', response: string): void {
    const payload = `{"status":"${status}","response":${response}}`
    this.write(messageFrame(this.version, joinRef, ref, topic, 'phx_reply', payload))
  }

  /** Called by a channel that has ended. */
  forget(channel: Channel): void {
    if (this.#channels.get(channel.topic) !== channel) return
    this.#channels.delete(channel.topic)
    this.#requests.release(channel.requestBytes)
    this.#parts.statistics.channels--
    if (this.#channels.size === 0) this.#emptySince = performance.now()
  }

  close(code: number, reason: string): void {
    if (this.#closedAt !== undefined) return
    this.#closedAt = performance.now()
    this.#disposeChannels()
    this.#socket.close(code, reason)
  }

  /** Closes the connection because the settings have changed, so that its client connects and joins again. */
  disconnect(): void {
    for (const channel of this.#channels.values()) channel.system('system', 'ok', disconnecting)
    this.close(closeCodes.restart, disconnecting)
  }

  /** Called every few seconds. @param now as of `performance.now()` */
  check(now: number): void {
    if (this.#closedAt !== undefined) {
      if (now - this.#closedAt > closeTimeout) this.#socket.terminate()
    } else if (now - this.#lastMessage > longestSilence) {
      this.#reject('silent client', closeCodes.goingAway, 'No message within 60 seconds')
    } else if (this.#channels.size === 0 && now - this.#emptySince > longestIdle) {
      this.#reject('no channel', closeCodes.goingAway, 'No channel within 10 minutes')
    }
  }

  #reject(drop: RealtimeDrop, code: number, reason: string): void {
    this.#parts.statistics.drop(drop)
    this.close(code, reason)
    // The rest of a flood is not read.
    if (code === closeCodes.policyViolation) {
      this.#isIgnored = true
      this.#socket.pause()
    }
  }

  #closed(): void {
    this.#closedAt ??= performance.now()
    this.#disposeChannels()
  }

  #disposeChannels(): void {
    for (const channel of [...this.#channels.values()]) channel.dispose()
  }

  /** Pings and pongs cost time, too. */
  #countControl(): void {
    this.#lastMessage = performance.now()
    if (!this.#mayMessage(this.#lastMessage)) {
      this.#reject('too many messages', closeCodes.policyViolation, tooManyMessages)
    }
  }

  #mayMessage(now: number): boolean {
    return this.#messages.take(1, this.#parts.settings().realtimeMaxEventsPerSecond, now)
  }

  #receive(frame: ReceivedFrame): void {
    // After the server's close frame, clients may send more.
    if (this.#closedAt !== undefined) return
    const { statistics, settings } = this.#parts
    const now = performance.now()
    this.#lastMessage = now
    statistics.received++
    const isWithin = this.#mayMessage(now)
    if (!this.#bytes.take(frame.data.length, settings().realtimeMaxBytesPerSecond, now)) {
      this.#reject('too many bytes', closeCodes.policyViolation, 'Too many bytes per second')
      return
    }
    const received = { frame, isWithin }
    if (this.#unread) this.#unread.push(received)
    else if (frame.data.length > largeFrame) void this.#readSlowly(received)
    else this.#take(readFrame(frame, this.version), received)
  }

  /** Reads a large message, and in their order those that come meanwhile. */
  async #readSlowly(first: Received): Promise<void> {
    const unread = (this.#unread = [first])
    // Few come meanwhile: those of which the bytes have been read.
    this.#socket.pause()
    for (let next = unread.shift(); next && this.#closedAt === undefined; next = unread.shift()) {
      this.#take(await readLargeFrame(next.frame, this.version), next)
    }
    this.#unread = undefined
    if (!this.#isIgnored) this.#socket.resume()
  }

  #take(message: ClientMessage | undefined, { frame, isWithin }: Received): void {
    if (this.#closedAt !== undefined) return
    const { statistics, onError } = this.#parts
    const channel = message && this.#channels.get(message.topic)
    if (!isWithin) {
      if (channel) {
        statistics.drop('too many messages')
        channel.end(tooManyMessages)
      } else this.#reject('too many messages', closeCodes.policyViolation, tooManyMessages)
      return
    }
    if (!message) {
      statistics.drop('broken frame')
      return
    }
    try {
      this.#handle(message, frame, channel, performance.now())
    } catch (error) {
      // Of a message that no code has foreseen.
      onError(error)
    }
  }

  #handle(message: ClientMessage, frame: ReceivedFrame, channel: Channel | undefined, now: number): void {
    const { topic, event, joinRef, ref } = message
    if (event === 'phx_join') this.#join(message, frame.data.length, channel, now)
    else if (channel) {
      if (event !== 'phx_leave') channel.handle(message, frame)
      else if (joinRef === null || joinRef === channel.joinRef) channel.leave(message)
    } else if (topic === 'phoenix' && event === 'heartbeat') this.reply(joinRef, ref, topic, 'ok', '{}')
    // A client may leave a channel that the server has ended.
    else if (event === 'phx_leave') this.reply(joinRef, ref, topic, 'ok', '{}')
    else this.reply(joinRef, ref, topic, 'error', unmatched)
  }

  #join(message: ClientMessage, bytes: number, before: Channel | undefined, now: number): void {
    const { topic, joinRef, ref, payload } = message
    const name = topic.startsWith(prefix) ? topic.slice(prefix.length) : undefined
    const { settings, statistics } = this.#parts
    const { realtimeMaxJoinsPerSecond, realtimeMaxChannelsPerClient, realtimePrivateOnly } = settings()
    const refuse = (reason: string): void => this.reply(joinRef, ref, topic, 'error', JSON.stringify({ reason }))
    before?.replace()
    if (name === undefined) this.reply(joinRef, ref, topic, 'error', unmatched)
    else if (name === '') refuse('TopicNameRequired: You must provide a topic name')
    else if (name.length > longestTopic)
      refuse(`TopicNameRequired: A topic name has at most ${longestTopic} characters`)
    else if (!this.#joins.take(1, realtimeMaxJoinsPerSecond, now)) {
      refuse('ClientJoinRateLimitReached: Too many joins per second')
      this.#reject('too many joins', closeCodes.tryAgainLater, 'Too many joins per second')
    } else if (this.#channels.size >= realtimeMaxChannelsPerClient) {
      statistics.drop('too many channels')
      refuse('ChannelRateLimitReached: Too many channels')
    } else if (!this.#requests.take(bytes)) {
      statistics.drop('too many channels')
      refuse(
        `ChannelRateLimitReached: The joins of a client have at most ${this.#requests.most} bytes, and there is no room for this one`,
      )
    } else {
      const request = readJoin(payload, name)
      if (realtimePrivateOnly && !request.isPrivate) {
        this.#requests.release(bytes)
        statistics.drop('not permitted')
        refuse('PrivateOnly: This project only allows private channels')
        return
      }
      // Clients of version 1.0.0 may leave the reference of the join out.
      const channel = new Channel(
        { socket: this, name, joinRef: joinRef ?? ref, request, requestBytes: bytes },
        this.#parts,
      )
      this.#channels.set(topic, channel)
      statistics.channels++
      void channel.join(ref)
    }
  }
}

/** A message, and whether it was within the messages per second when it came. */
type Received = { readonly frame: ReceivedFrame; readonly isWithin: boolean }

/** What all topics of channels begin with. */
const prefix = 'realtime:'
const longestTopic = 1000
const unmatched = '{"reason":"unmatched topic"}'
const disconnecting = 'Server requested disconnect'
const tooManyMessages = 'Too many messages per second'
