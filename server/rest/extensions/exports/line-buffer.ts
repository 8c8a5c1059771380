// Lines of a streamed body that wait for their reader, in pieces of memory that are used again.

/** Bytes of a piece. */
export const pieceSize = 64 * 1024
/** Pieces that are kept for reuse. */
const kept = 4

/** Memory whose first `length` bytes are written. */
export type Piece = { readonly memory: Buffer; readonly length: number }

export class LineBuffer {
  readonly #unused: Buffer[] = []
  readonly #full: Piece[] = []
  #memory: Buffer = newMemory()
  #used = 0
  /** Total number of bytes that were added. */
  bytes = 0
  /** Bytes that were not taken yet. */
  waiting = 0

  /** Adds a copy of some bytes. */
  add(source: Buffer): void {
    for (let from = 0; from < source.length;) {
      if (this.#used === pieceSize) this.#full.push(this.#cut())
      const copied = source.copy(this.#memory, this.#used, from)
      this.#used += copied
      from += copied
    }
    this.bytes += source.length
    this.waiting += source.length
  }

  /** The oldest piece that is full, or else what there is; undefined when there is nothing. */
  take(): Piece | undefined {
    const piece = this.#full.shift() ?? (this.#used === 0 ? undefined : this.#cut())
    if (piece) this.waiting -= piece.length
    return piece
  }

  /** Returns the memory of a piece that was written to its reader. */
  giveBack({ memory }: Piece): void {
    if (this.#unused.length < kept) this.#unused.push(memory)
  }

  /** Takes everything, as one buffer. */
  takeAll(): Buffer {
    const pieces: Buffer[] = []
    for (let piece = this.take(); piece; piece = this.take()) pieces.push(piece.memory.subarray(0, piece.length))
    return Buffer.concat(pieces)
  }

  clear(): void {
    this.#full.length = 0
    this.#used = 0
    this.waiting = 0
  }

  /** Ends the current piece. */
  #cut(): Piece {
    const piece = { memory: this.#memory, length: this.#used }
    this.#memory = this.#unused.pop() ?? newMemory()
    this.#used = 0
    return piece
  }
}

const newMemory = (): Buffer => Buffer.allocUnsafeSlow(pieceSize)
