// The memory of uploads. It is reused: while images arrive all the time, garbage collection would otherwise take a fifth of
// the processor time, and delay all other requests.
import { BufferPool } from '../../postgres/protocol/buffer-pool.ts'

const mebibyte = 1024 * 1024
/** Bytes that are kept for the next uploads, and the largest buffers that are. */
const kept = 32 * mebibyte
const largest = 16 * mebibyte
/** Milliseconds without uploads after which they are given up. */
const longestIdle = 30_000

const pool = new BufferPool(kept, largest)
let idle: NodeJS.Timeout | undefined

/** A file whose pieces arrive one after the other. */
export class ArrivingFile {
  #memory: Buffer
  #length = 0

  /** @param expected bytes of the file, if they are known */
  constructor(expected = mebibyte) {
    this.#memory = pool.take(Math.max(expected, 1))
  }

  append(piece: Buffer): void {
    const needed = this.#length + piece.length
    if (needed > this.#memory.length) {
      const former = this.#memory
      this.#memory = pool.take(Math.max(needed, former.length * 2))
      former.copy(this.#memory, 0, 0, this.#length)
      pool.giveBack(former)
    }
    this.#length += piece.copy(this.#memory, this.#length)
  }

  /** What has arrived. The next piece, and `free`, end its use. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length)
  }

  free(): void {
    pool.giveBack(this.#memory)
    this.#memory = Buffer.alloc(0)
    this.#length = 0
  }
}

/** The files of one upload. */
export class UploadMemory {
  readonly #files: ArrivingFile[] = []

  /** @param expected bytes of the file, if they are known; it may become larger */
  open(expected?: number): ArrivingFile {
    const file = new ArrivingFile(expected)
    this.#files.push(file)
    return file
  }

  /** Frees the memory of all files, once. */
  free(): void {
    for (const file of this.#files.splice(0)) file.free()
    clearTimeout(idle)
    idle = setTimeout(() => pool.clear(), longestIdle).unref()
  }
}
