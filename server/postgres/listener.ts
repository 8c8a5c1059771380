// The connection that waits for NOTIFY. https://docs.postgrest.org/en/stable/references/listener.html
import pg from 'pg'
import type { PoolConfig } from './connection/pool-config.ts'

export type ListenerEvent =
  | { readonly kind: 'listening'; readonly channel: string }
  | { readonly kind: 'lost'; readonly channel: string; readonly error: string; readonly retrySeconds: number }
  | { readonly kind: 'notified'; readonly channel: string; readonly payload: string }

const maxRetrySeconds = 32

/** Listens on a channel until stopped; reconnects automatically after 1, 2, 4 … 32 seconds. */
export class Listener {
  readonly #connection: PoolConfig
  readonly #channel: string
  readonly #others: readonly string[]
  readonly #onEvent: (event: ListenerEvent) => void
  #client: pg.Client | undefined
  #timer: NodeJS.Timeout | undefined
  #retrySeconds = 1
  #stopped = false

  /**
   * Calls `onEvent` for every notification. `listening` after `lost` means that notifications may have been missed.
   *
   * @param others further channels to listen on; only `notified` events name them
   */
  constructor(
    connection: PoolConfig,
    channel: string,
    onEvent: (event: ListenerEvent) => void,
    others: readonly string[] = [],
  ) {
    this.#connection = connection
    this.#channel = channel
    this.#onEvent = onEvent
    this.#others = others
  }

  /** Tries to connect once; when that fails, keeps trying in the background. */
  async start(): Promise<void> {
    const client = new this.#connection.Client(this.#connection)
    this.#client = client
    let lost = false
    const lose = (error: Error): void => {
      if (lost || this.#stopped) return
      lost = true
      const retrySeconds = this.#retrySeconds
      this.#retrySeconds = Math.min(retrySeconds * 2, maxRetrySeconds)
      client.end().catch(() => undefined)
      // Set before the event, because its receiver may stop the listener.
      this.#timer = setTimeout(() => void this.start(), retrySeconds * 1000)
      this.#onEvent({ kind: 'lost', channel: this.#channel, error: error.message, retrySeconds })
    }
    client.on('error', lose)
    client.on('end', () => lose(new Error('the connection was closed')))
    client.on('notification', ({ channel, payload }) =>
      this.#onEvent({ kind: 'notified', channel, payload: payload ?? '' }),
    )
    try {
      await client.connect()
      // These come first, so that the last statement of the connection names the main channel.
      for (const other of this.#others) await client.query(`LISTEN ${pg.escapeIdentifier(other)}`)
      // The same text as PostgREST's, because monitoring finds the connection by it in pg_stat_activity.
      await client.query(`LISTEN ${pg.escapeIdentifier(this.#channel)}`)
      this.#retrySeconds = 1
      this.#onEvent({ kind: 'listening', channel: this.#channel })
    } catch (error) {
      lose(error instanceof Error ? error : new Error(String(error)))
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#client?.end().catch(() => undefined)
  }
}
