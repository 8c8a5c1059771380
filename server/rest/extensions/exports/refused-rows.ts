// Statements whose rows have columns that the server cannot encode, so that later requests need not find it out again.
import { SecondChanceCache } from '../../../common/second-chance-cache.ts'
import type { SchemaCache } from '../../../catalogue/schema-cache.ts'

const limits = { entries: 1000, bytes: 256 * 1024, key: 0 }

/** Texts of statements, for each schema cache: with another one, types may be known. */
export class RefusedRows {
  readonly #texts = new WeakMap<SchemaCache, SecondChanceCache<true>>()

  has(cache: SchemaCache, text: string): boolean {
    return this.#texts.get(cache)?.get(text) === true
  }

  add(cache: SchemaCache, text: string): void {
    const texts = this.#texts.get(cache) ?? new SecondChanceCache<true>(limits)
    texts.add(text, true, 0)
    this.#texts.set(cache, texts)
  }
}
