// Connects the processes that serve the same database: broadcasts, presence, ends of sessions, and whether a process has subscribers to
// changes of rows, by NOTIFY.
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { SharedTurns } from '../../common/shared-turns.ts'
import type { Database } from '../../postgres/database.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { ListenerEvent } from '../../postgres/listener.ts'
import { arrayText } from '../../rest/sql/parameter.ts'
import { isUuid } from '../../text/uuid.ts'
import type { Delivery } from './frames.ts'
import type { Hub, HubObserver, Member, Room } from './hub.ts'
import { noticePeers, peerNames, peerPrefix } from './peer-notice.ts'
import type { PresenceEntry } from './presence.ts'
import { bytesOf, payloadsOf, RelayReader, type PresenceMessage, type RelayMessage } from './relay-messages.ts'
import type { RealtimeStatistics } from './statistics.ts'

/** The channel that triggers of `sql/migrations` notify, too. */
const relayChannel = 'rowhouse_realtime'
/** Milliseconds between two checks whether the others still run, and for which an answer is known. */
const peerInterval = 2000
/** Milliseconds for which the process listens after its last channel. */
const lingering = 60_000
/** Milliseconds after which the secret is read again, while the database does not respond. */
const secretPause = 1000
/** Bytes that may wait for the database. */
const mostWaiting = 16 * 1024 * 1024
/** Payloads of a statement, and those that are sealed before others have their turn. */
const mostTogether = 200
const sealedAtOnce = 50

const notify = new JsonStatement(`select pg_notify('${relayChannel}', part) from unnest($1::text[]) as part`, {
  access: 'write',
})

const secretOfServers = new JsonStatement(`select encode(secret, 'hex') from rowhouse.realtime_secret`, {
  access: 'read',
  hasNoEffect: true,
})

export type RelayOptions = {
  readonly database: Pick<Database, 'askRows' | 'listenAs'>
  readonly hub: Hub
  readonly statistics: RealtimeStatistics
  /** It is said that a session, or all sessions of a user, have ended. Every role of the database may say so. */
  readonly onEnd: (isEnded: (session: string, user: string | null) => boolean) => void
  /** Ends of sessions may have been missed. */
  readonly onMissed: () => void
  /** Another process has subscribers to changes of rows, or no other has any more. */
  readonly onPeersSubscribed: (areSubscribed: boolean) => void
  /** The last change before a place in the log, from which on another process reads. Undefined if it is not known. */
  readonly newestBefore: (place: bigint) => Promise<string | undefined>
  /** What another process knows of the place from which on this one reads. */
  readonly onNewest: (position: string, before: bigint) => void
  readonly onError: (error: unknown) => void
}

/** A channel of another process whose client is present. */
type PresentChannel = { readonly room: Room }

/** Another process. */
type Peer = {
  hasSubscribers: boolean
  /** By their numbers there. */
  readonly present: Map<number, PresentChannel>
}

export class Relay implements HubObserver {
  readonly #options: RelayOptions
  readonly #name = randomBytes(9).toString('base64url')
  #secret: Buffer | undefined
  #reader: RelayReader | undefined
  readonly #peers = new Map<string, Peer>()
  /** When the database was last asked for them, as `performance.now()`. */
  #peersKnownAt = -Infinity
  #number = 0
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #sending: Promise<void> | undefined
  #listener: Promise<() => Promise<void>> | undefined
  /** As `performance.now()`; undefined while the process does not listen. */
  #listeningSince: number | undefined
  #watch: NodeJS.Timeout | undefined
  #lingering: NodeJS.Timeout | undefined
  #isUsed = false
  /** Whether this process has subscribers to changes of rows, and whether others have. */
  #hasSubscribers = false
  #arePeersSubscribed = false
  #isStopped = false

  constructor(options: RelayOptions) {
    this.#options = options
  }

  /** Number of other processes. */
  get peers(): number {
    return this.#peers.size
  }

  onUse(isUsed: boolean): void {
    this.#isUsed = isUsed
    if (isUsed) this.#listen()
    this.#keepListening()
  }

  /** Call this when the process gets its first subscriber to changes of rows, and when it keeps no changes any more after its last one. */
  onSubscribers(hasSubscribers: boolean): void {
    this.#hasSubscribers = hasSubscribers
    this.#send({ kind: 'subscribers', hasSubscribers })
    if (this.#listeningSince !== undefined) this.#noticePeers()
    this.#keepListening()
  }

  /** Call this when the process begins to read the log. */
  onReading(from: bigint): void {
    if (this.#peers.size > 0) this.#send({ kind: 'reading', from })
  }

  /** Finds out whether other processes have subscribers. */
  ask(): void {
    this.#listen()
    this.#keepListening()
  }

  onBroadcast(room: Room, delivery: Delivery): void {
    const { topic, isPrivate } = room
    this.#send({ kind: 'send', topic, isPrivate, delivery })
  }

  onPresence(room: Room, channel: Member): void {
    if (this.#peers.size > 0) this.#send(this.#presenceOf(room, channel))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#lingering)
    await this.#stopListening()
    await this.#sending
  }

  #presenceOf(room: Room, channel: Member): RelayMessage {
    const { topic, isPrivate } = room
    return { kind: 'presence', topic, isPrivate, owner: channel.number, entry: room.presence.entryOf(channel) }
  }

  /** Those without clients do not listen to the relay, so that they must be asked to. They look for processes that listen. */
  #noticePeers(): void {
    if (this.#hasSubscribers) noticePeers(this.#options.database).catch(this.#options.onError)
  }

  #keepListening(): void {
    clearTimeout(this.#lingering)
    if (this.#isUsed || this.#hasSubscribers || this.#arePeersSubscribed) return
    this.#lingering = setTimeout(() => void this.#stopListening(), lingering).unref()
  }

  #listen(): void {
    if (this.#isStopped || this.#listener) return
    this.#listener = this.#startListening()
    this.#watch = setInterval(() => {
      if (this.#peers.size > 0) this.#askPeers().catch(this.#options.onError)
    }, peerInterval).unref()
  }

  /** @returns what stops it */
  async #startListening(): Promise<() => Promise<void>> {
    const { database, onError } = this.#options
    // Messages that come before the secret is known would be lost.
    while (!this.#secret) {
      await this.#readSecret().catch(onError)
      if (this.#secret) break
      await pause(secretPause, undefined, { ref: false })
      if (!this.#listener) return () => Promise.resolve()
    }
    return database.listenAs(peerPrefix + this.#name, relayChannel, (event) => this.#onEvent(event))
  }

  async #readSecret(): Promise<Buffer> {
    const [[text] = []] = await this.#options.database.askRows(secretOfServers, undefined, [])
    const secret = Buffer.from(text ?? '', 'hex')
    // An empty secret would be no secret.
    if (secret.length === 0) throw new Error('The table rowhouse.realtime_secret is empty')
    this.#reader ??= new RelayReader(secret)
    this.#reader.use(secret)
    return (this.#secret = secret)
  }

  async #stopListening(): Promise<void> {
    clearInterval(this.#watch)
    const listener = this.#listener
    this.#listener = undefined
    if (!listener) return
    if (this.#peers.size > 0) this.#send({ kind: 'bye' })
    this.#listeningSince = undefined
    this.#forgetPeers(() => true)
    await (
      await listener
    )()
  }

  #onEvent(event: ListenerEvent): void {
    if (event.kind === 'notified') this.#receive(event.payload)
    else if (event.kind === 'lost') this.#listeningSince = undefined
    else {
      this.#listeningSince = performance.now()
      this.#options.onMissed()
      this.#forgetPeers(() => true)
      this.#noticePeers()
      // It may be another database by now.
      Promise.all([this.#readSecret(), this.#askPeers()]).then(() => {
        if (this.#peers.size === 0) return
        this.#send({ kind: 'hello' })
        // The hello of a process that has begun to listen at the same time may have come too early.
        this.#introduce()
      }, this.#options.onError)
    }
  }

  #receive(payload: string): void {
    const [, what, id = ''] = /^(session|user) (\S+)$/.exec(payload) ?? []
    if (what !== undefined && isUuid(id)) {
      const wanted = id.toLowerCase()
      this.#options.onEnd((session, user) => (what === 'session' ? session : user)?.toLowerCase() === wanted)
      return
    }
    const read = this.#reader?.read(payload)
    if (!read || read.sender === this.#name) return
    const { sender, message } = read
    const isNew = !this.#peers.has(sender)
    if (message?.kind === 'bye') this.#forgetPeers((peer) => peer === sender)
    else this.#apply(this.#peer(sender), message)
    if (isNew || message?.kind === 'hello') this.#introduce()
  }

  #peer(name: string): Peer {
    let peer = this.#peers.get(name)
    if (!peer) this.#peers.set(name, (peer = { hasSubscribers: false, present: new Map() }))
    return peer
  }

  /** @param message undefined: part of one, or one of a newer version of the program */
  #apply(peer: Peer, message: Exclude<RelayMessage, { readonly kind: 'bye' }> | undefined): void {
    switch (message?.kind) {
      case undefined:
      case 'hello':
        return
      case 'send':
        if (this.#options.hub.find(message.topic, message.isPrivate)?.send(message.delivery) === false)
          this.#options.statistics.drop('crowded topic')
        return
      case 'presence':
        if (message.entry) this.#setPresent(peer, message, message.entry)
        else this.#deletePresent(peer, message.owner)
        return
      case 'subscribers':
        peer.hasSubscribers = message.hasSubscribers
        this.#checkSubscribers()
        return
      case 'reading':
        void this.#sendNewest(message.from)
        return
      case 'newest':
        this.#options.onNewest(message.position, message.before)
        return
      default:
        message satisfies never
    }
  }

  async #sendNewest(before: bigint): Promise<void> {
    const position = await this.#options.newestBefore(before)
    if (position !== undefined) this.#send({ kind: 'newest', position, before })
  }

  #setPresent({ present }: Peer, { topic, isPrivate, owner }: PresenceMessage, entry: PresenceEntry): void {
    let channel = present.get(owner)
    if (!channel) present.set(owner, (channel = { room: this.#options.hub.room(topic, isPrivate) }))
    channel.room.presence.set(channel, entry)
    channel.room.presenceChanged()
  }

  #deletePresent({ present }: Peer, owner: number): void {
    const channel = present.get(owner)
    if (!channel) return
    const { room } = channel
    present.delete(owner)
    room.presence.delete(channel)
    room.presenceChanged()
    this.#options.hub.forgetIfEmpty(room)
  }

  #checkSubscribers(): void {
    const areSubscribed = [...this.#peers.values()].some(({ hasSubscribers }) => hasSubscribers)
    if (areSubscribed === this.#arePeersSubscribed) return
    this.#arePeersSubscribed = areSubscribed
    this.#options.onPeersSubscribed(areSubscribed)
    this.#keepListening()
  }

  /** Tells the others who is present here, and whether there are subscribers. */
  #introduce(): void {
    if (this.#hasSubscribers) this.#send({ kind: 'subscribers', hasSubscribers: true })
    for (const channel of this.#options.hub.channels) {
      if (channel.isPresent) this.#send(this.#presenceOf(channel.room, channel))
    }
  }

  async #askPeers(): Promise<void> {
    // Those who report themselves meanwhile may not have listened yet when the database answered.
    const known = new Set(this.#peers.keys())
    const askedAt = performance.now()
    const names = await peerNames(this.#options.database)
    this.#peersKnownAt = askedAt
    this.#forgetPeers((peer) => known.has(peer) && !names.has(peer))
    for (const name of names) if (name !== this.#name) this.#peer(name)
  }

  /** Forgets other processes, and who is present there. */
  #forgetPeers(isGone: (peer: string) => boolean): void {
    for (const [name, peer] of [...this.#peers]) {
      if (!isGone(name)) continue
      this.#peers.delete(name)
      this.#reader?.forget(name)
      for (const owner of [...peer.present.keys()]) this.#deletePresent(peer, owner)
    }
    this.#checkSubscribers()
  }

  /** While the process listens, others report themselves; those that were there before are known when the database has answered. */
  get #arePeersKnown(): boolean {
    return this.#listeningSince === undefined
      ? performance.now() - this.#peersKnownAt < peerInterval
      : this.#peersKnownAt >= this.#listeningSince
  }

  #send(message: RelayMessage): void {
    if (this.#arePeersKnown && this.#peers.size === 0) return
    const bytes = bytesOf(message)
    if (this.#waitingBytes + bytes.length > mostWaiting) {
      this.#options.statistics.drop('not relayed')
      return
    }
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = undefined))
  }

  async #notify(secret: Buffer, messages: readonly Buffer[]): Promise<void> {
    const turns = new SharedTurns(sealedAtOnce)
    let payloads: string[] = []
    const send = async (): Promise<void> => {
      const given = arrayText(payloads)
      payloads = []
      await this.#options.database.askRows(notify, undefined, [given])
    }
    for (const bytes of messages) {
      for (const payload of payloadsOf(secret, this.#name, this.#number++, bytes)) {
        payloads.push(payload)
        if (payloads.length === mostTogether) await send()
        await turns.add()
      }
    }
    if (payloads.length > 0) await send()
  }

  /** Sends what waits, in few statements for all that has come meanwhile. */
  async #sendAll(): Promise<void> {
    const { statistics, onError } = this.#options
    try {
      const secret = this.#secret ?? (await this.#readSecret())
      while (this.#waiting.length > 0) {
        // They are forgotten when the process begins to listen, and must be known again.
        if (!this.#arePeersKnown) await this.#askPeers()
        const messages = this.#waiting
        this.#waiting = []
        this.#waitingBytes = 0
        if (this.#peers.size > 0) await this.#notify(secret, messages)
        // Messages of the same turn of the event loop go together.
        await new Promise((resolve) => setImmediate(resolve))
      }
    } catch (error) {
      this.#waiting = []
      this.#waitingBytes = 0
      statistics.drop('not relayed')
      onError(error)
    }
  }
}
