// One topic that a socket has joined.
import { setTimeout as pause } from 'node:timers/promises'
import type { SocketObserver } from '../../common/socket-observer.ts'
import { BeforeJoin } from './before-join.ts'
import type { ByteBudget } from './byte-budget.ts'
import {
  messageFrame,
  readFrame,
  type ClientMessage,
  type Delivery,
  type ReceivedFrame,
  type Ref,
  type SerializerVersion,
} from './frames.ts'
import { ChannelBroadcasts } from './channel-broadcasts.ts'
import { ChannelChanges } from './channel-changes.ts'
import { ChannelPresence, type PresenceChannel } from './channel-presence.ts'
import {
  allRights,
  joinPermission,
  noDatabase,
  permissionOf,
  type ChannelRights,
  type PermissionRequest,
} from './channel-permission.ts'
import { ChannelTokens } from './channel-tokens.ts'
import { mostConditions, tooManyConditions } from './changes/row-changes.ts'
import type { Member, Room } from './hub.ts'
import type { JoinRequest } from './join.ts'
import { ChannelRefused } from './realtime-error.ts'
import type { RealtimeParts } from './realtime-parts.ts'
import { expiredText, joinError, TokenRefused, type Credential } from './tokens.ts'

/** Milliseconds within which broadcasts from the database must be available for clients that wait for them. */
const readinessTimeout = 60_000
const readinessPause = 1000

/** What a channel uses of its socket. */
export type ChannelSocket = {
  readonly version: SerializerVersion
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly credential: Credential
  /** Records what decides on a join. */
  readonly observer: SocketObserver
  /** Bytes that wait until joins are answered, and of what the client tracks, in all of its channels. */
  readonly waiting: ByteBudget
  readonly presence: ByteBudget
  readonly write: (frame: Buffer) => void
  readonly reply: (joinRef: Ref, ref: Ref, topic: string, status: 'ok' | 'error', response: string) => void
  /** Called when the channel has ended. */
  readonly forget: (channel: Channel) => void
}

export type ChannelOptions = {
  readonly socket: ChannelSocket
  /** Its topic without `realtime:`. */
  readonly name: string
  readonly joinRef: Ref
  readonly request: JoinRequest
  /** Bytes of the request, which is kept. */
  readonly requestBytes: number
}

/** The last event of a channel. After `phx_error`, clients join again; after `phx_close`, they do not. */
export type LastEvent = 'phx_close' | 'phx_error'

let channels = 0

export class Channel implements Member {
  readonly number = channels++
  readonly socket: ChannelSocket
  /** Its topic without `realtime:`. */
  readonly name: string
  readonly request: JoinRequest
  readonly requestBytes: number
  readonly joinRef: Ref
  readonly #parts: RealtimeParts
  #credential: Credential
  #rights: ChannelRights = allRights
  readonly #broadcasts: ChannelBroadcasts
  readonly #presence: ChannelPresence
  /** What comes before the join is answered; undefined afterwards. */
  #before: BeforeJoin | undefined
  #isEnded = false
  #room: Room | undefined
  #changes: ChannelChanges | undefined
  readonly #tokens: ChannelTokens

  constructor({ socket, name, joinRef, request, requestBytes }: ChannelOptions, parts: RealtimeParts) {
    this.socket = socket
    this.name = name
    this.request = request
    this.requestBytes = requestBytes
    this.joinRef = joinRef
    this.#before = new BeforeJoin(socket.waiting, socket.version)
    this.#parts = parts
    this.#credential = socket.credential
    this.#broadcasts = new ChannelBroadcasts(this, parts)
    this.#presence = new ChannelPresence(this, parts)
    this.#tokens = new ChannelTokens({
      current: () => (this.#isEnded ? undefined : this.#credential.token),
      apply: (token) => this.#apply(token),
      onError: (error) => this.#endForToken(error),
    })
  }

  get credential(): Credential {
    return this.#credential
  }

  /** With `realtime:`. */
  get topic(): string {
    return `realtime:${this.name}`
  }

  /** The topic that the channel is a member of, once it may join. */
  get room(): Room {
    return (this.#room ??= this.#parts.hub.room(this.name, this.request.isPrivate))
  }

  /** Whether the client tracks its presence. */
  get isPresent(): boolean {
    return this.#presence.isTracked
  }

  get broadcastRights(): ChannelRights['broadcast'] {
    return this.#rights.broadcast
  }

  get presenceRights(): PresenceChannel['presenceRights'] {
    return this.#rights.presence
  }

  /** Joins, and answers the request. Never rejects. */
  async join(ref: Ref): Promise<void> {
    const { request } = this
    try {
      const asked = this.#asked(request.token ?? this.socket.credential.token)
      const { credential, rights } = await joinPermission(this.socket.observer, this.#parts, asked)
      if (this.#isEnded) return
      this.#credential = credential
      this.#rights = rights
      // From here on, what is sent to the topic is held for the channel, so that nothing is missing between stored and new messages.
      this.#parts.hub.add(this)
      this.#parts.statistics.joins++
      const stored = await this.#broadcasts.stored()
      const changes = await this.#subscribe(credential)
      if (this.#isEnded) return
      this.reply(ref, 'ok', `{"postgres_changes":${changes?.response ?? '[]'}}`)
      for (const broadcast of stored) this.#write(broadcast)
      if (this.#presence.isEnabled) this.#presence.sendState()
      this.#release()
      changes?.announce()
      if (request.wantsReadiness) void this.#announceReadiness()
    } catch (error) {
      if (this.#isEnded) return
      const refused = joinError(error)
      if (!(refused instanceof ChannelRefused)) this.#parts.onError(error)
      this.reply(ref, 'error', JSON.stringify({ reason: reasonOf(refused) }))
      this.#parts.statistics.drop('not permitted')
      this.dispose()
    }
  }

  /** Sends a message of the topic, if the channel may have it. */
  deliver(delivery: Delivery): void {
    if (this.#before) {
      if (!this.#isEnded && !this.#before.hold(delivery)) this.#parts.statistics.drop('crowded topic')
      return
    }
    const isSeen = delivery.kind === 'broadcast' ? this.#rights.broadcast.read : this.#presence.isSeen
    if (isSeen && !this.#broadcasts.hasReplayed(delivery)) this.#write(delivery)
  }

  /** A message of the client, but `phx_join` and `phx_leave`. */
  handle(message: ClientMessage, frame: ReceivedFrame): void {
    if (this.#isEnded) return
    // The rights are not known yet.
    if (this.#before) this.#keep(message, frame, this.#before)
    else this.#handleNow(message)
  }

  #keep({ ref }: ClientMessage, frame: ReceivedFrame, before: BeforeJoin): void {
    const reason = before.keep(frame)
    if (reason === undefined) return
    this.#parts.statistics.drop('too many messages')
    this.reply(ref, 'error', JSON.stringify({ reason }))
  }

  #handleNow(message: ClientMessage): void {
    switch (message.event) {
      case 'broadcast':
        this.#broadcasts.send(message)
        return
      case 'presence':
        this.#presence.handle(message)
        return
      case 'access_token':
        this.#tokens.receive(message.payload)
        return
      default:
        // As the original, which only logs them.
        return
    }
  }

  leave({ ref }: ClientMessage): void {
    this.reply(ref, 'ok', '{}')
    this.#sendLast('phx_close')
    this.dispose()
  }

  /** Ends the channel, and says why. */
  end(message: string, last: LastEvent = 'phx_close'): void {
    if (this.#isEnded) return
    this.system('system', 'error', message)
    this.#sendLast(last)
    this.dispose()
  }

  /** Ends the channel because the client joins its topic again. */
  replace(): void {
    this.#sendLast('phx_close')
    this.dispose()
  }

  /** Ends the channel without a message. */
  dispose(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#before?.take()
    this.#changes?.end()
    this.#presence.forget()
    this.#parts.hub.delete(this)
    this.socket.forget(this)
  }

  /** Ends the channel if its token has expired. @param now milliseconds since 1970 */
  checkExpiry(now: number): void {
    const { expiresAt } = this.#credential
    if (expiresAt * 1000 > now) return
    this.#parts.statistics.drop('token expired')
    // The client may have a new token by now, so it may join again.
    this.end(expiredText(expiresAt, now), 'phx_error')
  }

  /** Sends the message `system`. */
  system(
    extension: 'system' | 'postgres_changes',
    status: 'ok' | 'error',
    message: string,
    more: { readonly code?: string; readonly position?: string | undefined } = {},
  ): void {
    this.push('system', JSON.stringify({ extension, status, message, channel: this.name, ...more }))
  }

  /** Sends a message to the client of this channel alone. */
  push(event: string, payload: string): void {
    this.socket.write(messageFrame(this.socket.version, this.joinRef, null, this.topic, event, payload))
  }

  /** Replies to a message of the client. */
  reply(ref: Ref, status: 'ok' | 'error', response: string): void {
    this.socket.reply(this.joinRef, ref, this.topic, status, response)
  }

  #sendLast(event: LastEvent): void {
    const { version } = this.socket
    this.socket.write(messageFrame(version, this.joinRef, this.joinRef, this.topic, event, '{}'))
  }

  #write(delivery: Delivery): void {
    const frame = delivery.frame(this.socket.version)
    if (frame) this.socket.write(frame)
  }

  /** Sends what was held, and handles what the client has sent meanwhile. */
  #release(): void {
    const { held, early } = this.#before?.take() ?? { held: [], early: [] }
    this.#before = undefined
    for (const delivery of held) this.deliver(delivery)
    for (const frame of early) {
      const message = readFrame(frame, this.socket.version)
      if (message) this.handle(message, frame)
    }
  }

  #asked(token: string): PermissionRequest {
    const { name: topic, socket, request } = this
    const { isPrivate } = request
    return { token, topic, isPrivate, isPresenceEnabled: this.#presence.isEnabled, headers: socket.headers }
  }

  async #subscribe({ identity }: Credential): Promise<ChannelChanges | undefined> {
    const { length } = this.request.bindings
    if (length === 0) return undefined
    if (length > mostConditions) throw new ChannelRefused('RealtimeDisabledForConfiguration', tooManyConditions)
    this.#changes = new ChannelChanges(this, this.#parts.changes, this.#parts.statistics)
    await this.#changes.start(identity)
    return this.#changes
  }

  async #announceReadiness(): Promise<void> {
    const { feed } = this.#parts
    const signal = AbortSignal.timeout(readinessTimeout)
    let isReady = false
    while (!isReady && !signal.aborted && !this.#isEnded) {
      isReady = await feed.whenReading(signal).then(
        () => true,
        () => false,
      )
      // What is missing may be mended in time.
      if (!isReady) await pause(readinessPause, undefined, { ref: false })
    }
    if (this.#isEnded) return
    if (isReady) this.system('system', 'ok', 'Replication connection established')
    else this.end('Replication connection was not established in time')
  }

  /** Ends the channel because the client's new token cannot be applied. */
  #endForToken(error: unknown): void {
    if (error instanceof TokenRefused || error instanceof ChannelRefused) {
      this.#parts.statistics.drop('invalid token')
      const mayCome = error instanceof TokenRefused && error.problem === 'unavailable'
      this.end(error.message, mayCome ? 'phx_error' : undefined)
    } else {
      this.#parts.onError(error)
      this.end(noDatabase, 'phx_error')
    }
  }

  async #apply(token: string): Promise<void> {
    const { credential, rights } = await permissionOf(this.#parts, this.#asked(token))
    const { broadcast, presence } = this.#rights
    const hasLostRight =
      (broadcast.read && !rights.broadcast.read) || (this.#presence.isEnabled && presence.read && !rights.presence.read)
    if (hasLostRight) {
      throw new ChannelRefused(
        'Unauthorized',
        `You no longer have permission to read from this Channel topic: ${this.name}`,
      )
    }
    if (this.#isEnded) return
    this.#credential = credential
    this.#rights = rights
    await this.#changes?.changeIdentity(credential.identity)
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof ChannelRefused ? `${error.code}: ${error.message}` : 'Unknown Error on Channel'
