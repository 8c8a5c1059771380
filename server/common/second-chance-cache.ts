// A bounded cache with second-chance eviction: when it is full, the oldest entry is evicted, unless it was read since it
// last reached the front of the queue; then it moves to the back. A hit only sets a flag, which is cheaper than an LRU
// list. https://en.wikipedia.org/wiki/Page_replacement_algorithm#Second-chance

type Entry<V> = { readonly value: V; wasUsed: boolean }

export class SecondChanceCache<V> {
  readonly #limit: number
  readonly #onEviction: () => void
  /** The queue: a map iterates in insertion order. */
  readonly #entries = new Map<string, Entry<V>>()

  /**
   * @param limit maximum number of entries
   * @param onEviction is called for every eviction
   */
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
    entry.wasUsed = true
    return entry.value
  }

  /** Adds an entry. Does not replace an existing one. */
  add(key: string, value: V): void {
    if (this.#limit < 1 || this.#entries.has(key)) return
    if (this.#entries.size >= this.#limit) this.#evict()
    this.#entries.set(key, { value, wasUsed: false })
  }

  /** All entries, starting with the next candidate for eviction. */
  entries(): (readonly [string, V])[] {
    return Array.from(this.#entries, ([key, { value }]) => [key, value] as const)
  }

  #evict(): void {
    for (const [key, entry] of this.#entries) {
      this.#entries.delete(key)
      if (!entry.wasUsed) break
      entry.wasUsed = false
      this.#entries.set(key, entry)
    }
    this.#onEviction()
  }
}
