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

/** Names that are prepared on one connection, the least recently used first; a bounded number. */
export class StatementCache {
  readonly #names = new Set<string>()
  readonly #limit: number

  constructor(limit = 500) {
    this.#limit = limit
  }

  /** Whether the statement is prepared; if so it counts as just used. */
  use(name: string): boolean {
    if (!this.#names.delete(name)) return false
    this.#names.add(name)
    return true
  }

  /** Notes a statement as prepared; returns the one that has to be closed for it, if any. */
  add(name: string): string | undefined {
    this.#names.add(name)
    if (this.#names.size <= this.#limit) return undefined
    const [oldest] = this.#names
    if (oldest !== undefined) this.#names.delete(oldest)
    return oldest
  }

  delete(name: string): void {
    this.#names.delete(name)
  }

  clear(): void {
    this.#names.clear()
  }
}
