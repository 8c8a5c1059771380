// Counts requests of all processes together, in the database (`sql/limits/setup.sql`).
import type { Rate } from '../../identity/limits.ts'
import type { RunQuery } from '../../schema-cache/introspection.ts'

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
   * @returns as many as there are, at most `wanted`
   */
  take(subject: string, rate: Rate, wanted: number): Promise<Grant>
}

/** Undefined function or schema, insufficient privilege, read-only transaction (a standby), unlogged table of a standby. */
const unusable: ReadonlySet<unknown> = new Set(['42883', '3F000', '42501', '25006', '0A000', '55000'])

const takeText = 'select granted, remaining from rowhouse_limits.take($1, $2, $3, $4)'

/** How to make the counts of several processes one. */
const setupHint =
  'run sql/limits/setup.sql of the package rowhouse in the database, and grant the role that connects usage on the schema rowhouse_limits and execute on its function take'

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
  async take(subject: string, rate: Rate, wanted: number): Promise<Grant> {
    if (performance.now() < this.#retryAt) return this.#local.take(subject, rate, wanted)
    try {
      const [row] = await this.#query(takeText, [subject, rate.perSecond, rate.burst, wanted])
      return { granted: Number(row?.granted), left: Number(row?.remaining) }
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && unusable.has(error.code))) throw error
      this.#retryAt = performance.now() + retryDelay
      if (!this.#hasWarned) this.#onWarning(`each process counts requests on its own (${error.message}): ${setupHint}`)
      this.#hasWarned = true
      return this.#local.take(subject, rate, wanted)
    }
  }
}

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

  take(subject: string, { perSecond, burst }: Rate, wanted: number): Promise<Grant> {
    const at = this.#now()
    const known = this.#balances.get(subject) ?? { left: burst, at }
    const available = Math.min(burst, known.left + ((at - known.at) / 1000) * perSecond)
    const granted = Math.min(wanted, Math.floor(available))
    const left = available - granted
    this.#balances.delete(subject)
    if (this.#balances.size >= mostSubjects) {
      const [oldest] = this.#balances.keys()
      if (oldest !== undefined) this.#balances.delete(oldest)
    }
    this.#balances.set(subject, { left, at })
    return Promise.resolve({ granted, left })
  }
}
