// Counts requests of all processes together, in the database (`sql/migrations/000011_limits.sql`).
import type { Rate } from '../../../identity/limits.ts'
import type { RunQuery } from '../../../catalogue/introspection.ts'

/** Requests that were granted to this process. */
export type Grant = {
  /** Number of requests that the process may let through. */
  readonly granted: number
  /** Requests that are left for all processes; a fraction accrues over time. */
  readonly left: number
}

/** Where the requests of a subject are counted. */
export type Counts = {
  /**
   * Takes requests from those that a subject has left.
   *
   * @param wanted a whole number, at least 1
   * @param minimum a whole number from 1 to `wanted`; by default 1
   * @returns as many as there are, at most `wanted`; none if there are fewer than `minimum`
   */
  take(subject: string, rate: Rate, wanted: number, minimum?: number): Promise<Grant>
  /** Puts back requests that were taken and not let through. */
  putBack(subject: string, rate: Rate, count: number): Promise<void>
}

/** Undefined function or schema, insufficient privilege, read-only transaction (a standby), unlogged table of a standby. */
const unusable: ReadonlySet<unknown> = new Set(['42883', '3F000', '42501', '25006', '0A000', '55000'])

/** Serialization failure, deadlock: the same statement may succeed when it runs again. */
const transient: ReadonlySet<unknown> = new Set(['40001', '40P01'])
/** How often a statement runs again. Each failure means that another process has taken requests. */
const mostRepetitions = 20

const takeText = 'select granted, remaining from rowhouse_limits.take($1, $2, $3, $4, $5)'
const putBackText = 'select rowhouse_limits.put_back($1, $2, $3)'

/** How to make the counts of several processes one. */
const setupHint =
  'run sql/migrations/000011_limits.sql of the package rowhouse in the database, and grant the role that connects usage on the schema rowhouse_limits and execute on its functions'

/** Counts in the database. If the database has no counts, falls back to counting in this process, and warns once. */
export class DatabaseCounts implements Counts {
  readonly #query: RunQuery
  readonly #local = new LocalCounts()
  readonly #onWarning: (message: string) => void
  /** When the database is asked again, as `performance.now()`. */
  #retryAt = -Infinity
  #hasWarned = false

  /**
   * @param query runs a statement as the role that connects
   * @param onWarning receives the reason when requests are counted per process
   */
  constructor(query: RunQuery, onWarning: (message: string) => void) {
    this.#query = query
    this.#onWarning = onWarning
  }

  /** @throws the error of a lost connection */
  take(subject: string, rate: Rate, wanted: number, minimum = 1): Promise<Grant> {
    return this.#orLocally(
      async () => {
        const [row] = await this.#run(takeText, [subject, rate.perSecond, rate.burst, wanted, minimum])
        return { granted: Number(row?.granted), left: Number(row?.remaining) }
      },
      () => this.#local.take(subject, rate, wanted, minimum),
    )
  }

  /** @throws the error of a lost connection */
  putBack(subject: string, rate: Rate, count: number): Promise<void> {
    return this.#orLocally(
      async () => void (await this.#run(putBackText, [subject, rate.burst, count])),
      () => this.#local.putBack(subject, rate, count),
    )
  }

  /** Runs a statement, again if it has met another one under an isolation level above `read committed`. */
  async #run(...[text, values]: Parameters<RunQuery>): ReturnType<RunQuery> {
    for (let repetition = 0; ; repetition++) {
      try {
        return await this.#query(text, values)
      } catch (error) {
        if (repetition === mostRepetitions || !transient.has(codeOf(error))) throw error
      }
    }
  }

  async #orLocally<T>(inDatabase: () => Promise<T>, locally: () => Promise<T>): Promise<T> {
    if (performance.now() < this.#retryAt) return locally()
    try {
      return await inDatabase()
    } catch (error) {
      if (!(error instanceof Error && unusable.has(codeOf(error)))) throw error
      this.#retryAt = performance.now() + retryDelay
      if (!this.#hasWarned) this.#onWarning(`each process counts requests on its own (${error.message}): ${setupHint}`)
      this.#hasWarned = true
      return locally()
    }
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

/** Milliseconds for which a database without counts is not asked again. */
const retryDelay = 10_000
const mostSubjects = 10_000

/** Counts the requests of this process only. */
export class LocalCounts implements Counts {
  readonly #now: () => number
  readonly #balances = new Map<string, { left: number; at: number }>()

  /** @param now milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  take(subject: string, { perSecond, burst }: Rate, wanted: number, minimum = 1): Promise<Grant> {
    const at = this.#now()
    const known = this.#balances.get(subject) ?? { left: burst, at }
    const available = Math.min(burst, known.left + ((at - known.at) / 1000) * perSecond)
    const most = Math.min(wanted, Math.floor(available))
    const granted = most < minimum ? 0 : most
    const left = available - granted
    this.#balances.delete(subject)
    if (this.#balances.size >= mostSubjects) {
      const [oldest] = this.#balances.keys()
      if (oldest !== undefined) this.#balances.delete(oldest)
    }
    this.#balances.set(subject, { left, at })
    return Promise.resolve({ granted, left })
  }
  putBack(subject: string, { burst }: Rate, count: number): Promise<void> {
    const known = this.#balances.get(subject)
    if (known) known.left = Math.min(burst, known.left + count)
    return Promise.resolve()
  }
}
