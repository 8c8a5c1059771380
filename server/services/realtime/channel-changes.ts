// The row changes of a channel.
import type { Identity } from '../../identity/identity.ts'
import {
  ChangesRefused,
  ChangesUnavailable,
  type ChangeEvent,
  type ChangeFailure,
  type ChangeSubscription,
  type RowChanges,
} from './changes/row-changes.ts'
import { messageFrame, type SerializerVersion } from './frames.ts'
import { bindingIds, type JoinRequest } from './join.ts'
import { ChannelRefused } from './realtime-error.ts'
import type { RealtimeStatistics } from './statistics.ts'
import type { Credential } from './tokens.ts'

/** Milliseconds for which a join waits for its subscription, if the client does not say. */
const subscribeTimeout = 9000
/** Milliseconds until a subscription is tried again, at least and at most. */
const retryPause = [5000, 10_000] as const

/** The frames of the last event: its receivers get it one after the other, and many of them the same bytes. */
let lastEvent: ChangeEvent | undefined
const lastFrames = new Map<string, Buffer>()

function frameOf(event: ChangeEvent, key: string, encode: () => Buffer): Buffer {
  if (event !== lastEvent) {
    lastEvent = event
    lastFrames.clear()
  }
  let frame = lastFrames.get(key)
  if (!frame) lastFrames.set(key, (frame = encode()))
  return frame
}

type SystemMembers = { readonly code?: string | undefined; readonly position?: string | undefined }

/** What the row changes use of their channel. */
export type ChangesChannel = {
  readonly request: JoinRequest
  readonly credential: Credential
  /** With `realtime:`. */
  readonly topic: string
  readonly socket: { readonly version: SerializerVersion; readonly write: (frame: Buffer) => void }
  readonly system: (
    extension: 'postgres_changes',
    status: 'ok' | 'error',
    message: string,
    more?: SystemMembers,
  ) => void
}

type Outcome = { readonly status: 'ok' | 'error'; readonly message: string }

export class ChannelChanges {
  readonly #channel: ChangesChannel
  readonly #changes: RowChanges
  readonly #statistics: RealtimeStatistics
  readonly #ids: readonly number[]
  readonly #gone = new AbortController()
  #subscription: ChangeSubscription | undefined
  #identity: Identity | undefined
  #outcome: Outcome | undefined
  #retry: NodeJS.Timeout | undefined
  /** The last position that was sent. */
  #position: string | undefined

  constructor(channel: ChangesChannel, changes: RowChanges, statistics: RealtimeStatistics) {
    this.#channel = channel
    this.#changes = changes
    this.#statistics = statistics
    this.#ids = bindingIds(channel.request.bindings)
    this.#position = channel.request.since
  }

  /** The bindings with their ids, as the reply to the join has them. */
  get response(): string {
    return JSON.stringify(
      this.#channel.request.bindings.map((binding, index) => ({ ...binding, id: this.#ids[index] })),
    )
  }

  /**
   * Subscribes.
   *
   * @throws ChannelRefused if the client wants to join with the subscription or not at all
   */
  async start(identity: Identity): Promise<void> {
    this.#identity = identity
    const { wait } = this.#channel.request
    this.#outcome = await this.#subscribe(wait ?? subscribeTimeout)
    if (wait === undefined || this.#outcome.status === 'ok') return
    const { message } = this.#outcome
    throw new ChannelRefused(
      message.startsWith('Timed out') ? 'PostgresChangesSubscribeTimeout' : 'RealtimeDisabledForConfiguration',
      message,
    )
  }

  /** Says how the subscription is, after the reply to the join. */
  announce(): void {
    const { status, message } = this.#outcome ?? { status: 'error', message: 'not subscribed' }
    this.#channel.system('postgres_changes', status, message, { position: this.#subscription?.position })
  }

  /** Applies another token. */
  async changeIdentity(identity: Identity): Promise<void> {
    this.#identity = identity
    try {
      await this.#subscription?.changeIdentity(identity)
    } catch (error) {
      if (!(error instanceof ChangesRefused) && !(error instanceof ChangesUnavailable)) throw error
      this.#subscription?.end()
      this.#subscription = undefined
      this.#channel.system('postgres_changes', 'error', error.message)
      if (error instanceof ChangesUnavailable) this.#tryAgain()
    }
  }

  end(): void {
    clearTimeout(this.#retry)
    this.#gone.abort()
    this.#subscription?.end()
    this.#subscription = undefined
  }

  async #subscribe(timeout: number): Promise<Outcome> {
    const late = AbortSignal.timeout(timeout)
    const signal = AbortSignal.any([this.#gone.signal, late])
    const timedOut = new Promise<Outcome>((resolve) => {
      signal.addEventListener('abort', () => resolve({ status: 'error', message: timeoutText(timeout) }), {
        once: true,
      })
    })
    const outcome = await Promise.race([this.#attempt(signal), timedOut])
    if (outcome.message === timeoutText(timeout)) this.#tryAgain()
    return outcome
  }

  async #attempt(signal: AbortSignal): Promise<Outcome> {
    const { request } = this.#channel
    const identity = this.#identity ?? this.#channel.credential.identity
    try {
      const subscription = await this.#changes.subscribe({
        bindings: request.bindings,
        identity,
        since: this.#position,
        signal,
        receiver: {
          onChange: (event, bindings) => this.#onChange(event, bindings),
          onFailure: (failure) => this.#onFailure(failure),
        },
      })
      if (signal.aborted) subscription.end()
      else {
        this.#subscription = subscription
        this.#position ??= subscription.position
        // Another token has come meanwhile.
        if (this.#identity && this.#identity !== identity) await this.changeIdentity(this.#identity)
      }
      return { status: 'ok', message: 'Subscribed to PostgreSQL' }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      if (!(error instanceof ChangesRefused) && !signal.aborted) this.#tryAgain()
      return { status: 'error', message }
    }
  }

  #tryAgain(): void {
    if (this.#gone.signal.aborted) return
    const [least, most] = retryPause
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => void this.#subscribeAgain(), least + Math.floor(Math.random() * (most - least)))
    this.#retry.unref()
  }

  async #subscribeAgain(): Promise<void> {
    const outcome = await this.#subscribe(subscribeTimeout)
    if (this.#gone.signal.aborted) return
    // The same error again says nothing new.
    if (outcome.message !== this.#outcome?.message)
      this.#channel.system('postgres_changes', outcome.status, outcome.message, {
        position: this.#subscription?.position,
      })
    this.#outcome = outcome
  }

  #onChange(event: ChangeEvent, bindings: readonly number[]): void {
    const { socket, topic, request } = this.#channel
    this.#position = event.position
    const ids = idsText(bindings, this.#ids)
    const { version } = socket
    const frame = frameOf(event, `${version}${request.isLegacy ? 'legacy' : ''}${ids} ${topic}`, () =>
      request.isLegacy
        ? messageFrame(version, null, null, topic, typeOf(event.data), event.data)
        : messageFrame(version, null, null, topic, 'postgres_changes', `{"ids":[${ids}],"data":${event.data}}`),
    )
    this.#statistics.changes++
    socket.write(frame)
  }

  #onFailure({ code, message }: ChangeFailure): void {
    this.#channel.system('postgres_changes', 'error', message, { code })
    if (code !== 'Refused') return
    this.#subscription?.end()
    this.#subscription = undefined
  }
}

const timeoutText = (timeout: number): string =>
  `Timed out after ${timeout}ms waiting for the postgres_changes subscription`

/** The ids of bindings, each once. */
function idsText(bindings: readonly number[], ids: readonly number[]): string {
  if (bindings.length === 1) return String(ids[bindings[0] ?? 0])
  return [...new Set(bindings.map((index) => ids[index]))].join(',')
}

/** The name of an event for clients of the time before `config`. */
const typeOf = (data: string): string => /"type":"(\w+)"/.exec(data)?.[1] ?? '*'
