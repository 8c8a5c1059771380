// A value too large to wait for: it is passed on while it still arrives from the database, at the pace of the reader.
//
// A slow reader occupies a connection. While no other request needs the connection, that is the cheapest way. Otherwise
// (`spillTo`) the rest is fetched from the database at once, and kept in memory or in a file until the reader takes it.
import type { Writable } from 'node:stream'
import type { StreamedBody } from '../../rest/database.ts'
import { pieceSize } from './buffer-pool.ts'
import { PooledBuffer } from './pooled-buffer.ts'
import { SpillFile } from './spill-file.ts'
import type { SpillSpace } from './spill-space.ts'

/** Stops and continues the arrival. */
export type Flow = { readonly pause: () => void; readonly resume: () => void }

/** Bytes that are given to a reader at once. */
const readerShare = 4 * pieceSize
/** Bytes that are kept for a reader that is slower than the database; beyond that, the database waits. */
const lead = 8 * 1024 * 1024
/** Bytes that may wait to be written to a file; beyond that, the database waits. */
const unwrittenLimit = 4 * 1024 * 1024
/** Milliseconds without a byte taken, after which the reader is given up: it occupies a connection, memory or a file. */
const patience = 60_000
/** Milliseconds over which the rate of a reader is measured, at least. */
const rateWindow = 1000

export class StreamedField implements StreamedBody {
  /** Bytes in all. */
  readonly length: number
  readonly #flow: Flow
  /** What has arrived and was not given to the reader. What is in the file comes after it. */
  readonly #kept: PooledBuffer[] = []
  #keptBytes = 0
  #file: SpillFile | undefined
  #space: SpillSpace | undefined
  #reader: Writable | undefined
  #arrived = 0
  #given = 0
  #awaitsDrain = false
  #isReadingFile = false
  #isPaused = false
  #isDropped = false
  #isComplete = false
  #error: Error | undefined
  #timer: NodeJS.Timeout | undefined
  #stuck: { readonly since: number; readonly taken: number } | undefined
  #onArrived: (() => void) | undefined
  #onDropped: (() => void) | undefined
  readonly #begin = performance.now()

  constructor(length: number, flow: Flow) {
    this.length = length
    this.#flow = flow
  }

  /** Calls `listener` once everything has arrived, so that the connection is free. */
  onArrived(listener: () => void): void {
    this.#onArrived = listener
    if (this.#isComplete) listener()
  }

  /** Calls `listener` once nothing of the value is kept any more: it was read, or nobody is going to read it. */
  onDropped(listener: () => void): void {
    this.#onDropped = listener
    if (this.#isDropped) listener()
  }

  get isDropped(): boolean {
    return this.#isDropped
  }

  /** Bytes of memory that neither the budget nor a file has room for, or that are not written yet. */
  get unplacedBytes(): number {
    return this.#file?.unwrittenBytes ?? 0
  }

  /** Bytes that the reader has taken in a second, from the beginning; those of the first second count as one second's. */
  get averageRate(): number {
    const taken = this.#given - (this.#reader?.writableLength ?? 0)
    return (taken * 1000) / Math.max(performance.now() - this.#begin, rateWindow)
  }

  /** Bytes that have not arrived yet. */
  get remaining(): number {
    return this.length - this.#arrived
  }

  /** Whether it is fetched ahead of its reader. */
  get isSpilling(): boolean {
    return this.#space !== undefined
  }

  /** Whether the database waits. */
  get isPaused(): boolean {
    return this.#isPaused
  }

  /** Takes a copy of what has arrived. */
  push(chunk: Buffer): void {
    this.#arrived += chunk.length
    if (this.#isDropped) return
    if (this.#reader && !this.#awaitsDrain && this.#isGiven) this.#give(PooledBuffer.of(chunk), this.#reader)
    else this.#keep(chunk)
  }

  /** Everything has arrived, and the transaction has ended; or it has failed. */
  end(error?: Error): void {
    this.#isComplete = true
    this.#error = error
    if (this.#reader) this.#feed(this.#reader)
    this.#onArrived?.()
  }

  /** Writes the value to a reader, and ends or (when the transaction fails) destroys it. */
  sendTo(reader: Writable): void {
    this.#reader = reader
    reader.once('close', () => this.drop())
    this.#feed(reader)
  }

  /** Lets the rest arrive unread, so that the connection is free again. */
  drop(): void {
    if (this.#isDropped) return
    this.#isDropped = true
    for (const pooled of this.#kept.splice(0)) this.#release(pooled).free()
    this.#file?.close()
    clearTimeout(this.#timer)
    if (!this.#isComplete) this.#flow.resume()
    this.#onDropped?.()
  }

  /**
   * Keeps what the reader has not taken in `space`, and lets the rest arrive as soon as that allows. To be called again
   * when there may be more space.
   */
  spillTo(space: SpillSpace): void {
    if (this.#isDropped) return
    if (!this.#space) {
      this.#space = space
      const fitting = this.#kept.findIndex(({ size }) => !space.memory.take(size))
      if (fitting >= 0) {
        for (const pooled of this.#kept.splice(fitting)) {
          this.#keptBytes -= pooled.size
          this.#toFile(pooled, space)
        }
      }
    }
    this.#file?.write()
    this.#continue()
  }

  /**
   * Bytes that the reader takes in a second, measured from the first call on. Infinite until that was long enough ago, and
   * while it is not the reader, and a lack of space, that keeps the value from arriving.
   */
  measureRate(): number {
    if (!this.#isPaused || !this.#awaitsDrain || !this.#reader || !this.#space) {
      this.#stuck = undefined
      return Infinity
    }
    const now = performance.now()
    const taken = this.#given - this.#reader.writableLength
    this.#stuck ??= { since: now, taken }
    const time = now - this.#stuck.since
    return time < rateWindow ? Infinity : ((taken - this.#stuck.taken) * 1000) / time
  }

  /** Breaks the connection to a reader that is too slow. */
  giveUp(): void {
    this.#reader?.destroy()
    // A response that is queued behind another one does not close then.
    this.drop()
  }

  /** Whether everything that has arrived was given to the reader. */
  get #isGiven(): boolean {
    return this.#kept.length === 0 && !this.#isReadingFile && this.#file?.isEmpty !== false
  }

  #keep(chunk: Buffer): void {
    const space = this.#space
    if (space && this.#file?.isEmpty === false) this.#toFile(PooledBuffer.of(chunk), space)
    else {
      // A pooled buffer has the same size however few bytes it has.
      const rest = chunk.subarray(this.#kept.at(-1)?.append(chunk) ?? 0)
      if (rest.length > 0) this.#keepPooled(PooledBuffer.of(rest), space)
    }
    const isTooMuch = space ? (this.#file?.unwrittenBytes ?? 0) > unwrittenLimit : this.#keptBytes > lead
    if (!isTooMuch || this.#isPaused) return
    this.#isPaused = true
    this.#flow.pause()
  }

  #keepPooled(pooled: PooledBuffer, space: SpillSpace | undefined): void {
    if (space && !space.memory.take(pooled.size)) {
      this.#toFile(pooled, space)
      return
    }
    this.#kept.push(pooled)
    this.#keptBytes += pooled.size
  }

  #toFile(pooled: PooledBuffer, space: SpillSpace): void {
    this.#file ??= new SpillFile({ space, onProgress: () => this.#onFileProgress() })
    this.#file.append(pooled)
  }

  #onFileProgress(): void {
    this.#continue()
    if (this.#reader) this.#feed(this.#reader)
  }

  /** Lets more arrive, if there is room. */
  #continue(): void {
    if (!this.#isPaused) return
    const hasRoom = this.#space ? (this.#file?.unwrittenBytes ?? 0) <= unwrittenLimit : this.#kept.length === 0
    if (!hasRoom) return
    this.#isPaused = false
    this.#stuck = undefined
    this.#flow.resume()
  }

  #release(pooled: PooledBuffer): PooledBuffer {
    this.#keptBytes -= pooled.size
    this.#space?.memory.giveBack(pooled.size)
    return pooled
  }

  /** Gives the reader its share of what is kept. */
  #feed(reader: Writable): void {
    if (this.#isDropped) return
    if (this.#error) {
      reader.destroy(this.#error)
      return
    }
    while (!this.#awaitsDrain) {
      const pooled = this.#kept.shift()
      if (!pooled) break
      this.#give(this.#release(pooled), reader)
    }
    if (this.#awaitsDrain) return
    if (!this.#isGiven) void this.#readFile(reader)
    else if (this.#isComplete) reader.end()
    else this.#continue()
  }

  async #readFile(reader: Writable): Promise<void> {
    if (this.#isReadingFile) return
    this.#isReadingFile = true
    try {
      while (!this.#awaitsDrain && this.#file?.isReadable === true) {
        const pooled = await this.#file.take()
        if (this.#isDropped) pooled?.free()
        else if (pooled) this.#give(pooled, reader)
        this.#continue()
      }
    } catch (error) {
      reader.destroy(error as Error)
    }
    this.#isReadingFile = false
    if (this.#kept.length > 0 || this.#isGiven) this.#feed(reader)
  }

  #give(pooled: PooledBuffer, reader: Writable): void {
    this.#given += pooled.bytes.length
    if (pooled.writeTo(reader) || reader.writableLength <= readerShare) return
    this.#awaitsDrain = true
    this.#timer = setTimeout(() => this.giveUp(), patience)
    reader.once('drain', () => {
      this.#awaitsDrain = false
      clearTimeout(this.#timer)
      this.#feed(reader)
    })
  }
}
