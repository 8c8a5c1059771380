// Collects the pieces of a body, however small they are.

/** Pieces below this size are copied: as buffers of their own, they would take many times the memory of their bytes. */
const smallPiece = 1024
const blockSize = 16 * 1024

/**
 * Bytes that arrive in pieces. A client chooses the size of the pieces: a chunk of one byte is a buffer of its own, which takes
 * two hundred times its size. Most bodies are one piece, though, which stays what it is, without a block.
 */
export class JoinedPieces {
  /** The first piece, until there is another one. */
  #first: Uint8Array | undefined
  #pieces: Uint8Array[] | undefined
  #block: Buffer | undefined
  /** The part of the block that is not among the pieces yet. */
  #start = 0
  #end = 0

  add(piece: Uint8Array): void {
    if (!this.#pieces && !this.#first) {
      this.#first = piece
      return
    }
    const pieces = (this.#pieces ??= [])
    if (this.#first) {
      this.#append(this.#first, pieces)
      this.#first = undefined
    }
    this.#append(piece, pieces)
  }

  #append(piece: Uint8Array, pieces: Uint8Array[]): void {
    if (piece.length >= smallPiece) {
      this.#flush(pieces)
      pieces.push(piece)
      return
    }
    if (!this.#block || this.#end + piece.length > this.#block.length) {
      this.#flush(pieces)
      this.#block = Buffer.allocUnsafeSlow(blockSize)
      this.#start = this.#end = 0
    }
    this.#block.set(piece, this.#end)
    this.#end += piece.length
  }

  /** All bytes so far. Without a copy if they are one piece, or came in small ones that fill one block at most. */
  join(): Buffer {
    const pieces = this.#pieces ?? (this.#first ? [this.#first] : [])
    this.#flush(pieces)
    const [only] = pieces
    return pieces.length === 1 && Buffer.isBuffer(only) ? only : Buffer.concat(pieces)
  }

  #flush(pieces: Uint8Array[]): void {
    if (this.#block && this.#end > this.#start) pieces.push(this.#block.subarray(this.#start, this.#end))
    this.#start = this.#end
  }
}
