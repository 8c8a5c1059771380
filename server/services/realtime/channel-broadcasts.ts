// Broadcasts of a channel: those of its client, and stored ones that are sent again.
import { isJsonObject } from '../../text/json-object.ts'
import { unauthorized, type ChannelRights } from './channel-permission.ts'
import { Broadcast, TextEvent, valueJson, type ClientMessage, type Delivery, type Ref } from './frames.ts'
import type { Member } from './hub.ts'
import type { JoinRequest } from './join.ts'
import { ChannelRefused } from './realtime-error.ts'
import type { RealtimeParts } from './realtime-parts.ts'

/** What broadcasts use of their channel. */
export type BroadcastChannel = Member & {
  /** Its topic without `realtime:`. */
  readonly name: string
  readonly request: JoinRequest
  readonly broadcastRights: ChannelRights['broadcast']
  readonly reply: (ref: Ref, status: 'ok' | 'error', response: string) => void
}

type Parts = Pick<RealtimeParts, 'hub' | 'settings' | 'statistics' | 'storedMessages' | 'onError'>

export class ChannelBroadcasts {
  readonly #channel: BroadcastChannel
  readonly #parts: Parts
  /** Ids of stored messages that were sent again. */
  #replayed: ReadonlySet<string> | undefined

  constructor(channel: BroadcastChannel, parts: Parts) {
    this.#channel = channel
    this.#parts = parts
  }

  /** Stored messages that the client has asked for with its request to join. @throws ChannelRefused */
  async stored(): Promise<readonly Broadcast[]> {
    const { name, request, broadcastRights } = this.#channel
    const { replay, isPrivate } = request
    if (replay === undefined) return []
    if (!isPrivate) throw noReplay('Replay is not allowed for public channels')
    if (replay === 'invalid') throw noReplay('Replay params are not valid')
    if (!broadcastRights.read) throw unauthorized(name)
    try {
      const messages = await this.#parts.storedMessages(name, replay)
      this.#replayed = new Set(messages.map(({ id = '' }) => id))
      return messages
    } catch (error) {
      this.#parts.onError(error)
      throw noReplay('Realtime was unable to replay messages', error)
    }
  }

  /** Whether a message is one of the stored ones, which the client has. */
  hasReplayed({ id }: Delivery): boolean {
    return id !== undefined && this.#replayed?.has(id) === true
  }

  /** Sends a broadcast of the client to the topic, if it may do so. */
  send({ ref, payload, binary }: ClientMessage): void {
    const { statistics, hub, settings } = this.#parts
    const { name, request, broadcastRights } = this.#channel
    if (!broadcastRights.write) {
      statistics.drop('not permitted')
      return
    }
    // Any value, as in the original.
    const json = binary || hasStrangeEvent(payload) ? undefined : valueJson(payload)
    if (!binary && json === undefined) {
      statistics.drop('broken frame')
      return
    }
    const size = binary ? binary.payload.length : Buffer.byteLength(json ?? '')
    const { isAcknowledged, isSelf } = request
    if (size > settings().realtimeMaxPayloadBytes) {
      statistics.drop('payload too large')
      if (isAcknowledged) this.#channel.reply(ref, 'error', '{"reason":"payload_size_exceeded"}')
      return
    }
    const delivery = binary
      ? new Broadcast({ ...binary, topic: name })
      : new TextEvent('broadcast', name, 'broadcast', json ?? '')
    if (!hub.publish(this.#channel.room, delivery, isSelf ? undefined : this.#channel)) {
      statistics.drop('crowded topic')
      if (isAcknowledged)
        this.#channel.reply(ref, 'error', '{"reason":"Too many messages wait for the members of this topic"}')
      return
    }
    statistics.broadcasts++
    if (isAcknowledged) this.#channel.reply(ref, 'ok', '{}')
  }
}

/** Clients compare names as texts: another value would stop a receiver in Node with an error that none of its code can catch. */
const hasStrangeEvent = (payload: unknown): boolean =>
  isJsonObject(payload) && typeof (payload.event ?? '') !== 'string'

const noReplay = (message: string, cause?: unknown): ChannelRefused =>
  new ChannelRefused('UnableToReplayMessages', message, cause)
