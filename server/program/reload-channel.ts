// NOTIFY on the configured channel -> reloads. https://docs.postgrest.org/en/v16/references/listener.html
import type { Config } from '../config/config.ts'
import type { Database } from '../postgres/database.ts'
import type { ListenerEvent } from '../postgres/listener.ts'
import { apiKeyChannel, type ApiKeyChanges } from '../identity/api-key/api-key-changes.ts'
import type { Log } from './operations/log.ts'
import type { Runtime } from './runtime.ts'

type ChannelSettings = Pick<Config, 'dbChannel' | 'dbChannelEnabled' | 'dbPoolAutomaticRecovery'>

/** Listens where, and as long as, the settings want it. */
export class ReloadChannel {
  readonly #database: Pick<Database, 'listen'>
  readonly #runtime: Runtime
  readonly #log: Log
  readonly #keyChanges: ApiKeyChanges | undefined
  #stopListening: (() => Promise<void>) | undefined
  #channel: string | undefined
  #isOn = false
  #isStopped = false
  #missed = false
  #changing: Promise<void> = Promise.resolve()

  /** @param keyChanges gets what is notified of API keys, on a channel of its own on the same connection */
  constructor(database: Pick<Database, 'listen'>, runtime: Runtime, log: Log, keyChanges?: ApiKeyChanges) {
    this.#database = database
    this.#runtime = runtime
    this.#log = log
    this.#keyChanges = keyChanges
  }

  /** Whether notifications arrive at this moment. */
  get isOn(): boolean {
    return this.#isOn
  }

  /** Brings the listener in line with the settings; resolves after the first attempt to connect. */
  follow(settings: ChannelSettings): Promise<void> {
    return (this.#changing = this.#changing.then(() => this.#follow(settings)))
  }

  /** Ends for good: settings that are read while the service stops begin nothing anew. */
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
    this.#stopListening = await this.#database.listen(
      wanted,
      (event) => {
        // Changes follow one another, so that only events of the current channel arrive, or of one that is being stopped.
        if (this.#channel === wanted) this.#hear(event, dbPoolAutomaticRecovery)
      },
      this.#keyChanges ? [apiKeyChannel] : [],
    )
  }

  async #end(): Promise<void> {
    const stopListening = this.#stopListening
    this.#stopListening = undefined
    this.#channel = undefined
    this.#isOn = false
    this.#keyChanges?.setHeard(false)
    await stopListening?.()
  }

  #hear(event: ListenerEvent, recovers: boolean): void {
    const { channel } = event
    switch (event.kind) {
      case 'lost':
        this.#isOn = false
        this.#keyChanges?.setHeard(false)
        this.#missed = true
        this.#log.write({ kind: 'channel-lost', channel, error: event.error, retryInSeconds: event.retrySeconds })
        if (!recovers) this.#runtime.giveUp(new Error(event.error))
        return
      case 'listening':
        this.#isOn = true
        this.#keyChanges?.setHeard(true)
        this.#log.write({ kind: 'channel-listening', channel })
        // What was notified in between is not known.
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
      // Loading the schema begins with the settings, so that this one means both.
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
        // Others may use the channel for words of their own.
        return
    }
  }
}
