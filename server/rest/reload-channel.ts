// Reloads settings and schema cache on NOTIFY.
// https://docs.postgrest.org/en/stable/references/listener.html
import type { ChannelEvent, EngineDatabase } from './database.ts'
import type { LoadSettings } from './settings.ts'

type ChannelSettings = Pick<LoadSettings, 'dbChannel' | 'dbChannelEnabled'>

export type ReloadChannelEvent =
  | { readonly kind: 'channel listening'; readonly channel: string }
  /** Notifications may be missed until listening resumes after the delay. */
  | {
      readonly kind: 'channel lost'
      readonly channel: string
      readonly error: string
      readonly retrySeconds: number
    }
  | { readonly kind: 'channel message'; readonly channel: string; readonly reload: 'schema' | 'settings' }

export type Reloads = {
  readonly reload: () => Promise<void>
  readonly reloadSettings: () => Promise<void>
}

/** Listens on the channel that the settings name, if they enable it. */
export class ReloadChannel {
  readonly #database: Pick<EngineDatabase, 'listen'>
  readonly #reloads: Reloads
  readonly #observe: (event: ReloadChannelEvent) => void
  #stopListening: (() => Promise<void>) | undefined
  #channel: string | undefined
  #isOn = false
  #isStopped = false
  #hasMissed = false
  #changing: Promise<void> = Promise.resolve()

  /** @param observe must not throw */
  constructor(
    database: Pick<EngineDatabase, 'listen'>,
    reloads: Reloads,
    observe: (event: ReloadChannelEvent) => void,
  ) {
    this.#database = database
    this.#reloads = reloads
    this.#observe = observe
  }

  /** Whether the channel is being listened to. */
  get isOn(): boolean {
    return this.#isOn
  }

  /** Applies the settings. Resolves after the first attempt to connect. */
  follow(settings: ChannelSettings): Promise<void> {
    return (this.#changing = this.#changing.then(() => this.#follow(settings)))
  }

  /** Stops listening; `follow` has no effect afterwards. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#changing
    await this.#end()
  }

  async #follow({ dbChannelEnabled, dbChannel }: ChannelSettings): Promise<void> {
    const wanted = dbChannelEnabled && !this.#isStopped ? dbChannel : undefined
    if (wanted === this.#channel) return
    await this.#end()
    if (wanted === undefined) return
    this.#channel = wanted
    this.#stopListening = await this.#database.listen(wanted, (event) => {
      // Ignores late events of a channel that is being stopped.
      if (this.#channel === wanted) this.#handle(wanted, event)
    })
  }

  async #end(): Promise<void> {
    const stopListening = this.#stopListening
    this.#stopListening = undefined
    this.#channel = undefined
    this.#isOn = false
    await stopListening?.()
  }

  #handle(channel: string, event: ChannelEvent): void {
    switch (event.kind) {
      case 'lost':
        this.#isOn = false
        this.#hasMissed = true
        this.#observe({ kind: 'channel lost', channel, error: event.error, retrySeconds: event.retrySeconds })
        return
      case 'listening':
        this.#isOn = true
        this.#observe({ kind: 'channel listening', channel })
        // Notifications may have been sent while the connection was lost.
        if (this.#hasMissed) void this.#reloads.reload()
        this.#hasMissed = false
        return
      case 'notified':
        this.#reload(channel, event.payload)
        return
      default:
        event satisfies never
    }
  }

  #reload(channel: string, payload: string): void {
    switch (payload) {
      // Reloading the schema cache reloads the settings, too.
      case '':
      case 'reload schema':
        this.#observe({ kind: 'channel message', channel, reload: 'schema' })
        void this.#reloads.reload()
        return
      case 'reload config':
        this.#observe({ kind: 'channel message', channel, reload: 'settings' })
        void this.#reloads.reloadSettings()
        return
      default:
        // Other programs may use the channel for their own messages.
        return
    }
  }
}
