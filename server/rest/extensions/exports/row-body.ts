// The body of a streamed response: receives rows from the database and passes them to its reader, at the reader's pace.
import type { Writable } from 'node:stream'
import type { Caller, Flow, RawRow, RowReceiver, StatementObserver, StreamedBody, StreamEnd } from '../../database.ts'
import { createEncoder, type ContentEncoding, type Encoder } from './content-encoding.ts'
import { LineBuffer, pieceSize, type Piece } from './line-buffer.ts'

export type RowFormat = 'csv' | 'ndjson'

/** Bytes that are kept for a reader that is slower than the database; beyond that, the socket of the database is paused. */
const lead = 1024 * 1024
/** Bytes that may wait in the writable stream of the reader. */
const readerShare = 2 * pieceSize
/**
 * Bytes up to which a body is kept until it is complete, so that the response has its length; for one that begins early,
 * and for any other.
 */
const [smallEarly, smallBody] = [pieceSize, 256 * 1024]
/** Milliseconds after the first row until a body begins that begins early. */
const longestDelay = 50
/** Milliseconds between two flushes of the encoder, so that rows of a slow statement arrive. */
const flushInterval = 100
/** Milliseconds after which a reader that takes nothing is disconnected, because it occupies a connection. */
const patience = 60_000
/** Shortest time in milliseconds over which the rate of a reader is measured. */
const rateWindow = 1000

export class RowBody implements RowReceiver, StreamedBody, Caller {
  readonly length = undefined
  readonly namesOf: { readonly text: string } | undefined
  /** Resolves when the body is too large to be kept until it is complete. */
  readonly opened: Promise<'opened'>
  /** All fields of the first row; undefined as long as there is none. */
  first: RawRow | undefined
  /** Number of rows that have arrived. */
  rows = 0
  readonly #format: RowFormat
  readonly #beginsEarly: boolean
  readonly #caller: Caller
  readonly #lines = new LineBuffer()
  #names = ''
  #flow: Flow | undefined
  #isOpen = false
  #isPaused = false
  #isDropped = false
  #isComplete = false
  #error: Error | undefined
  #encoding: ContentEncoding | undefined
  #reader: Writable | undefined
  #encoder: Encoder | undefined
  #writable: Writable | undefined
  #awaitsDrain = false
  #given = 0
  #since = 0
  #stuck: { readonly since: number; readonly taken: number } | undefined
  #patienceTimer: NodeJS.Timeout | undefined
  #openTimer: NodeJS.Timeout | undefined
  #flushTimer: NodeJS.Timeout | undefined
  #end: StreamEnd | undefined
  readonly #endListeners: ((end: StreamEnd) => void)[] = []
  readonly #goneListeners = new Set<() => void>()
  #open: () => void = () => undefined

  /**
   * @param beginsEarly whether it begins before its last row is known
   * @param caller who waits for the response
   * @param header text of the statement whose columns are the header of a CSV
   */
  constructor(format: RowFormat, beginsEarly: boolean, caller: Caller, header?: string) {
    this.#format = format
    this.#beginsEarly = beginsEarly
    this.#caller = caller
    this.namesOf = header === undefined ? undefined : { text: header }
    this.opened = new Promise((resolve) => {
      this.#open = () => {
        this.#isOpen = true
        resolve('opened')
      }
    })
  }

  // What the database calls.

  get hasBegun(): boolean {
    return this.first !== undefined
  }

  columns(names: readonly Buffer[]): void {
    this.#names = names.map((name) => name.toString()).join(',')
  }

  begin(fields: RawRow, flow: Flow): void {
    this.first = fields
    this.#flow = flow
    this.#since = performance.now()
    if (this.#beginsEarly) this.#openTimer = setTimeout(() => this.#open(), longestDelay)
  }

  row(buffer: Buffer, start: number, end: number): void {
    if (start < 0 || this.#isDropped) return
    this.rows++
    const lines = this.#lines
    if (this.#format === 'ndjson') lines.addLine(buffer, start, end)
    else {
      if (this.rows === 1) lines.addText(this.#names)
      // The text form of a row is a line of CSV in parentheses.
      lines.addAfterLineFeed(buffer, start + 1, end - 1)
    }
  }

  flush(): void {
    const { waiting } = this.#lines
    if (!this.#isOpen && waiting > (this.#beginsEarly ? smallEarly : smallBody)) this.#open()
    if (this.#reader) this.#feed(this.#reader)
    if (this.#isPaused || this.#isDropped || this.#lines.waiting <= lead) return
    this.#isPaused = true
    this.#flow?.pause()
  }

  measureRate(): number {
    const reader = this.#reader
    if (!this.#isPaused || !this.#awaitsDrain || !reader) {
      this.#stuck = undefined
      return Infinity
    }
    const now = performance.now()
    const taken = this.#given - reader.writableLength
    this.#stuck ??= { since: now, taken }
    const time = now - this.#stuck.since
    return time < rateWindow ? Infinity : ((taken - this.#stuck.taken) * 1000) / time
  }

  giveUp(): void {
    this.fail(new Error('the client takes the response too slowly'))
  }

  // The caller of the transaction, who is gone when the body is dropped: so the statement is cancelled.

  get isGone(): boolean {
    return this.#isDropped || this.#caller.isGone
  }

  get observer(): StatementObserver | undefined {
    return this.#caller.observer
  }

  onGone(listener: () => void): () => void {
    this.#goneListeners.add(listener)
    const forget = this.#caller.onGone(listener)
    return () => {
      this.#goneListeners.delete(listener)
      forget()
    }
  }

  // What the response calls.

  /** All of a complete body. */
  whole(): Buffer {
    clearTimeout(this.#openTimer)
    if (this.#format === 'csv' && this.rows === 0) this.#lines.addText(`${this.#hasSource ? this.#names : ''}\n`)
    return this.#lines.takeAll()
  }

  /** Whether the function of the request has returned rows: as in PostgREST, their columns are the header, if none is left. */
  get #hasSource(): boolean {
    return this.first?.[5]?.toString() === 't'
  }

  /** Compresses the body. Call it before `sendTo`. */
  encode(encoding: ContentEncoding | undefined): void {
    this.#encoding = encoding
  }

  /** Call this when the transaction has ended. */
  end(): void {
    this.#isComplete = true
    if (this.#reader) this.#feed(this.#reader)
  }

  /** Breaks the body off: its reader must not take what it has for all. */
  fail(error: Error): void {
    if (this.#isDropped || this.#end) return
    this.#error = error
    if (!this.#writable) return
    this.#writable.destroy(error)
    this.drop()
  }

  sendTo(writable: Writable): void {
    this.#writable = writable
    if (this.#error) {
      writable.destroy(this.#error)
      this.drop()
      return
    }
    writable.once('finish', () => this.#finish(undefined))
    writable.once('close', () => this.drop())
    const encoder = this.#encoding && createEncoder(this.#encoding)
    if (encoder) {
      encoder.once('error', (error) => this.fail(error))
      encoder.pipe(writable)
      this.#encoder = encoder
    }
    this.#reader = encoder ?? writable
    this.#feed(this.#reader)
  }

  drop(): void {
    if (this.#isDropped) return
    this.#isDropped = true
    for (const timer of [this.#openTimer, this.#flushTimer]) clearTimeout(timer)
    this.#lines.clear()
    this.#encoder?.destroy()
    if (!this.#isComplete) {
      // The backend sees a cancellation only when it can send.
      this.#flow?.resume()
      for (const listener of [...this.#goneListeners]) listener()
    }
    this.#finish(this.#error ?? new Error('the client disconnected'))
  }

  onEnd(listener: (end: StreamEnd) => void): void {
    if (this.#end) listener(this.#end)
    else this.#endListeners.push(listener)
  }

  #endPatience(): void {
    clearTimeout(this.#patienceTimer)
    this.#patienceTimer = undefined
  }

  #finish(error: Error | undefined): void {
    this.#endPatience()
    if (this.#end) return
    const milliseconds = this.#since === 0 ? 0 : performance.now() - this.#since
    this.#end = { rows: this.rows, bytes: this.#lines.bytes, milliseconds, error }
    for (const listener of this.#endListeners) listener(this.#end)
  }

  /** Writes to the reader what there is, until the reader is full. */
  #feed(reader: Writable): void {
    while (!this.#awaitsDrain && !this.#isDropped) {
      const piece = this.#lines.take()
      if (!piece) break
      this.#give(piece, reader)
    }
    if (this.#awaitsDrain || this.#isDropped) return
    if (this.#isComplete) {
      clearTimeout(this.#flushTimer)
      // The body takes part in the limit of exports until its reader has all of it.
      this.#patienceTimer ??= setTimeout(() => this.giveUp(), patience)
      reader.end()
    } else {
      this.#scheduleFlush()
      this.#continue()
    }
  }

  #continue(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#stuck = undefined
    this.#flow?.resume()
  }

  #give(piece: Piece, reader: Writable): void {
    this.#given += piece.length
    const hasRoom = reader.write(piece.memory.subarray(0, piece.length), () => this.#lines.giveBack(piece))
    if (hasRoom || reader.writableLength <= readerShare) return
    this.#awaitsDrain = true
    this.#patienceTimer = setTimeout(() => this.giveUp(), patience)
    reader.once('drain', () => {
      this.#awaitsDrain = false
      this.#endPatience()
      this.#feed(reader)
    })
  }

  /** Lets the encoder pass on what it has: at once the first time, later from time to time. */
  #scheduleFlush(): void {
    const encoder = this.#encoder
    if (!encoder || this.#flushTimer || this.#given === 0) return
    encoder.flush()
    const given = this.#given
    this.#flushTimer = setTimeout(() => {
      this.#flushTimer = undefined
      if (this.#given !== given && !this.#isDropped && !this.#awaitsDrain) this.#scheduleFlush()
    }, flushInterval)
  }
}
