// A cache that is bounded in entries and bytes, with second-chance eviction: when it is full, the oldest entry is evicted,
// unless it was read since it last reached the front of the queue; then it moves to the back. A hit only sets a flag, which
// is cheaper than an LRU list. https://en.wikipedia.org/wiki/Page_replacement_algorithm#Second-chance
import { createHash } from 'node:crypto'

type Entry<V> = { readonly value: V; readonly bytes: number; wasUsed: boolean }

export type CacheLimits = {
  /** Maximum number of entries; with 0 nothing is cached. */
  readonly entries: number
  /** Maximum number of bytes of all entries. */
  readonly bytes: number
  /** Characters of a key above which the cache has its hash in its place; by default `longestKey`. */
  readonly key?: number
}

export const longestKey = 4096

/** Bytes of an entry besides its key and its value. */
const overhead = 200

/** Bytes of a text in memory, at most. */
export const bytesOfText = (text: string): number => 2 * text.length

export class SecondChanceCache<V> {
  readonly #limits: CacheLimits
  readonly #onEviction: () => void
  /** The queue: a map iterates in insertion order. */
  readonly #entries = new Map<string, Entry<V>>()
  #bytes = 0

  /** @param onEviction is called for every eviction */
  constructor(limits: CacheLimits, onEviction: () => void = () => undefined) {
    this.#limits = limits
    this.#onEviction = onEviction
  }

  /** Number of entries. */
  get size(): number {
    return this.#entries.size
  }

  /** Bytes of all entries, as far as they are known. */
  get bytes(): number {
    return this.#bytes
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(this.#keptKey(key))
    if (!entry) return undefined
    entry.wasUsed = true
    return entry.value
  }

  /**
   * Adds an entry. Does not replace an existing one. An entry that is larger than the whole cache is not added.
   *
   * @param bytes of the value, estimated; its key is added to them
   */
  add(key: string, value: V, bytes: number): void {
    const kept = this.#keptKey(key)
    const size = bytes + bytesOfText(kept) + overhead
    if (this.#limits.entries < 1 || size > this.#limits.bytes || this.#entries.has(kept)) return
    while (this.#entries.size >= this.#limits.entries || this.#bytes + size > this.#limits.bytes) this.#evict()
    this.#entries.set(kept, { value, bytes: size, wasUsed: false })
    this.#bytes += size
  }

  /** All entries, starting with the next candidate for eviction. Long keys are hashes. */
  entries(): (readonly [string, V])[] {
    return Array.from(this.#entries, ([key, { value }]) => [key, value] as const)
  }

  /** The key itself, or the hash of a long one, whose text is not that of a key that anyone could send. */
  #keptKey(key: string): string {
    const { key: longest = longestKey } = this.#limits
    return key.length <= longest ? key : createHash('sha256').update(key).digest('base64')
  }

  #evict(): void {
    for (const [key, entry] of this.#entries) {
      this.#entries.delete(key)
      if (!entry.wasUsed) {
        this.#bytes -= entry.bytes
        break
      }
      entry.wasUsed = false
      this.#entries.set(key, entry)
    }
    this.#onEviction()
  }
}
