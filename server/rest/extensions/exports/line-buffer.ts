// Lines of a streamed body that wait for their reader, in pieces of memory that are used again.

/** Bytes of a piece. A longer line gets a piece of its own. */
export const pieceSize = 64 * 1024
/** Pieces that are kept for reuse. */
const kept = 4

const lineFeed = 0x0a
const space = 0x20

/** Memory whose first `length` bytes are written. */
export type Piece = { readonly memory: Buffer; readonly length: number }

export class LineBuffer {
  readonly #unused: Buffer[] = []
  readonly #full: Piece[] = []
  #memory: Buffer = newMemory(pieceSize)
  #used = 0
  /** Total number of bytes that were added. */
  bytes = 0
  /** Bytes that were not taken yet. */
  waiting = 0

  addText(text: string): void {
    const bytes = Buffer.from(text)
    this.#reserve(bytes.length)
    this.#used += bytes.copy(this.#memory, this.#used)
    this.#count(bytes.length)
  }

  /** Adds a line feed, then the bytes of `source` from `start` to `end`. */
  addAfterLineFeed(source: Buffer, start: number, end: number): void {
    const length = end - start + 1
    this.#reserve(length)
    this.#memory[this.#used] = lineFeed
    source.copy(this.#memory, this.#used + 1, start, end)
    this.#used += length
    this.#count(length)
  }

  /** Adds bytes as one line: line feeds in it, which are white space in JSON, become spaces. */
  addLine(source: Buffer, start: number, end: number): void {
    const length = end - start + 1
    this.#reserve(length)
    const memory = this.#memory
    const stop = this.#used + length - 1
    source.copy(memory, this.#used, start, end)
    // The search ends at this line feed at the latest.
    memory[stop] = lineFeed
    let at = memory.indexOf(lineFeed, this.#used)
    while (at < stop) {
      memory[at] = space
      at = memory.indexOf(lineFeed, at + 1)
    }
    this.#used += length
    this.#count(length)
  }

  /** The oldest piece that is full, or else what there is; undefined when there is nothing. */
  take(): Piece | undefined {
    const piece = this.#full.shift() ?? this.#cut()
    if (piece) this.waiting -= piece.length
    return piece
  }

  /** Returns the memory of a piece that was written to its reader. */
  giveBack({ memory }: Piece): void {
    if (memory.length === pieceSize && this.#unused.length < kept) this.#unused.push(memory)
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

  #count(length: number): void {
    this.bytes += length
    this.waiting += length
  }

  #reserve(length: number): void {
    if (this.#used + length <= this.#memory.length) return
    const piece = this.#cut()
    if (piece) this.#full.push(piece)
    if (length > this.#memory.length) this.#memory = newMemory(length)
  }

  /** Ends the current piece. */
  #cut(): Piece | undefined {
    if (this.#used === 0) return undefined
    const piece = { memory: this.#memory, length: this.#used }
    this.#memory = this.#unused.pop() ?? newMemory(pieceSize)
    this.#used = 0
    return piece
  }
}

const newMemory = (size: number): Buffer => Buffer.allocUnsafeSlow(size)
