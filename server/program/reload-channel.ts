// Reloads on NOTIFY on the configured channel. https://docs.postgrest.org/en/v16/references/listener.html
import type { Config } from '../config/config.ts'
import type { PoolConfig } from '../postgres/connection/pool-config.ts'
import { Listener, type ListenerEvent } from '../postgres/listener.ts'
import { apiKeyChannel, type ApiKeyChanges } from '../identity/api-key/api-key-changes.ts'
import type { Log } from './operations/log.ts'
import type { Runtime } from './runtime.ts'

type ChannelSettings = Pick<Config, 'dbChannel' | 'dbChannelEnabled' | 'dbPoolAutomaticRecovery'>

/** Listens on the configured channel while listening is enabled. */
export class ReloadChannel {
  readonly #connection: PoolConfig
  readonly #runtime: Runtime
  readonly #log: Log
  readonly #keyChanges: ApiKeyChanges | undefined
  #listener: Listener | undefined
  #channel: string | undefined
  #isOn = false
  #isStopped = false
  #missed = false
  #changing: Promise<void> = Promise.resolve()

  /** @param keyChanges receives notifications of API keys, on a separate channel of the same connection */
  constructor(connection: PoolConfig, runtime: Runtime, log: Log, keyChanges?: ApiKeyChanges) {
    this.#connection = connection
    this.#runtime = runtime
    this.#log = log
    this.#keyChanges = keyChanges
  }

  /** Whether the connection is listening. */
  get isOn(): boolean {
    return this.#isOn
  }

  /** Applies the settings to the listener. Resolves after the first attempt to connect. */
  follow(settings: ChannelSettings): Promise<void> {
    return (this.#changing = this.#changing.then(() => this.#follow(settings)))
  }

  /** Stops permanently. Settings that are read during the shutdown do not restart the listener. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#changing
    await this.#end()
  }

  async #follow({ dbChannelEnabled, dbChannel, dbPoolAutomaticRecovery }: ChannelSettings): Promise<void> {
    const wanted = dbChannelEnabled && !this.#isStopped ? dbChannel : undefined
    if (wanted === this.#channel) return
    await this.#end()
    if (wanted === undefined) return
    this.#channel = wanted
    const listener = new Listener(
      this.#connection,
      wanted,
      (event) => {
        if (this.#listener === listener) this.#hear(event, dbPoolAutomaticRecovery)
      },
      this.#keyChanges ? [apiKeyChannel] : [],
    )
    this.#listener = listener
    await listener.start()
  }

  async #end(): Promise<void> {
    const listener = this.#listener
    this.#listener = undefined
    this.#channel = undefined
    this.#isOn = false
    this.#keyChanges?.setListening(false)
    await listener?.stop()
  }

  #hear(event: ListenerEvent, recovers: boolean): void {
    const { channel } = event
    switch (event.kind) {
      case 'lost':
        this.#isOn = false
        this.#keyChanges?.setListening(false)
        this.#missed = true
        this.#log.write({ kind: 'channel-lost', channel, error: event.error, retryInSeconds: event.retrySeconds })
        if (!recovers) this.#runtime.giveUp(new Error(event.error))
        return
      case 'listening':
        this.#isOn = true
        this.#keyChanges?.setListening(true)
        this.#log.write({ kind: 'channel-listening', channel })
        // Notifications may have been missed in between.
        if (this.#missed) void this.#runtime.reloadSchema()
        this.#missed = false
        return
      case 'notified':
        if (channel === apiKeyChannel) this.#keyChanges?.notify(event.payload)
        if (channel === this.#channel) this.#reload(channel, event.payload)
        return
      default:
        event satisfies never
    }
  }

  #reload(channel: string, payload: string): void {
    switch (payload) {
      // Loading the schema also reloads the settings.
      case '':
      case 'reload schema':
        this.#log.write({ kind: 'channel-message', channel, reload: 'schema' })
        void this.#runtime.reloadSchema()
        return
      case 'reload config':
        this.#log.write({ kind: 'channel-message', channel, reload: 'config' })
        void this.#runtime.reloadConfig()
        return
      default:
        // Ignores other messages on the channel.
        return
    }
  }
}
