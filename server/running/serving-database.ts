// The database of a server. On the connection that the engine listens on, it listens to channels of the server's own, too.
import { Database, type DatabaseOptions } from '../postgres/database.ts'
import type { ListenerEvent } from '../postgres/listener.ts'
import type { ConnectionPool } from '../postgres/pool.ts'

/** Hears what is notified on a channel. */
export type ChannelFollower = {
  readonly channel: string
  /** The connection listens, or was lost. Either way, notifications may have been missed. */
  readonly setListening: (isListening: boolean) => void
  readonly notify: (payload: string) => void
}

export class ServingDatabase extends Database {
  readonly #followers: readonly ChannelFollower[]

  constructor(pool: ConnectionPool, options: DatabaseOptions, followers: readonly ChannelFollower[]) {
    super(pool, options)
    this.#followers = followers
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
        this.#pass(event)
        if (event.channel === channel) onEvent(event)
      },
      this.#followers.map((follower) => follower.channel),
    )
    return async () => {
      isStopped = true
      for (const follower of this.#followers) follower.setListening(false)
      await stop()
    }
  }

  #pass(event: ListenerEvent): void {
    for (const follower of this.#followers) {
      if (event.kind !== 'notified') follower.setListening(event.kind === 'listening')
      else if (event.channel === follower.channel) follower.notify(event.payload)
    }
  }
}
