// A bounded cache that evicts by the SIEVE algorithm: entries stand in order of insertion, a hit only marks its entry,
// and a hand that moves from the oldest to the newest takes out the first unmarked entry it meets, clearing marks on its
// way. https://www.usenix.org/conference/nsdi24/presentation/zhang-yazhuo

type Entry<V> = {
  readonly key: string
  readonly value: V
  visited: boolean
  newer: Entry<V> | undefined
  older: Entry<V> | undefined
}

export class SieveCache<V> {
  readonly #limit: number
  readonly #onEviction: () => void
  readonly #entries = new Map<string, Entry<V>>()
  #newest: Entry<V> | undefined
  #oldest: Entry<V> | undefined
  #hand: Entry<V> | undefined

  /** Holds at most `limit` entries. */
  constructor(limit: number, onEviction: () => void = () => undefined) {
    this.#limit = limit
    this.#onEviction = onEviction
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    entry.visited = true
    return entry.value
  }

  /** Adds an entry; one that is there already stays as it is. */
  add(key: string, value: V): void {
    if (this.#limit < 1 || this.#entries.has(key)) return
    if (this.#entries.size >= this.#limit) this.#evict()
    const entry: Entry<V> = { key, value, visited: false, newer: undefined, older: this.#newest }
    if (this.#newest) this.#newest.newer = entry
    this.#newest = entry
    this.#oldest ??= entry
    this.#entries.set(key, entry)
  }

  #evict(): void {
    let candidate = this.#hand ?? this.#oldest
    while (candidate?.visited) {
      candidate.visited = false
      candidate = candidate.newer ?? this.#oldest
    }
    if (!candidate) return
    const { newer, older } = candidate
    if (newer) newer.older = older
    else this.#newest = older
    if (older) older.newer = newer
    else this.#oldest = newer
    this.#hand = newer
    this.#entries.delete(candidate.key)
    this.#onEviction()
  }
}
