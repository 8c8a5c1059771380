// Subscriptions of two viewers to the same channel, and who of them gets which event.
import { REALTIME_SUBSCRIBE_STATES, RealtimeClient, type RealtimeChannel } from '@supabase/realtime-js'
import { serverUrl, viewerToken, type Viewer } from '../../api.ts'

/** What is subscribed to. */
export type Wish = {
  readonly kind: 'changes' | 'channel'
  readonly schema: string
  /** Table of row changes. */
  readonly table: string
  readonly event: '*' | 'INSERT' | 'UPDATE' | 'DELETE'
  /** Condition of row changes, such as `room_id=eq.5`; empty for none. */
  readonly filter: string
  /** Topic of broadcasts and presence. */
  readonly topic: string
  readonly isPrivate: boolean
}

export type WatchEvent = {
  readonly key: string
  readonly at: number
  /** `INSERT`, `UPDATE`, `DELETE`, `broadcast`, `presence` or `system`. */
  readonly type: string
  readonly title: string
  readonly payload: unknown
  /** The row of a change, or what is left of a deleted one. */
  readonly row: Readonly<Record<string, unknown>> | undefined
  /** Indexes of the viewers that have got it. */
  readonly receivers: readonly number[]
}

export type WatchState = {
  /** What each viewer's subscription has reported last: `SUBSCRIBED`, `CHANNEL_ERROR` … */
  readonly statuses: readonly string[]
  readonly problems: readonly (string | undefined)[]
  /** The newest first. */
  readonly events: readonly WatchEvent[]
}

const mostEvents = 200

export class Watch {
  readonly #clients: RealtimeClient[] = []
  readonly #channels: RealtimeChannel[] = []
  readonly #onState: (state: WatchState) => void
  #state: WatchState
  #number = 0

  constructor(wish: Wish, viewers: readonly Viewer[], onState: (state: WatchState) => void) {
    this.#onState = onState
    this.#state = { statuses: viewers.map(() => 'connecting'), problems: viewers.map(() => undefined), events: [] }
    viewers.forEach((viewer, index) => void this.#join(wish, viewer, index))
  }

  /** Sends a broadcast as the first viewer. */
  async send(event: string, payload: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#channels[0]?.send({ type: 'broadcast', event, payload })
  }

  /** Tracks the presence of the first viewer, or ends that. */
  async track(payload: Readonly<Record<string, unknown>> | undefined): Promise<void> {
    if (payload) await this.#channels[0]?.track(payload)
    else await this.#channels[0]?.untrack()
  }

  end(): void {
    for (const client of this.#clients) void client.removeAllChannels().finally(() => client.disconnect())
  }

  async #join(wish: Wish, viewer: Viewer, index: number): Promise<void> {
    try {
      const client = new RealtimeClient(`${serverUrl.replace(/^http/, 'ws')}realtime/v1`, {
        params: { apikey: await viewerToken(viewer) },
        accessToken: () => viewerToken(viewer),
      })
      this.#clients.push(client)
      const channel = wish.kind === 'changes' ? this.#changes(client, wish, index) : this.#topic(client, wish, index)
      this.#channels[index] = channel
      channel.subscribe((status, error) => {
        this.#status(index, status)
        if (status === REALTIME_SUBSCRIBE_STATES.SUBSCRIBED) this.#problem(index, undefined)
        else if (error) this.#problem(index, error.message)
      })
    } catch (error) {
      this.#status(index, 'refused')
      this.#problem(index, error instanceof Error ? error.message : String(error))
    }
  }

  #changes(client: RealtimeClient, { schema, table, event, filter }: Wish, index: number): RealtimeChannel {
    const binding = { event: event as '*', schema, table, ...(filter === '' ? {} : { filter }) }
    return client
      .channel(`console:${schema}.${table}`)
      .on('postgres_changes', binding, (change) => {
        const row = { ...change.old, ...change.new } as Readonly<Record<string, unknown>>
        const title = `${change.schema}.${change.table}`
        // Viewers may see different columns of the same event.
        const place = `${change.commit_timestamp} ${change.eventType} ${JSON.stringify(row.id ?? null)}`
        this.#add({ type: change.eventType, title, payload: change, row }, index, place)
      })
      .on('system', {}, ({ status, message }: { readonly status?: string; readonly message?: string }) => {
        if (status === 'error') this.#problem(index, message ?? 'The subscription has failed')
      })
  }

  #topic(client: RealtimeClient, { topic, isPrivate }: Wish, index: number): RealtimeChannel {
    const channel = client.channel(topic, { config: { private: isPrivate, broadcast: { self: true } } })
    return channel
      .on('broadcast', { event: '*' }, (message) => {
        const { event, payload } = message as { readonly event: string; readonly payload?: unknown }
        this.#add({ type: 'broadcast', title: event, payload, row: undefined }, index, JSON.stringify([event, payload]))
      })
      .on('presence', { event: 'sync' }, () => {
        const present = channel.presenceState()
        const title = `${Object.keys(present).length} present`
        this.#add({ type: 'presence', title, payload: present, row: undefined }, index, JSON.stringify(present))
      })
  }

  /** @param place is the same for the same event of all viewers */
  #add(event: Omit<WatchEvent, 'key' | 'at' | 'receivers'>, index: number, place: string): void {
    const { events } = this.#state
    const known = events.find(({ key, receivers }) => key.endsWith(` ${place}`) && !receivers.includes(index))
    const changed = known
      ? events.map((it) => (it === known ? { ...it, receivers: [...it.receivers, index] } : it))
      : [{ ...event, key: `${++this.#number} ${place}`, at: Date.now(), receivers: [index] }, ...events]
    this.#set({ events: changed.slice(0, mostEvents) })
  }

  #status(index: number, status: string): void {
    this.#set({ statuses: this.#state.statuses.with(index, status) })
  }

  #problem(index: number, problem: string | undefined): void {
    this.#set({ problems: this.#state.problems.with(index, problem) })
  }

  #set(change: Partial<WatchState>): void {
    this.#state = { ...this.#state, ...change }
    this.#onState(this.#state)
  }
}
