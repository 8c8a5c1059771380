// Cuts the body of a request into parts. When the client disconnects, what has arrived until then is a part, too.
import { Readable } from 'node:stream'

export class IncomingParts {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer | undefined
  #hasEnded = false
  /** Why the body ended early. */
  failure: { readonly error: unknown } | undefined

  constructor(source: Readable) {
    this.#chunks = (source as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  }

  /** Whether there are no more bytes. Waits for the next ones. */
  async isAtEnd(): Promise<boolean> {
    await this.#fill()
    return this.#rest === undefined
  }

  /** The next bytes, at most this many. It must be read to its end before anything else. */
  next(size: number): Readable {
    return Readable.from(this.#part(size), { objectMode: false })
  }

  async *#part(size: number): AsyncGenerator<Buffer> {
    let left = size
    while (left > 0) {
      await this.#fill()
      const chunk = this.#rest
      if (chunk === undefined) return
      this.#rest = chunk.length > left ? chunk.subarray(left) : undefined
      const taken = chunk.subarray(0, left)
      left -= taken.length
      yield taken
    }
  }

  async #fill(): Promise<void> {
    while (this.#rest === undefined && !this.#hasEnded) {
      try {
        const next = await this.#chunks.next()
        if (next.done === true) this.#hasEnded = true
        else if (next.value.length > 0) this.#rest = Buffer.from(next.value)
      } catch (error) {
        this.#hasEnded = true
        this.failure = { error }
      }
    }
  }
}
