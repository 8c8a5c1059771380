// Reads small objects, and keeps those that were read last in memory. Each version is written once and never changed, and
// its row is looked up for every request, so that bytes from memory are the same as those from the store.
import type { ObjectKey, ObjectStore } from './object-store.ts'

/** Bytes up to which an object is small. */
export const smallSize = 64 * 1024

/** Bytes that an entry needs besides those of the object. */
const overhead = 500

export class SmallObjects {
  readonly #store: ObjectStore
  readonly #capacity: () => number
  /** By the id in the store, least recently used first. */
  readonly #entries = new Map<string, Buffer>()
  #size = 0

  /** @param capacity bytes, read at each use, because the settings can be reloaded; 0 disables the memory */
  constructor(store: ObjectStore, capacity: () => number) {
    this.#store = store
    this.#capacity = capacity
  }

  /**
   * The bytes of a version.
   *
   * @param size as in its row
   * @throws MissingBytesError
   */
  async read(key: ObjectKey, size: number): Promise<Buffer> {
    const capacity = this.#capacity()
    const id = this.#store.idOf(key)
    const known = this.#entries.get(id)
    if (known?.length === size && capacity > 0) {
      // Moves it to the end.
      this.#entries.delete(id)
      this.#entries.set(id, known)
      return known
    }
    const bytes = await this.#readStore(key, size)
    this.#keep(id, bytes, capacity)
    return bytes
  }

  async #readStore(key: ObjectKey, size: number): Promise<Buffer> {
    if (this.#store.getWhole) return this.#store.getWhole(key, size)
    const chunks: Buffer[] = []
    for await (const chunk of (await this.#store.get(key)) as AsyncIterable<Buffer>) chunks.push(chunk)
    return Buffer.concat(chunks)
  }

  #keep(id: string, bytes: Buffer, capacity: number): void {
    this.#forget(id)
    // A small buffer may be a part of a larger one, which would stay in memory with it.
    const own = bytes.length < bytes.buffer.byteLength ? Buffer.allocUnsafeSlow(bytes.length) : bytes
    if (own !== bytes) bytes.copy(own)
    this.#entries.set(id, own)
    this.#size += own.length + overhead
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= capacity) break
      this.#forget(oldest)
    }
  }

  #forget(id: string): void {
    const bytes = this.#entries.get(id)
    if (!bytes) return
    this.#entries.delete(id)
    this.#size -= bytes.length + overhead
  }
}
