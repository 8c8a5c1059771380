// Prepared statements of a connection. Their names are hashes of their texts: if a pooler moves this connection to
// another server session, a name can never run a different statement there.
import { createHash } from 'node:crypto'

const names = new Map<string, string>()
const maxNames = 10_000

/** The name under which a statement text is prepared. */
export function statementName(text: string): string {
  let name = names.get(text)
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 24)
    if (names.size >= maxNames) names.clear()
    names.set(text, name)
  }
  return name
}

/**
 * A statement is `preparing` until the server responds to its Parse, and `closing` until it responds to its Close. It is
 * `skipped` when an error made the server skip one of them.
 */
export type StatementState = 'preparing' | 'prepared' | 'closing' | 'skipped'

/** A statement, and whether it was used since it was last considered for eviction. */
type Known = { state: StatementState; wasUsed: boolean }

/**
 * The prepared statements of one connection, a bounded number. Only responses of the server make a statement `prepared`
 * or remove it, because after an error the server skips what was sent behind it. PgBouncer, which keeps names of its own
 * (`max_prepared_statements`), skips nothing: there, a name whose Parse was skipped is taken, and one whose Close was
 * skipped is free. Closing the name once more makes it free in both. Eviction works as in `SecondChanceCache`: a use
 * only marks its statement, while moving it to the end would take a microsecond.
 */
export class StatementCache {
  readonly #known = new Map<string, Known>()
  readonly #limit: number
  #skipped: string[] = []

  /** @param limit maximum number of statements, at least 1 */
  constructor(limit = 500) {
    this.#limit = limit
  }

  /** Marks a statement as used. Returns its state; undefined when the server does not have it. */
  use(name: string): StatementState | undefined {
    const known = this.#known.get(name)
    if (known === undefined) return undefined
    known.wasUsed = true
    return known.state
  }

  /**
   * Makes room for a statement that is about to be prepared.
   *
   * @returns whether there is room, and the statement to close for it, if any
   */
  reserve(name: string): { readonly hasRoom: boolean; readonly evicted?: string } {
    let evicted: string | undefined
    if (this.#known.size >= this.#limit) {
      evicted = this.#leastNeeded()
      if (evicted === undefined) return { hasRoom: false }
      this.#known.set(evicted, { state: 'closing', wasUsed: false })
    }
    this.#known.set(name, { state: 'preparing', wasUsed: false })
    return evicted === undefined ? { hasRoom: true } : { hasRoom: true, evicted }
  }

  /** The prepared statement to close. */
  #leastNeeded(): string | undefined {
    // `set` moves statements to the end, so the loop sees each of them at most twice.
    let left = 2 * this.#known.size
    for (const [name, known] of this.#known) {
      if (left-- === 0) break
      if (known.state === 'prepared' && !known.wasUsed) return name
      known.wasUsed = false
      this.#known.delete(name)
      this.#known.set(name, known)
    }
    return undefined
  }

  /** Call this when the server has prepared the statement. */
  prepared(name: string): void {
    this.#known.delete(name)
    this.#known.set(name, { state: 'prepared', wasUsed: false })
  }

  /** Call this when the server has closed the statement, or when its Parse was not sent. */
  removed(name: string): void {
    this.#known.delete(name)
  }

  /** Call this when the server has skipped or rejected Parse or Close of the statement, or when its Close was not sent. */
  skip(name: string): void {
    this.#known.set(name, { state: 'skipped', wasUsed: false })
    this.#skipped.push(name)
  }

  get hasSkipped(): boolean {
    return this.#skipped.length > 0
  }

  /** Returns the names that were skipped, which the caller must close now. */
  closeSkipped(): readonly string[] {
    const names = this.#skipped
    for (const name of names) this.#known.set(name, { state: 'closing', wasUsed: false })
    this.#skipped = []
    return names
  }

  /** Names of the statements in a state. Those that are `skipped` may exist on the server. */
  names(wanted: StatementState): readonly string[] {
    return [...this.#known].filter(([, { state }]) => state === wanted).map(([name]) => name)
  }

  /** Call this when the server has deallocated all statements. */
  clear(): void {
    this.#known.clear()
    this.#skipped = []
  }
}
