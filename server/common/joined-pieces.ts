// Collects the pieces of a body, however small they are.

/** Pieces below this size are copied: as buffers of their own, they would take many times the memory of their bytes. */
const smallPiece = 1024
const blockSize = 16 * 1024

/**
 * Bytes that arrive in pieces. A client chooses the size of the pieces: a chunk of one byte is a buffer of its own, which takes
 * two hundred times its size.
 */
export class JoinedPieces {
  readonly #pieces: Uint8Array[] = []
  #block = Buffer.alloc(0)
  /** The part of the block that is not among the pieces yet. */
  #start = 0
  #end = 0

  add(piece: Uint8Array): void {
    if (piece.length >= smallPiece) {
      this.#flush()
      this.#pieces.push(piece)
      return
    }
    if (this.#end + piece.length > this.#block.length) {
      this.#flush()
      this.#block = Buffer.allocUnsafeSlow(blockSize)
      this.#start = this.#end = 0
    }
    this.#block.set(piece, this.#end)
    this.#end += piece.length
  }

  /** All bytes so far. Without a copy if they are one large piece. */
  join(): Buffer {
    this.#flush()
    const [only] = this.#pieces
    return this.#pieces.length === 1 && Buffer.isBuffer(only) ? only : Buffer.concat(this.#pieces)
  }

  #flush(): void {
    if (this.#end > this.#start) this.#pieces.push(this.#block.subarray(this.#start, this.#end))
    this.#start = this.#end
  }
}
