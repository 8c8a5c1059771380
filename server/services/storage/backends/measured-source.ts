// Counts and hashes the bytes of an upload on their way to a store.
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { TooManyBytesError, type PutOptions } from '../object-store.ts'

type SourceOptions = Pick<PutOptions, 'maxBytes' | 'signal'>

/** A source whose bytes are counted and hashed on their way. */
export class MeasuredSource {
  readonly #source: Readable
  readonly #options: SourceOptions
  readonly #hash = createHash('md5')
  size = 0
  /** Why the source ended early; the store is not the reason. */
  failure: { readonly error: unknown } | undefined

  constructor(source: Readable, options: SourceOptions) {
    this.#source = source
    this.#options = options
  }

  /**
   * All chunks, each to be used before the next one is taken. The source is left open when reading ends early: a request still
   * gets its response through it.
   */
  async *chunks(): AsyncGenerator<Buffer> {
    const { signal } = this.#options
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
    const { signal, maxBytes } = this.#options
    try {
      signal?.throwIfAborted()
      const next = await chunks.next()
      signal?.throwIfAborted()
      if (next.done === true) return undefined
      const { value } = next
      this.size += value.length
      if (this.size > maxBytes) throw new TooManyBytesError()
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
