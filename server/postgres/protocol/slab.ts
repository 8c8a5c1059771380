// Memory for bytes on their way from one socket to another, used again and again: to allocate it anew for every piece of a
// large result keeps the garbage collector busier than everything else does.
import type { Writable } from 'node:stream'
import { readSize } from './incoming.ts'

/** Slabs that are kept for later: 12 MiB, what twenty answers of 600 KB need at once. */
const most = 192

const unused: Buffer[] = []

export class Slab {
  readonly #memory: Buffer
  #length: number
  #isFree = false

  private constructor(memory: Buffer, length: number) {
    this.#memory = memory
    this.#length = length
  }

  /** A copy of some bytes. */
  static of(bytes: Buffer): Slab {
    if (bytes.length > readSize) return new Slab(Buffer.from(bytes), bytes.length)
    const memory = unused.pop() ?? Buffer.allocUnsafeSlow(readSize)
    bytes.copy(memory)
    return new Slab(memory, bytes.length)
  }

  /**
   * Bytes that `read` puts into the memory it is given.
   *
   * @param read resolves to their number
   */
  static async filledBy(read: (memory: Buffer) => Promise<number>): Promise<Slab> {
    const slab = new Slab(unused.pop() ?? Buffer.allocUnsafeSlow(readSize), 0)
    try {
      slab.#length = await read(slab.#memory)
      return slab
    } catch (error) {
      slab.free()
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

  /** Adds a copy of as many bytes as there is room for; returns their number. */
  append(bytes: Buffer): number {
    const copied = bytes.copy(this.#memory, this.#length)
    this.#length += copied
    return copied
  }

  /** Writes the bytes, and frees them once they are written. Returns what `write` does: false asks to wait. */
  writeTo(writable: Pick<Writable, 'write'>): boolean {
    return writable.write(this.bytes, () => this.free())
  }

  /** Gives the memory back. */
  free(): void {
    if (this.#isFree) return
    this.#isFree = true
    if (this.#memory.length === readSize && unused.length < most) unused.push(this.#memory)
  }
}
