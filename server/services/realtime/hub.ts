// The topics of this process, and what is sent to their members.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { SharedTurns } from '../../common/shared-turns.ts'
import { TextEvent, type Delivery } from './frames.ts'
import { PresenceList } from './presence.ts'

/** Members that get a message before other work of the process has its turn. */
const membersAtOnce = 1000

/** What the hub knows of a channel. */
export type Member = {
  /** Its number in this process. */
  readonly number: number
  readonly room: Room
  /** Whether its client tracks its presence. */
  readonly isPresent: boolean
  readonly deliver: (delivery: Delivery) => void
  /** Ends the channel if its token has expired. @param now milliseconds since 1970 */
  readonly checkExpiry: (now: number) => void
}

/** Bytes of messages of a topic that wait for their turn. Broadcasts that come while there are more are dropped. */
const mostWaiting = 16 * 1024 * 1024
/** Bytes that a message takes in addition to its frame. */
const messageBytes = 256

type Waiting = { readonly delivery: Delivery; readonly except: Member | undefined; readonly bytes: number }

/** A topic: of one name, the public and the private one have nothing in common. */
export class Room {
  /** Without `realtime:`. */
  readonly topic: string
  readonly isPrivate: boolean
  readonly channels = new Set<Member>()
  readonly presence = new PresenceList()
  /** Messages that wait, because a message to many members is on its way. */
  #waiting: Waiting[] = []
  #waitingBytes = 0
  #isSending = false
  #isDiffDue = false
  #isDiffWaiting = false

  constructor(topic: string, isPrivate: boolean) {
    this.topic = topic
    this.isPrivate = isPrivate
  }

  /**
   * @param except does not get the message
   * @returns false if it is dropped, because the members cannot be given as much as comes
   */
  send(delivery: Delivery, except?: Member): boolean {
    if (this.#isSending || this.channels.size > membersAtOnce) return this.#sendLater(delivery, except)
    for (const channel of this.channels) if (channel !== except) channel.deliver(delivery)
    return true
  }

  /** Sends what has changed of the presence to all members, once for all changes of this turn of the event loop. */
  presenceChanged(): void {
    if (this.#isDiffDue) return
    this.#isDiffDue = true
    setImmediate(() => this.sendDiff())
  }

  sendDiff(): void {
    // Further changes are part of the diff that follows the one that waits, so that there are never many.
    this.#isDiffDue = this.#isDiffWaiting
    if (this.#isDiffDue) return
    const diff = this.presence.takeDiff()
    if (diff !== undefined) this.send(new TextEvent('presence', this.topic, 'presence_diff', diff))
  }

  #sendLater(delivery: Delivery, except: Member | undefined): boolean {
    // Without its diffs, presence would be wrong from then on.
    if (delivery.kind === 'broadcast' && this.#waitingBytes > mostWaiting) return false
    const bytes = messageBytes + ((delivery.frame(2) ?? delivery.frame(1))?.length ?? 0)
    this.#waiting.push({ delivery, except, bytes })
    this.#waitingBytes += bytes
    if (delivery.kind === 'presence') this.#isDiffWaiting = true
    if (!this.#isSending) void this.#sendWaiting()
    return true
  }

  async #sendWaiting(): Promise<void> {
    this.#isSending = true
    while (this.#waiting.length > 0) {
      // The last one is taken out without moving others, of which there may be many.
      const taken = this.#waiting.reverse()
      this.#waiting = []
      for (let first = taken.pop(); first; first = taken.pop()) await this.#sendSlowly(first)
    }
    this.#isSending = false
  }

  async #sendSlowly({ delivery, except, bytes }: Waiting): Promise<void> {
    this.#waitingBytes -= bytes
    if (delivery.kind === 'presence') {
      this.#isDiffWaiting = false
      if (this.#isDiffDue) this.sendDiff()
    }
    const turns = deliveryTurns()
    for (const member of [...this.channels]) {
      if (member !== except && this.channels.has(member)) member.deliver(delivery)
      const turn = turns.add()
      if (turn) await turn
    }
    await nextTurn()
  }
}

/** What other processes must learn. */
export type HubObserver = {
  /** A member of this process or a request has sent a message. */
  readonly onBroadcast: (room: Room, delivery: Delivery) => void
  /** The presence entry of a channel of this process was set, or deleted. */
  readonly onPresence: (room: Room, channel: Member) => void
  /** The process has its first channel, or has lost its last one. */
  readonly onUse: (isUsed: boolean) => void
}

const noObserver: HubObserver = {
  onBroadcast: () => undefined,
  onPresence: () => undefined,
  onUse: () => undefined,
}

/** What a message without members takes, in members. */
const messageCost = 5

/** For those who publish many messages: `Hub.costOf` is what each of them adds. */
export const deliveryTurns = (): SharedTurns => new SharedTurns(membersAtOnce)

export class Hub {
  readonly #rooms = new Map<string, Room>()
  readonly #channels = new Set<Member>()
  observer: HubObserver = noObserver

  get channels(): ReadonlySet<Member> {
    return this.#channels
  }

  get rooms(): IterableIterator<Room> {
    return this.#rooms.values()
  }

  /** The topic, if it has members or presence. */
  find(topic: string, isPrivate: boolean): Room | undefined {
    return this.#rooms.get(keyOf(topic, isPrivate))
  }

  /** What a message of a topic costs in this process, in members that get it. */
  costOf(topic: string, isPrivate: boolean): number {
    return messageCost + (this.find(topic, isPrivate)?.channels.size ?? 0)
  }

  room(topic: string, isPrivate: boolean): Room {
    const key = keyOf(topic, isPrivate)
    let room = this.#rooms.get(key)
    if (!room) this.#rooms.set(key, (room = new Room(topic, isPrivate)))
    return room
  }

  /**
   * Sends a message to all members of a topic, also those of other processes.
   *
   * @param except does not get it
   * @returns false if it is dropped: see `Room`
   */
  publish(room: Room, delivery: Delivery, except?: Member): boolean {
    if (!room.send(delivery, except)) return false
    this.observer.onBroadcast(room, delivery)
    this.forgetIfEmpty(room)
    return true
  }

  add(channel: Member): void {
    channel.room.channels.add(channel)
    this.#channels.add(channel)
    if (this.#channels.size === 1) this.observer.onUse(true)
  }

  delete(channel: Member): void {
    if (!this.#channels.delete(channel)) return
    const { room } = channel
    room.channels.delete(channel)
    this.untrack(channel)
    this.forgetIfEmpty(room)
    if (this.#channels.size === 0) this.observer.onUse(false)
  }

  /** Call this when a channel has set its presence entry. */
  tracked(channel: Member): void {
    channel.room.presenceChanged()
    this.observer.onPresence(channel.room, channel)
  }

  untrack(channel: Member): void {
    if (!channel.room.presence.delete(channel)) return
    channel.room.presenceChanged()
    this.observer.onPresence(channel.room, channel)
  }

  forgetIfEmpty(room: Room): void {
    if (room.channels.size === 0 && room.presence.size === 0) this.#rooms.delete(keyOf(room.topic, room.isPrivate))
  }
}

const keyOf = (topic: string, isPrivate: boolean): string => (isPrivate ? `private:${topic}` : `public:${topic}`)
