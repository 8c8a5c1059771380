// Prepared statements of a connection. They are named by a hash of their text: should a pooler hand this connection to
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

/** A statement is `preparing` until the server has answered its Parse, and `closing` until it has answered its Close. */
export type StatementState = 'preparing' | 'prepared' | 'closing'

/**
 * What is known of the prepared statements of one connection, the least recently used first; a bounded number. Only
 * answers of the server make a statement `prepared` or remove it: after an error the server skips what was sent behind
 * it, so that what was sent says little.
 */
export class StatementCache {
  readonly #states = new Map<string, StatementState>()
  readonly #limit: number

  /** @param limit maximum number of statements, at least 1 */
  constructor(limit = 500) {
    this.#limit = limit
  }

  /** The state of a statement, undefined when the server does not have it. A prepared one counts as just used. */
  use(name: string): StatementState | undefined {
    const state = this.#states.get(name)
    if (state === 'prepared') {
      this.#states.delete(name)
      this.#states.set(name, state)
    }
    return state
  }

  /**
   * Makes room for a statement that is about to be prepared.
   *
   * @returns whether there is room, and the statement that has to be closed for it, if any
   */
  reserve(name: string): { readonly hasRoom: boolean; readonly evicted?: string } {
    let evicted: string | undefined
    if (this.#states.size >= this.#limit) {
      evicted = this.#oldestPrepared()
      if (evicted === undefined) return { hasRoom: false }
      this.#states.set(evicted, 'closing')
    }
    this.#states.set(name, 'preparing')
    return evicted === undefined ? { hasRoom: true } : { hasRoom: true, evicted }
  }

  #oldestPrepared(): string | undefined {
    for (const [name, state] of this.#states) if (state === 'prepared') return name
    return undefined
  }

  /** The server has prepared the statement, or has refused to close it. */
  prepared(name: string): void {
    this.#states.delete(name)
    this.#states.set(name, 'prepared')
  }

  /** The server has closed the statement, or has refused to prepare it. */
  removed(name: string): void {
    this.#states.delete(name)
  }

  /** Names of the statements that the server has, in the order of their use. */
  get names(): readonly string[] {
    return [...this.#states].filter(([, state]) => state === 'prepared').map(([name]) => name)
  }

  /** The server has none of them any more. */
  clear(): void {
    this.#states.clear()
  }
}
