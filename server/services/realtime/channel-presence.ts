// Whether the client of a channel is present, and what it hears of others who are.
import { randomUUID } from 'node:crypto'
import { isJsonObject } from '../../text/json-object.ts'
import { objectJson, type ClientMessage, type Ref } from './frames.ts'
import type { ByteBudget } from './byte-budget.ts'
import type { Member } from './hub.ts'
import type { JoinRequest } from './join.ts'
import { bytesOf, presenceEntry } from './presence.ts'
import type { RealtimeParts } from './realtime-parts.ts'

/** What presence uses of its channel. */
export type PresenceChannel = Member & {
  readonly request: JoinRequest
  /** `presence`: bytes of what the client tracks, in all of its channels. */
  readonly socket: { readonly presence: ByteBudget }
  readonly presenceRights: { readonly read: boolean; readonly write: boolean }
  readonly reply: (ref: Ref, status: 'ok' | 'error', response: string) => void
  readonly push: (event: string, payload: string) => void
  /** Ends the channel, and says why. */
  readonly end: (message: string) => void
}

export class ChannelPresence {
  readonly #channel: PresenceChannel
  readonly #parts: Pick<RealtimeParts, 'hub' | 'settings' | 'statistics'>
  readonly #key: string
  #isEnabled: boolean
  /** What the client tracks, as JSON. */
  #tracked: string | undefined
  #bytes = 0
  #calls = 0
  #windowEnd = 0

  constructor(channel: PresenceChannel, parts: Pick<RealtimeParts, 'hub' | 'settings' | 'statistics'>) {
    const { presenceKey, isPresenceEnabled } = channel.request
    this.#channel = channel
    this.#parts = parts
    this.#key = presenceKey ?? randomUUID()
    this.#isEnabled = isPresenceEnabled
  }

  /** Whether the client wants presence. */
  get isEnabled(): boolean {
    return this.#isEnabled
  }

  /** Whether the client tracks its presence. */
  get isTracked(): boolean {
    return this.#tracked !== undefined
  }

  /** Whether the client gets `presence_state` and `presence_diff`. */
  get isSeen(): boolean {
    const { presenceRights, request } = this.#channel
    return presenceRights.read && (this.#isEnabled || !request.isPrivate)
  }

  /** Sends who is present. */
  sendState(): void {
    if (!this.isSeen) return
    const { room } = this.#channel
    // Changes before the state are part of it.
    room.sendDiff()
    this.#channel.push('presence_state', room.presence.stateJson())
  }

  /** A message of the client: `track` or `untrack`. */
  handle({ ref, payload }: ClientMessage): void {
    const { event, payload: wanted = {} } = isJsonObject(payload) ? payload : {}
    if (typeof event !== 'string') {
      this.#channel.reply(ref, 'ok', '{}')
      return
    }
    if (!this.#count()) {
      this.#parts.statistics.drop('too many presence messages')
      this.#channel.end('Client presence rate limit exceeded')
      return
    }
    switch (event.toLowerCase()) {
      case 'track':
        this.#track(ref, wanted)
        return
      case 'untrack':
        this.forget()
        this.#parts.hub.untrack(this.#channel)
        this.#channel.reply(ref, 'ok', '{}')
        return
      default:
        this.#channel.reply(ref, 'error', '{}')
    }
  }

  /** The client tracks nothing any more. */
  forget(): void {
    this.#tracked = undefined
    this.#channel.socket.presence.release(this.#bytes)
    this.#bytes = 0
  }

  #track(ref: Ref, wanted: unknown): void {
    if (!this.#channel.presenceRights.write) {
      this.#parts.statistics.drop('not permitted')
      this.#channel.reply(ref, 'error', '{}')
      return
    }
    const json = objectJson(wanted)
    if (json === undefined) {
      this.#channel.reply(ref, 'error', '{"reason":"Presence track payload must be a map"}')
      return
    }
    if (Buffer.byteLength(json) > this.#parts.settings().realtimeMaxPayloadBytes) {
      this.#parts.statistics.drop('payload too large')
      this.#channel.end('Track message size exceeded')
      return
    }
    const refused = json === this.#tracked ? undefined : this.#set(json)
    if (refused !== undefined) {
      this.#parts.statistics.drop('payload too large')
      const reason = `The presence of ${refused}, and there is no room for this one`
      this.#channel.reply(ref, 'error', JSON.stringify({ reason }))
      return
    }
    const isNew = !this.#isEnabled
    this.#isEnabled = true
    this.#channel.reply(ref, 'ok', '{}')
    if (isNew) this.sendState()
  }

  /** @returns undefined, or which limit there is no room in for it */
  #set(json: string): string | undefined {
    const { presence } = this.#channel.room
    const entry = presenceEntry(this.#key, json, presence.entryOf(this.#channel))
    // A client that joins gets all of it at once.
    const most = this.#parts.settings().realtimeMaxBufferedBytes
    if (presence.bytesWith(this.#channel, entry) > most) return `a topic has at most ${most} bytes`
    const bytes = bytesOf(entry)
    const ofClient = this.#channel.socket.presence
    if (!ofClient.take(bytes, this.#bytes)) return `a client has at most ${ofClient.most} bytes in all of its channels`
    this.#bytes = bytes
    this.#tracked = json
    presence.set(this.#channel, entry)
    this.#parts.hub.tracked(this.#channel)
    return undefined
  }

  #count(): boolean {
    const { realtimePresenceMaxCalls: most, realtimePresenceWindowMs: window } = this.#parts.settings()
    const now = performance.now()
    if (now > this.#windowEnd) {
      this.#windowEnd = now + window
      this.#calls = 0
    }
    return ++this.#calls <= most
  }
}
