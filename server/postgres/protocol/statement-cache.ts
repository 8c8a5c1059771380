// Prepared statements of a connection. Their names are hashes of their texts: if a pooler moves this connection to
// another server session, a name can never run a different statement there.
import { createHash } from 'node:crypto'
import type { ColumnDescription, EncodedRows, RowsPlan } from '../../rest/row-transfer.ts'
import { SecondChanceCache } from '../../common/second-chance-cache.ts'

/** Characters of the longest text that is prepared. PostgreSQL needs about a hundred times as many bytes for its tree. */
export const longestPrepared = 16 * 1024

/** Texts that were sent at least once, with their names if they were sent again. */
const sent = new SecondChanceCache<{ name: string | undefined }>({
  entries: 10_000,
  bytes: 32 * 1024 * 1024,
  // The hash of each text that is sent would take longer than the look-up.
  key: longestPrepared,
})

const bytesOfName = 100

const nameFor = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 24)

/** The name of a statement text that was sent at least twice; undefined for any other, which is not prepared. */
export function knownName(text: string): string | undefined {
  return text.length > longestPrepared ? undefined : sent.get(text)?.name
}

/**
 * The name under which a statement text is prepared; undefined if it is too long, or sent for the first time: most of
 * the texts that are sent once are never repeated, and a prepared statement takes memory of the connection.
 */
export function statementName(text: string): string | undefined {
  if (text.length > longestPrepared) return undefined
  const known = sent.get(text)
  if (known) return (known.name ??= nameFor(text))
  sent.add(text, { name: undefined }, bytesOfName)
  return undefined
}

/**
 * A statement is `preparing` until the server responds to its Parse, and `closing` until it responds to its Close. It is
 * `skipped` when an error made the server skip one of them.
 */
export type StatementState = 'preparing' | 'prepared' | 'closing' | 'skipped'

/** A statement, and whether it was used since it was last considered for eviction. */
type Known = {
  state: StatementState
  wasUsed: boolean
  /** Characters of its text that take memory of the server: none of a statement that is being closed. */
  readonly length: number
  /** What the server has said of its columns, and the encoder for the plan that it was last used with. */
  columns?: readonly ColumnDescription[]
  plan?: RowsPlan
  encoder?: ReturnType<RowsPlan['encoderOf']>
}

export type StatementLimits = {
  /** Maximum number of statements, at least 1. */
  readonly statements?: number
  /** Maximum number of characters of their texts. */
  readonly characters?: number
}

/**
 * The prepared statements of one connection, bounded in number and in the length of their texts. Only responses of the server make a statement `prepared`
 * or remove it, because after an error the server skips what was sent behind it. PgBouncer, which keeps names of its own
 * (`max_prepared_statements`), skips nothing: there, a name whose Parse was skipped is taken, and one whose Close was
 * skipped is free. Closing the name once more makes it free in both. Eviction works as in `SecondChanceCache`: a use
 * only marks its statement, while moving it to the end would take a microsecond.
 */
export class StatementCache {
  readonly #known = new Map<string, Known>()
  readonly #limits: Required<StatementLimits>
  #length = 0
  #skipped: string[] = []

  constructor({ statements = 500, characters = 512 * 1024 }: StatementLimits = {}) {
    this.#limits = { statements, characters }
  }

  /** Characters of the texts of all statements. */
  get length(): number {
    return this.#length
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
   * @param length characters of its text
   * @returns whether there is room, and the statements to close for it
   */
  reserve(name: string, length: number): { readonly hasRoom: boolean; readonly evicted: readonly string[] } {
    const { statements, characters } = this.#limits
    const evicted: string[] = []
    while (this.#known.size - evicted.length >= statements || this.#length + length > characters) {
      const least = this.#leastNeeded()
      if (least === undefined) return { hasRoom: false, evicted }
      this.#set(least, 'closing', 0)
      evicted.push(least)
    }
    this.#set(name, 'preparing', length)
    return { hasRoom: true, evicted }
  }

  #set(name: string, state: StatementState, length: number): void {
    this.#delete(name)
    this.#known.set(name, { state, wasUsed: false, length })
    this.#length += length
  }

  #delete(name: string): void {
    this.#length -= this.#known.get(name)?.length ?? 0
    this.#known.delete(name)
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
    this.#set(name, 'prepared', this.#known.get(name)?.length ?? 0)
  }

  /** Call this when the server has described the statement. Its columns stay the same: otherwise it is stale. */
  describe(name: string, columns: readonly ColumnDescription[]): void {
    const known = this.#known.get(name)
    if (known) known.columns = columns
  }

  /** Begins to encode the rows of a statement; undefined if its columns are not known, or cannot be encoded. */
  beginRows(name: string, plan: RowsPlan): EncodedRows | undefined {
    const known = this.#known.get(name)
    if (known?.columns === undefined) return undefined
    if (known.plan !== plan) {
      known.plan = plan
      known.encoder = plan.encoderOf(known.columns)
    }
    return known.encoder?.begin()
  }

  /** Call this when the server has closed the statement, or when its Parse was not sent. */
  removed(name: string): void {
    this.#delete(name)
  }

  /** Call this when the server has skipped or rejected Parse or Close of the statement, or when its Close was not sent. */
  skip(name: string): void {
    this.#set(name, 'skipped', this.#known.get(name)?.length ?? 0)
    this.#skipped.push(name)
  }

  get hasSkipped(): boolean {
    return this.#skipped.length > 0
  }

  /** Returns the names that were skipped, which the caller must close now. */
  closeSkipped(): readonly string[] {
    const names = this.#skipped
    for (const name of names) this.#set(name, 'closing', 0)
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
    this.#length = 0
    this.#skipped = []
  }
}
