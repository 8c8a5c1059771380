// Work that one process does for all that serve the same database: the row of `rowhouse.leases` says which one.
import { randomBytes } from 'node:crypto'
import { JsonStatement } from './json-statement.ts'
import type { Database } from './database.ts'

/** Seconds for which a lease is taken. A process that is killed is replaced after that time. */
const defaultSeconds = 15

const take = new JsonStatement(
  `insert into rowhouse.leases as lease (name, holder, until)
values ($1, $2, clock_timestamp() + $3::integer * interval '1 second')
on conflict (name) do update set holder = excluded.holder, until = excluded.until
  where lease.holder = excluded.holder or lease.until < clock_timestamp()
returning to_json(true)`,
  { access: 'write' },
)

const end = new JsonStatement(`delete from rowhouse.leases where name = $1 and holder = $2 returning to_json(true)`, {
  access: 'write',
})

export type LeaseOptions = {
  readonly database: Pick<Database, 'ask'>
  /** The work. */
  readonly name: string
  readonly seconds?: number
}

/**
 * The lease of one kind of work, of which at most one process has it at a time. The clock of the database decides, so that a
 * process may believe that it still has what another one has taken: statements that must not be run by two compare `holder`
 * with the row (`holder = $1 and until > clock_timestamp()`, locked `for share`).
 */
export class Lease {
  /** The random name of this process. */
  readonly holder = randomBytes(12).toString('base64url')
  readonly #options: LeaseOptions
  readonly #seconds: number
  #heldUntil = -Infinity

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#seconds = options.seconds ?? defaultSeconds
  }

  /** Milliseconds between two calls of `take` that keep the lease. */
  get renewalInterval(): number {
    return (this.#seconds * 1000) / 3
  }

  /** Whether it was taken and cannot have ended since, by the clock of this process. */
  get isHeld(): boolean {
    return performance.now() < this.#heldUntil
  }

  /**
   * Takes the lease, or renews it.
   *
   * @returns false if another process has it
   * @throws StatementError of the database; ConnectionError when there is no connection. The lease then stays as it was
   */
  async take(): Promise<boolean> {
    const since = performance.now()
    const { database, name } = this.#options
    const [isTaken] = await database.ask(take, undefined, [name, this.holder, String(this.#seconds)])
    this.#heldUntil = isTaken === true ? since + this.#seconds * 1000 : -Infinity
    return isTaken === true
  }

  /**
   * Gives it back, so that another process need not wait. Does nothing without it.
   *
   * @throws as `take`
   */
  async end(): Promise<void> {
    if (this.#heldUntil === -Infinity) return
    this.#heldUntil = -Infinity
    await this.#options.database.ask(end, undefined, [this.#options.name, this.holder])
  }
}
