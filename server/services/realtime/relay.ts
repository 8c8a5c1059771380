// Connects the processes that serve the same database: broadcasts, presence and ends of sessions, by NOTIFY.
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../../postgres/database.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { ListenerEvent } from '../../postgres/listener.ts'
import { arrayText } from '../../rest/sql/parameter.ts'
import { isUuid } from '../../text/uuid.ts'
import type { Delivery } from './frames.ts'
import type { Hub, HubObserver, Member, Room } from './hub.ts'
import { bytesOf, payloadsOf, RelayReader, type RelayMessage } from './relay-messages.ts'
import type { RealtimeStatistics } from './statistics.ts'

/** The channel that triggers of `sql/migrations` notify, too. */
const relayChannel = 'rowhouse_realtime'
/** The listening connections of all processes have it, with the name of the process. */
const namePrefix = 'rowhouse realtime '
/** Milliseconds between two checks whether the others still run, and for which an answer is known. */
const peerInterval = 2000
/** Milliseconds for which the process listens after its last channel. */
const lingering = 60_000
/** Milliseconds after which the secret is read again, while the database does not respond. */
const secretPause = 1000
/** Bytes that may wait for the database. */
const mostWaiting = 16 * 1024 * 1024

const notify = new JsonStatement(`select pg_notify('${relayChannel}', part) from unnest($1::text[]) as part`, {
  access: 'write',
})

const listening = new JsonStatement(
  `select distinct application_name from pg_stat_activity
    where datname = current_database() and starts_with(application_name, '${namePrefix}')`,
  { access: 'read', hasNoEffect: true },
)

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
  readonly onError: (error: unknown) => void
}

export class Relay implements HubObserver {
  readonly #options: RelayOptions
  readonly #name = randomBytes(9).toString('base64url')
  #secret: Buffer | undefined
  #reader: RelayReader | undefined
  readonly #peers = new Set<string>()
  #peersKnownAt = -Infinity
  #number = 0
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #sending: Promise<void> | undefined
  #listener: Promise<() => Promise<void>> | undefined
  #isListening = false
  #watch: NodeJS.Timeout | undefined
  #lingering: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: RelayOptions) {
    this.#options = options
  }

  /** Number of other processes. */
  get peers(): number {
    return this.#peers.size
  }

  onUse(isUsed: boolean): void {
    clearTimeout(this.#lingering)
    if (isUsed) this.#listen()
    else this.#lingering = setTimeout(() => void this.#stopListening(), lingering).unref()
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
    return database.listenAs(namePrefix + this.#name, relayChannel, (event) => this.#onEvent(event))
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
    this.#isListening = false
    this.#forgetPeers(() => true)
    await (
      await listener
    )()
  }

  #onEvent(event: ListenerEvent): void {
    if (event.kind === 'notified') this.#receive(event.payload)
    else if (event.kind === 'lost') this.#isListening = false
    else {
      this.#isListening = true
      this.#options.onMissed()
      this.#forgetPeers(() => true)
      // It may be another database by now.
      Promise.all([this.#readSecret(), this.#askPeers()]).then(() => {
        if (this.#peers.size === 0) return
        this.#send({ kind: 'hello' })
        // The hello of a process that has begun to listen at the same time may have come too early.
        this.#sendPresence()
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
    if (message?.kind !== 'bye') this.#peers.add(sender)
    if (message) this.#apply(sender, message)
    if (isNew || message?.kind === 'hello') this.#sendPresence()
  }

  #apply(sender: string, message: RelayMessage): void {
    const { hub } = this.#options
    switch (message.kind) {
      case 'hello':
        return
      case 'bye':
        this.#forgetPeers((peer) => peer === sender)
        return
      case 'send':
        hub.find(message.topic, message.isPrivate)?.send(message.delivery)
        return
      case 'presence': {
        const { topic, isPrivate, owner, entry } = message
        const room = entry ? hub.room(topic, isPrivate) : hub.find(topic, isPrivate)
        if (!room) return
        if (entry) room.presence.set(`${sender} ${owner}`, entry)
        else room.presence.delete(`${sender} ${owner}`)
        room.presenceChanged()
        hub.forgetIfEmpty(room)
        return
      }
      default:
        message satisfies never
    }
  }

  /** Tells the others who is present here. */
  #sendPresence(): void {
    for (const channel of this.#options.hub.channels) {
      if (channel.isPresent) this.#send(this.#presenceOf(channel.room, channel))
    }
  }

  async #askPeers(): Promise<void> {
    // Those who report themselves meanwhile may not have listened yet when the database answered.
    const known = new Set(this.#peers)
    const rows = await this.#options.database.askRows(listening, undefined, [])
    this.#peersKnownAt = performance.now()
    const names = new Set(rows.map(([name]) => (name ?? '').slice(namePrefix.length)))
    names.delete(this.#name)
    this.#forgetPeers((peer) => known.has(peer) && !names.has(peer))
    for (const name of names) this.#peers.add(name)
  }

  /** Forgets other processes, and who is present there. */
  #forgetPeers(isGone: (peer: string) => boolean): void {
    const gone = new Set([...this.#peers].filter(isGone))
    if (gone.size === 0) return
    for (const peer of gone) {
      this.#peers.delete(peer)
      this.#reader?.forget(peer)
    }
    const { hub } = this.#options
    for (const room of [...hub.rooms]) {
      room.presence.deleteWhere((owner) => typeof owner === 'string' && gone.has(owner.split(' ', 1)[0] ?? ''))
      room.presenceChanged()
      hub.forgetIfEmpty(room)
    }
  }

  #send(message: RelayMessage): void {
    // While the process does not listen, others do not report themselves.
    const isKnown = this.#isListening || performance.now() - this.#peersKnownAt < peerInterval
    if (isKnown && this.#peers.size === 0) return
    const bytes = bytesOf(message)
    if (this.#waitingBytes + bytes.length > mostWaiting) {
      this.#options.statistics.drop('not relayed')
      return
    }
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    this.#sending ??= this.#sendAll(isKnown).finally(() => (this.#sending = undefined))
  }

  /** Sends what waits, in one statement for all that has come meanwhile. */
  async #sendAll(isKnown: boolean): Promise<void> {
    const { database, statistics, onError } = this.#options
    try {
      if (!isKnown) await this.#askPeers()
      const secret = this.#secret ?? (await this.#readSecret())
      while (this.#waiting.length > 0) {
        const messages = this.#waiting
        this.#waiting = []
        this.#waitingBytes = 0
        if (this.#peers.size > 0) {
          const payloads = messages.flatMap((bytes) => payloadsOf(secret, this.#name, this.#number++, bytes))
          await database.askRows(notify, undefined, [arrayText(payloads)])
        }
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
