// A piece of a result between the database and a client, in memory of the buffer pool.
import type { Writable } from 'node:stream'
import { buffers, pieceSize } from './buffer-pool.ts'

export class PooledBuffer {
  readonly #memory: Buffer
  #length: number
  #isFree = false

  private constructor(memory: Buffer, length: number) {
    this.#memory = memory
    this.#length = length
  }

  /** A copy of some bytes. */
  static of(bytes: Buffer): PooledBuffer {
    const memory = buffers.take(bytes.length)
    bytes.copy(memory)
    return new PooledBuffer(memory, bytes.length)
  }

  /**
   * Bytes that `read` writes into the memory that it receives.
   *
   * @param read resolves to their number
   */
  static async filledBy(read: (memory: Buffer) => Promise<number>): Promise<PooledBuffer> {
    const pooled = new PooledBuffer(buffers.take(pieceSize), 0)
    try {
      pooled.#length = await read(pooled.#memory)
      return pooled
    } catch (error) {
      pooled.free()
      throw error
    }
  }

  /** Bytes of memory that it occupies. */
  get size(): number {
    return this.#memory.length
  }

  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length)
  }

  /** Appends a copy of as many bytes as there is room for; returns their number. */
  append(bytes: Buffer): number {
    const copied = bytes.copy(this.#memory, this.#length)
    this.#length += copied
    return copied
  }

  /**
   * Writes the bytes, and frees the memory once they are written. Returns the result of `write`: false asks to wait.
   */
  writeTo(writable: Pick<Writable, 'write'>): boolean {
    return writable.write(this.bytes, () => this.free())
  }

  /** Returns the memory to the pool. Later calls do nothing. */
  free(): void {
    if (this.#isFree) return
    this.#isFree = true
    buffers.giveBack(this.#memory)
  }
}
