// The database of a server. It listens for changes of API keys on the connection that the engine listens on.
import { apiKeyChannel, type ApiKeyChanges } from '../identity/api-key/api-key-changes.ts'
import { Database, type DatabaseOptions } from '../postgres/database.ts'
import type { ListenerEvent } from '../postgres/listener.ts'
import type { ConnectionPool } from '../postgres/pool.ts'

export class ServingDatabase extends Database {
  readonly #keyChanges: ApiKeyChanges

  constructor(pool: ConnectionPool, options: DatabaseOptions, keyChanges: ApiKeyChanges) {
    super(pool, options)
    this.#keyChanges = keyChanges
  }

  /** Whether the database responds. Rejects with the error of the connection. */
  async responds(): Promise<boolean> {
    return (await this.query('select 1', [])).length === 1
  }

  override async listen(channel: string, onEvent: (event: ListenerEvent) => void): Promise<() => Promise<void>> {
    let isStopped = false
    const stop = await super.listen(
      channel,
      (event) => {
        if (isStopped) return
        if (event.kind !== 'notified') this.#keyChanges.setListening(event.kind === 'listening')
        else if (event.channel === apiKeyChannel) this.#keyChanges.notify(event.payload)
        if (event.channel === channel) onEvent(event)
      },
      [apiKeyChannel],
    )
    return async () => {
      isStopped = true
      this.#keyChanges.setListening(false)
      await stop()
    }
  }
}
