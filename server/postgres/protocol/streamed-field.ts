// A large value that is streamed to its reader while it still arrives from the database, at the pace of the reader.
//
// A slow reader occupies a connection, which is the cheapest way while no other request needs the connection. Otherwise
// (`spillTo`) the rest is fetched from the database at once, and kept in memory or in a file until the reader takes it.
//
// The body of a response that the server writes from rows has no reader before its last row: it is collected in the same way.
import type { Writable } from 'node:stream'
import type { Flow, StreamedBody } from '../../rest/row-transfer.ts'
import { pieceSize } from './buffer-pool.ts'
import { PooledBuffer } from './pooled-buffer.ts'
import { SpillFile } from './spill-file.ts'
import type { SpillSpace } from './spill-space.ts'

/** Bytes that are written to a reader at once. */
const readerShare = 4 * pieceSize
/** Bytes that are kept for a reader that is slower than the database; beyond that, the socket is paused. */
const lead = 8 * 1024 * 1024
/** Bytes that may wait to be written to a file; beyond that, the socket is paused. */
const unwrittenLimit = 4 * 1024 * 1024
/** Milliseconds after which a reader that takes nothing is disconnected: it occupies a connection, memory or a file. */
const patience = 60_000
/** Shortest time in milliseconds over which the rate of a reader is measured. */
const rateWindow = 1000

export class StreamedField implements StreamedBody {
  /** Undefined while it is collected. */
  #length: number | undefined
  readonly #flow: Flow
  /** What has arrived and was not given to the reader yet. It precedes what is in the file. */
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
  /** Is called when a value that is collected does not fit into the space. Without it, the rest is kept in memory. */
  #onFull: (() => void) | undefined
  #isOverflowing = false
  readonly #begin = performance.now()

  constructor(length: number | undefined, flow: Flow) {
    this.#length = length
    this.#flow = flow
  }

  /**
   * Begins to collect a value: it has no reader before `end`, and its length is not known until then. It takes over the pieces.
   *
   * @param onFull is called when it does not fit into the space: then the value must be dropped. Without it, the rest is kept in
   *   memory.
   */
  static collected(
    pieces: readonly PooledBuffer[],
    {
      space,
      flow,
      onFull,
    }: { readonly space: SpillSpace; readonly flow: Flow; readonly onFull: (() => void) | undefined },
  ): StreamedField {
    const field = new StreamedField(undefined, flow)
    field.#onFull = onFull
    for (const pooled of pieces) {
      field.#arrived += pooled.bytes.length
      field.#keepPooled(pooled, undefined)
    }
    field.spillTo(space)
    return field
  }

  /** A value that has arrived completely. It takes over the pieces. */
  static arrived(pieces: readonly PooledBuffer[]): StreamedField {
    const field = new StreamedField(
      pieces.reduce((sum, { bytes }) => sum + bytes.length, 0),
      { pause: () => undefined, resume: () => undefined },
    )
    field.#arrived = field.#length ?? 0
    for (const pooled of pieces) field.#keepPooled(pooled, undefined)
    field.end()
    return field
  }

  /** Calls `listener` once everything has arrived, so that the connection is free. */
  onArrived(listener: () => void): void {
    this.#onArrived = listener
    if (this.#isComplete) listener()
  }

  /** Calls `listener` once nothing of the value is kept any more, because it was read or dropped. */
  onDropped(listener: () => void): void {
    this.#onDropped = listener
    if (this.#isDropped) listener()
  }

  get isDropped(): boolean {
    return this.#isDropped
  }

  /** Bytes of memory beyond the budget that are not written to a file, yet or for lack of space. */
  get unplacedBytes(): number {
    return this.#file?.unwrittenBytes ?? 0
  }

  /** Bytes per second that the reader has taken since the beginning. The time counts as at least `rateWindow`. */
  get averageRate(): number {
    const taken = this.#given - (this.#reader?.writableLength ?? 0)
    return (taken * 1000) / Math.max(performance.now() - this.#begin, rateWindow)
  }

  /** Total number of bytes; undefined while the value is collected. */
  get length(): number | undefined {
    return this.#length
  }

  /** Bytes that are known to be on their way. */
  get remaining(): number {
    return this.#length === undefined ? 0 : this.#length - this.#arrived
  }

  /** Whether the value is fetched ahead of its reader. */
  get isSpilling(): boolean {
    return this.#space !== undefined
  }

  /** Whether the socket of the database is paused. */
  get isPaused(): boolean {
    return this.#isPaused
  }

  /** Copies bytes that have arrived. */
  push(chunk: Buffer): void {
    this.#arrived += chunk.length
    if (this.#isDropped) return
    if (this.#reader && !this.#awaitsDrain && this.#isGiven) this.#give(PooledBuffer.of(chunk), this.#reader)
    else this.#keep(chunk)
  }

  /** Call this when everything has arrived, or the transaction has failed. What follows on the connection is not held up. */
  end(error?: Error): void {
    this.#isComplete = true
    if (this.#isPaused) {
      this.#isPaused = false
      this.#flow.resume()
    }
    this.#length ??= this.#arrived
    this.#error = error
    if (this.#reader) this.#feed(this.#reader)
    this.#onArrived?.()
  }

  /** Writes the value to a reader and ends it; destroys it when the transaction fails. */
  sendTo(reader: Writable): void {
    this.#reader = reader
    reader.once('close', () => this.drop())
    this.#feed(reader)
  }

  /** Discards what is kept and what still arrives, so that the connection becomes free. */
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
   * Moves what the reader has not taken to `space`, and lets the rest arrive as far as there is space. Call it again
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
   * Bytes per second that the reader takes, measured since the first call. Infinite until `rateWindow` has passed, and
   * unless the arrival is paused for a slow reader and lack of space.
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

  /** Disconnects a reader that is too slow. */
  giveUp(): void {
    this.#reader?.destroy()
    // A response that is queued behind another one emits no `close` event.
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
      // Fills the last buffer first: pooled buffers have fixed sizes.
      const rest = chunk.subarray(this.#kept.at(-1)?.append(chunk) ?? 0)
      if (rest.length > 0) this.#keepPooled(PooledBuffer.of(rest), space)
    }
    const isTooMuch = space ? (this.#file?.unwrittenBytes ?? 0) > unwrittenLimit : this.#keptBytes > lead
    if (!isTooMuch || this.#isPaused || this.#isOverflowing) return
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
    if (!this.#isComplete && this.#length === undefined && this.#file?.isStuck === true) {
      if (this.#onFull) return this.#onFull()
      this.#isOverflowing = true
    }
    this.#continue()
    if (this.#reader) this.#feed(this.#reader)
  }

  /** Resumes the arrival, if there is room. */
  #continue(): void {
    if (!this.#isPaused) return
    const isWritten = this.#space ? (this.#file?.unwrittenBytes ?? 0) <= unwrittenLimit : this.#kept.length === 0
    if (!isWritten && !this.#isOverflowing) return
    this.#isPaused = false
    this.#stuck = undefined
    this.#flow.resume()
  }

  #release(pooled: PooledBuffer): PooledBuffer {
    this.#keptBytes -= pooled.size
    this.#space?.memory.giveBack(pooled.size)
    return pooled
  }

  /** Writes to the reader what is kept, until the reader is full. */
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
