// Counts and hashes the bytes of an upload on their way to a store.
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { TooManyBytesError } from '../object-store.ts'

/** A source whose bytes are counted and hashed on their way. */
export class MeasuredSource {
  readonly #source: Readable
  readonly #maxBytes: number
  readonly #signal: AbortSignal | undefined
  readonly #hash = createHash('md5')
  size = 0
  /** Why the source ended early; the store is not the reason. */
  failure: { readonly error: unknown } | undefined

  constructor(source: Readable, maxBytes: number, signal: AbortSignal | undefined) {
    this.#source = source
    this.#maxBytes = maxBytes
    this.#signal = signal
  }

  /** All chunks. The source is left open when reading ends early: a request still gets its response through it. */
  async *chunks(): AsyncGenerator<Buffer> {
    const signal = this.#signal
    const abort = (): void => {
      // The iterator may have stopped listening for errors when this one is emitted.
      this.#source.once('error', () => undefined)
      this.#source.destroy(signal?.reason as Error)
    }
    signal?.addEventListener('abort', abort, { once: true })
    const chunks = this.#source.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
    try {
      for (;;) {
        const chunk = await this.#next(chunks)
        if (chunk === undefined) break
        yield chunk
      }
    } finally {
      signal?.removeEventListener('abort', abort)
      await chunks.return?.()
    }
  }

  /** The next chunk; undefined at the end. */
  async #next(chunks: AsyncIterator<Buffer>): Promise<Buffer | undefined> {
    try {
      this.#signal?.throwIfAborted()
      const next = await chunks.next()
      this.#signal?.throwIfAborted()
      if (next.done === true) return undefined
      const { value } = next
      this.size += value.length
      if (this.size > this.#maxBytes) throw new TooManyBytesError()
      this.#hash.update(value)
      return value
    } catch (error) {
      this.failure = { error }
      throw error
    }
  }

  get eTag(): string {
    return `"${this.#hash.digest('hex')}"`
  }
}
