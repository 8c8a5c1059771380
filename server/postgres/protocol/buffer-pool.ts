// Reuses buffers for reads from sockets, statements and pieces of large results. Allocating them each time would cause
// more garbage collection than everything else together.

/** Bytes of the smallest buffers: the most that a socket reads at once. */
export const pieceSize = 64 * 1024
/** Bytes of the largest buffers that `buffers` keeps. */
const largest = 1024 * 1024
/** Bytes that are kept for reuse: what twenty results of 600 KB need at once. */
const kept = 12 * 1024 * 1024

/** Buffers by size: powers of two from `pieceSize` on. */
export class BufferPool {
  readonly #unused = new Map<number, Buffer[]>()
  readonly #limit: number
  readonly #largest: number
  #unusedBytes = 0

  /**
   * @param limit maximum number of bytes that are kept for reuse
   * @param longest bytes of the largest buffers that are kept
   */
  constructor(limit: number, longest = largest) {
    this.#limit = limit
    this.#largest = longest
    this.clear()
  }

  /** Gives up all buffers that are kept for reuse. */
  clear(): void {
    this.#unusedBytes = 0
    for (let size = pieceSize; size <= this.#largest; size *= 2) this.#unused.set(size, [])
  }

  /** Bytes that are kept for reuse. */
  get unusedBytes(): number {
    return this.#unusedBytes
  }

  /** A buffer of at least so many bytes. It may contain data of an earlier use: write before you read. */
  take(bytes: number): Buffer {
    if (bytes > this.#largest) return Buffer.allocUnsafeSlow(bytes)
    let size = pieceSize
    while (size < bytes) size *= 2
    const unused = this.#unused.get(size)?.pop()
    if (!unused) return Buffer.allocUnsafeSlow(size)
    this.#unusedBytes -= size
    return unused
  }

  /** Returns a buffer to the pool. The caller must not use it any more, nor return it again. */
  giveBack(buffer: Buffer): void {
    const unused = this.#unused.get(buffer.length)
    if (!unused || this.#unusedBytes + buffer.length > this.#limit) return
    this.#unusedBytes += buffer.length
    unused.push(buffer)
  }
}

/** The buffers of this process. */
export const buffers = new BufferPool(kept)
