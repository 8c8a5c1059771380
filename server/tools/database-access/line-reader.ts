// Reads the lines of a stream of bytes. A line ends at a line feed only: function bodies may contain other separators.

const lineFeed = 0x0a

export class LineReader {
  readonly #chunks: AsyncIterator<Buffer, undefined>
  #chunk: Buffer = Buffer.alloc(0)
  #at = 0
  /** The beginning of a line that goes on in the next chunk. */
  #parts: Buffer[] = []
  #isOver = false

  constructor(input: AsyncIterable<Buffer>) {
    this.#chunks = input[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>
  }

  /**
   * The next line without its line feed, if it has arrived. Otherwise call `fill`, until it returns false.
   *
   * @returns undefined when the line has not arrived, or there is none
   */
  take(): Buffer | undefined {
    const end = this.#chunk.indexOf(lineFeed, this.#at)
    const rest = this.#chunk.subarray(this.#at, end === -1 ? undefined : end)
    if (end === -1) {
      if (rest.length > 0) this.#parts.push(rest)
      this.#at = this.#chunk.length
      return this.#isOver && this.#parts.length > 0 ? this.#joined() : undefined
    }
    this.#at = end + 1
    if (this.#parts.length === 0) return rest
    this.#parts.push(rest)
    return this.#joined()
  }

  /** Waits for more bytes. Returns false at the end of the stream, after which `take` returns what has no line feed. */
  async fill(): Promise<boolean> {
    if (this.#isOver) return false
    const result = await this.#chunks.next()
    if (result.done === true) {
      this.#isOver = true
      return this.#parts.length > 0
    }
    this.#chunk = result.value
    this.#at = 0
    return true
  }

  /** The next line; undefined at the end. */
  async next(): Promise<Buffer | undefined> {
    for (;;) {
      const line = this.take()
      if (line) return line
      if (!(await this.fill())) return undefined
    }
  }

  #joined(): Buffer {
    const line = Buffer.concat(this.#parts)
    this.#parts = []
    return line
  }
}
