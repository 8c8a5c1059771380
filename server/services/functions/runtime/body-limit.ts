// Bodies of limited size.
import { Transform, type TransformCallback } from 'node:stream'

/** Passes bytes on until there are more than the limit. */
export class BodyLimit extends Transform {
  readonly #limit: number
  readonly #onExceeded: () => void
  #size = 0

  /** @param onExceeded called once, and nothing is passed on from then on */
  constructor(limit: number, onExceeded: () => void) {
    super()
    this.#limit = limit
    this.#onExceeded = onExceeded
  }

  /** Bytes that have arrived. */
  get size(): number {
    return this.#size
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.#size += chunk.length
    if (this.#size <= this.#limit) callback(null, chunk)
    else this.#onExceeded()
  }
}
