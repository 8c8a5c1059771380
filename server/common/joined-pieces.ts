// Collects the pieces of a body, however small they are.

/** Bytes of the first buffer that pieces are copied into. */
const blockSize = 16 * 1024

/**
 * Bytes that arrive in pieces. Pieces are copied as they arrive, so that none of them is kept: a client chooses their size, and a
 * chunk of one byte is a buffer of its own, which takes two hundred times its size. Large ones that are kept until the last has
 * arrived get into the old generation, and take memory until that is collected. Most bodies are one piece, though, which stays what
 * it is, without a copy.
 */
export class JoinedPieces {
  readonly #expected: number
  /** The only piece, until there is another one. */
  #first: Uint8Array | undefined
  #memory: Buffer | undefined
  #end = 0

  /** @param expected number of bytes that will arrive, as far as it is known; memory is taken as they arrive */
  constructor(expected = 0) {
    this.#expected = expected
  }

  add(piece: Uint8Array): void {
    if (!this.#memory && !this.#first) {
      this.#first = piece
      return
    }
    if (this.#first) {
      this.#append(this.#first)
      this.#first = undefined
    }
    this.#append(piece)
  }

  #append(piece: Uint8Array): void {
    const end = this.#end + piece.length
    if (!this.#memory || end > this.#memory.length) {
      const doubled = Math.max(2 * end, blockSize)
      const size = end <= this.#expected ? Math.min(doubled, this.#expected) : doubled
      // Only what is used of it takes memory.
      const memory = Buffer.allocUnsafeSlow(size)
      this.#memory?.copy(memory, 0, 0, this.#end)
      this.#memory = memory
    }
    this.#memory.set(piece, this.#end)
    this.#end = end
  }

  /** All bytes so far. Without a copy if they are one piece. */
  join(): Buffer {
    const only = this.#first
    if (only) return Buffer.isBuffer(only) ? only : Buffer.from(only)
    return this.#memory?.subarray(0, this.#end) ?? Buffer.alloc(0)
  }
}
