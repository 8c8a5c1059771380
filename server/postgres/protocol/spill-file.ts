// A temporary file for the part of a response that its reader has not taken yet. It is unlinked at once, so that
// nothing is left of it however the process ends.
import { randomUUID } from 'node:crypto'
import { open, unlink, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pieceSize } from './buffer-pool.ts'
import { PooledBuffer } from './pooled-buffer.ts'
import type { SpillSpace } from './spill-space.ts'

/** Maximum number of buffers that are written at once. */
const batchSize = 32

export type SpillFileOptions = {
  readonly space: SpillSpace
  /** Is called when something was written, or could not be written. */
  readonly onProgress: () => void
  /** Folder of the file. */
  readonly folder?: string
}

/** A queue of bytes. What cannot be written because the disk or the space is full stays in memory. */
export class SpillFile {
  readonly #space: SpillSpace
  readonly #onProgress: () => void
  readonly #folder: string
  #handle: FileHandle | undefined
  #unwritten: PooledBuffer[] = []
  #unwrittenBytes = 0
  #written = 0
  #read = 0
  #isWriting = false
  #isReading = false
  #isClosed = false

  /** Creates the file when there is something to write. */
  constructor({ space, onProgress, folder = tmpdir() }: SpillFileOptions) {
    this.#space = space
    this.#onProgress = onProgress
    this.#folder = folder
  }

  /** Bytes of memory that hold what is not written yet. */
  get unwrittenBytes(): number {
    return this.#unwrittenBytes
  }

  get isEmpty(): boolean {
    return this.#read === this.#written && this.#unwritten.length === 0 && !this.#isReading
  }

  /** Whether bytes wait that could not be written, because the disk or the space is full. */
  get isStuck(): boolean {
    return this.#unwritten.length > 0 && !this.#isWriting
  }

  append(pooled: PooledBuffer): void {
    this.#unwritten.push(pooled)
    this.#unwrittenBytes += pooled.size
    this.write()
  }

  /** Starts writing, unless a write is in progress. */
  write(): void {
    if (this.#isWriting || this.#isClosed || this.#unwritten.length === 0) return
    this.#isWriting = true
    void this.#writeAll().finally(() => {
      this.#isWriting = false
      if (this.#isClosed) this.#dispose()
      else this.#onProgress()
    })
  }

  async #writeAll(): Promise<void> {
    while (this.#unwritten.length > 0 && !this.#isClosed) {
      const batch = this.#unwritten.slice(0, batchSize)
      const pieces = batch.map(({ bytes }) => bytes)
      const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
      if (!this.#space.disk.take(length)) return
      if (!(await this.#writePieces(pieces, length))) {
        this.#space.disk.giveBack(length)
        return
      }
      this.#written += length
      this.#unwritten.splice(0, batch.length)
      for (const pooled of batch) this.#release(pooled).free()
      if (!this.#isClosed) this.#onProgress()
    }
  }

  /** Whether everything was written. The next attempt overwrites a partial write. */
  async #writePieces(pieces: readonly Buffer[], length: number): Promise<boolean> {
    try {
      this.#handle ??= await openUnnamed(this.#folder)
      return (await this.#handle.writev(pieces, this.#written)).bytesWritten === length
    } catch {
      return false
    }
  }

  #release(pooled: PooledBuffer): PooledBuffer {
    this.#unwrittenBytes -= pooled.size
    return pooled
  }

  /** Whether `take` would return bytes. If not, `onProgress` is called once it would, unless the queue is empty. */
  get isReadable(): boolean {
    if (this.#isReading || this.#isClosed) return false
    return this.#read < this.#written || (!this.#isWriting && this.#unwritten.length > 0)
  }

  /**
   * The next bytes; undefined unless it is readable.
   *
   * @throws the file system's error
   */
  async take(): Promise<PooledBuffer | undefined> {
    if (!this.isReadable) return undefined
    const left = this.#written - this.#read
    if (left === 0) {
      const first = this.#unwritten.shift()
      return first && this.#release(first)
    }
    this.#isReading = true
    try {
      return await PooledBuffer.filledBy((memory) => this.#readInto(memory, Math.min(left, pieceSize)))
    } finally {
      this.#isReading = false
      if (this.#isClosed) this.#dispose()
    }
  }

  async #readInto(memory: Buffer, length: number): Promise<number> {
    const result = await this.#handle?.read(memory, 0, length, this.#read)
    if (!result || result.bytesRead === 0) throw new Error('a temporary file is shorter than what was written to it')
    this.#read += result.bytesRead
    return result.bytesRead
  }

  /** Discards what is left. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#dispose()
  }

  #dispose(): void {
    if (this.#isWriting || this.#isReading) return
    for (const pooled of this.#unwritten.splice(0)) this.#release(pooled).free()
    this.#space.disk.giveBack(this.#written)
    this.#written = this.#read = 0
    this.#handle?.close().catch(() => undefined)
    this.#handle = undefined
  }
}

async function openUnnamed(folder: string): Promise<FileHandle> {
  const path = join(folder, `rowhouse-${randomUUID()}`)
  const handle = await open(path, 'wx+', 0o600)
  await unlink(path)
  return handle
}
