// A pool of `pg` that grows no faster than it has to.
//
// `pg-pool` opens a connection for each request that finds none idle, and the request waits for it, although another may
// be returned much earlier. A short pause of the server then makes the pool open all its connections, whose processes and
// caches cost the server more than what it was behind with.
import pg from 'pg'

/** A request for a connection, as `pg-pool` keeps it. */
type ConnectionRequest = {
  readonly callback: (error: Error | undefined, client: pg.PoolClient | undefined, release: () => void) => void
}

/** `pg-pool` has these members, its types do not. */
type OpenPool = pg.Pool & {
  /** Requests that wait, in their order. */
  readonly _pendingQueue: ConnectionRequest[]
  /** Called when a connection was returned or closed, and for a request that finds one idle. */
  _pulseQueue(): void
  /** Opens a connection and lends it, whether or not others are idle. */
  newClient(request: ConnectionRequest): void
  /** Closes a connection that is not lent. */
  _remove(client: pg.PoolClient): void
}
const OpenPool = pg.Pool as unknown as new (options: pg.PoolConfig) => OpenPool

/**
 * A request takes the first connection that is returned or opened, in the order of the requests. At most as many are being
 * opened as are open, or one.
 */
export class GrowingPool extends OpenPool {
  readonly #lent = new WeakSet<pg.PoolClient>()
  #opening = 0

  constructor(options: pg.PoolConfig) {
    super(options)
    this.on('acquire', (client) => this.#lent.add(client))
    this.on('release', (_error, client) => this.#lent.delete(client))
  }

  /** Connections that are being opened, which `totalCount` contains. */
  get openingCount(): number {
    return this.#opening
  }

  /** Called by `pg-pool` for a request that finds no idle connection while the pool is not full. */
  override newClient(request: ConnectionRequest): void {
    this._pendingQueue.push(request)
    this.#grow()
  }

  override _pulseQueue(): void {
    if (this.idleCount > 0 && !this.ending) super._pulseQueue()
    this.#grow()
    if (this.ending) super._pulseQueue()
  }

  /** Opens a connection for later requests, unless the pool is full. The server may refuse it. */
  async openAnother(): Promise<void> {
    if (this.totalCount < this.options.max && !this.ending) await this.#open()
  }

  /** Closes a connection, if it is idle. */
  closeIdle(client: pg.PoolClient): void {
    if (!this.#lent.has(client)) this._remove(client)
  }

  #grow(): void {
    while (this._pendingQueue.length > this.idleCount + this.#opening && this.totalCount < this.options.max) {
      if (this.#opening >= Math.max(1, this.totalCount - this.#opening)) return
      void this.#open()
    }
  }

  #open(): Promise<void> {
    this.#opening++
    return new Promise((resolve) => {
      super.newClient({
        callback: (error, client) => {
          this.#opening--
          if (client) this.#lend(client)
          else this.#refuse(error)
          resolve()
        },
      })
    })
  }

  #lend(client: pg.PoolClient): void {
    // A pool that ends closes what is returned, but serves the requests that came before.
    const request = this.ending ? this._pendingQueue.shift() : undefined
    if (request) request.callback(undefined, client, () => client.release())
    else client.release()
  }

  /** A refusal is for one request, or for all that wait if the pool has no open connection. */
  #refuse(error: Error | undefined): void {
    const count = this.totalCount > this.#opening ? 1 : this._pendingQueue.length
    for (const { callback } of this._pendingQueue.splice(0, count)) callback(error, undefined, ignore)
    this.#grow()
  }
}

const ignore = (): void => undefined
