// Memory that is used again: a fresh buffer for every read, write and piece of a large result keeps the garbage collector
// busier than everything else does. Sockets read into it, statements are written into it, results pass through it.

/** Bytes of the smallest buffers: what a socket reads at once, at most. */
export const pieceSize = 64 * 1024
/** Bytes of the largest buffers. Anything larger is allocated for one use. */
const largest = 1024 * 1024
/** Bytes that are kept for later: what twenty results of 600 KB need at once. */
const kept = 12 * 1024 * 1024

/** Buffers by size: powers of two from `pieceSize` to `largest`. */
export class BufferPool {
  readonly #unused = new Map<number, Buffer[]>()
  readonly #limit: number
  #unusedBytes = 0

  /** @param limit bytes that are kept for later */
  constructor(limit: number) {
    this.#limit = limit
    for (let size = pieceSize; size <= largest; size *= 2) this.#unused.set(size, [])
  }

  /** Bytes that are kept for later. */
  get unusedBytes(): number {
    return this.#unusedBytes
  }

  /** Gives a buffer of at least so many bytes. What it contains is left from an earlier use: write before you read. */
  take(bytes: number): Buffer {
    if (bytes > largest) return Buffer.allocUnsafeSlow(bytes)
    let size = pieceSize
    while (size < bytes) size *= 2
    const unused = this.#unused.get(size)?.pop()
    if (!unused) return Buffer.allocUnsafeSlow(size)
    this.#unusedBytes -= size
    return unused
  }

  /** Takes a buffer back. Its former owner must not use it any more, nor give it back again. */
  giveBack(buffer: Buffer): void {
    const unused = this.#unused.get(buffer.length)
    if (!unused || this.#unusedBytes + buffer.length > this.#limit) return
    this.#unusedBytes += buffer.length
    unused.push(buffer)
  }
}

/** The buffers of this process. */
export const buffers = new BufferPool(kept)
