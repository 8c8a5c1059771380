// A value too large to wait for: it is passed on while it still arrives from the database, at the pace of the reader.
import type { Writable } from 'node:stream'
import { Slab } from './slab.ts'

/** Stops and continues the arrival. */
export type Flow = { readonly pause: () => void; readonly resume: () => void }

/** Bytes that are kept for a reader that is slower than the database; beyond that, the database waits. */
const lead = 8 * 1024 * 1024
/** Milliseconds without a byte taken, after which the reader is given up: it occupies a connection. */
const patience = 60_000

export class ArrivingField {
  /** Bytes in all. */
  readonly length: number
  readonly #flow: Flow
  #waiting: Slab[] = []
  #reader: Writable | undefined
  #isDropped = false
  #isComplete = false
  #error: Error | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(length: number, flow: Flow) {
    this.length = length
    this.#flow = flow
  }

  /** Takes a copy of what has arrived. */
  push(chunk: Buffer): void {
    if (this.#isDropped) return
    const slab = Slab.of(chunk)
    if (!this.#reader) this.#waiting.push(slab)
    else if (!slab.writeTo(this.#reader) && this.#reader.writableLength > lead) this.#wait(this.#reader)
  }

  /** Everything has arrived, and the transaction has ended; or it has failed. */
  end(error?: Error): void {
    this.#isComplete = true
    this.#error = error
    if (this.#reader) this.#close(this.#reader)
  }

  /** Writes the value to a reader, and ends or (when the transaction fails) destroys it. */
  sendTo(reader: Writable): void {
    this.#reader = reader
    reader.once('close', () => this.drop())
    for (const slab of this.#waiting) slab.writeTo(reader)
    this.#waiting = []
    if (this.#isComplete) this.#close(reader)
  }

  /** Lets the rest arrive unread, so that the connection is free again. */
  drop(): void {
    this.#isDropped = true
    for (const slab of this.#waiting) slab.free()
    this.#waiting = []
    clearTimeout(this.#timer)
    if (!this.#isComplete) this.#flow.resume()
  }

  #close(reader: Writable): void {
    if (this.#error) reader.destroy(this.#error)
    else reader.end()
  }

  #wait(reader: Writable): void {
    this.#flow.pause()
    this.#timer = setTimeout(() => reader.destroy(), patience)
    reader.once('drain', () => {
      clearTimeout(this.#timer)
      if (!this.#isDropped) this.#flow.resume()
    })
  }
}
