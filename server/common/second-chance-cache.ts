// A bounded cache. When it is full the oldest entry goes, unless it was asked for since its last turn: then it stands in
// line once more. A hit only marks its entry, which costs next to nothing; and a round of others that fits takes the place
// of one that is over. https://en.wikipedia.org/wiki/Page_replacement_algorithm#Second-chance

type Entry<V> = { readonly value: V; wasUsed: boolean }

export class SecondChanceCache<V> {
  readonly #limit: number
  readonly #onEviction: () => void
  /** In the order of the line: a map keeps its entries as they were set. */
  readonly #entries = new Map<string, Entry<V>>()

  /**
   * @param limit entries that are held at most
   * @param onEviction hears of every entry that has to make room
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

  /** Adds an entry; one that is there already stays as it is. */
  add(key: string, value: V): void {
    if (this.#limit < 1 || this.#entries.has(key)) return
    if (this.#entries.size >= this.#limit) this.#evict()
    this.#entries.set(key, { value, wasUsed: false })
  }

  /** All entries, the next to be looked at for eviction first. */
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
