// Collects the chunks of an upload into one part.

/** Bytes of the first memory, which is enough for most small objects. */
const firstSize = 16 * 1024
/** How much larger each further memory is. Large steps leave little garbage behind. */
const growth = 8

/** Collects up to a maximum number of bytes. Its memory grows with its content, and is reused after `clear`. */
export class PartBuffer {
  readonly #maxBytes: number
  #memory = Buffer.alloc(0)
  #length = 0

  /** @param maxBytes bytes of a full part */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Copies what fits, and returns the rest, which is empty if everything fits. */
  add(chunk: Buffer): Buffer {
    const taken = Math.min(chunk.length, this.#maxBytes - this.#length)
    this.#reserve(this.#length + taken)
    chunk.copy(this.#memory, this.#length, 0, taken)
    this.#length += taken
    return chunk.subarray(taken)
  }

  /** The bytes so far. Their content changes with the next `add` after `clear`. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length)
  }

  clear(): void {
    this.#length = 0
  }

  #reserve(size: number): void {
    if (size <= this.#memory.length) return
    const wanted = Math.max(firstSize, size, this.#memory.length * growth)
    const larger = Buffer.allocUnsafeSlow(Math.min(wanted, this.#maxBytes))
    this.bytes.copy(larger)
    this.#memory = larger
  }
}
