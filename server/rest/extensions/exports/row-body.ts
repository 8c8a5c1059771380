// The body of a streamed response: receives rows from the database and passes them to its reader, at the reader's pace.
import type { Writable } from 'node:stream'
import type { Caller, StatementObserver } from '../../database.ts'
import type { ColumnDescription, Flow, RowReceiver, StreamedBody, StreamEnd } from '../../row-transfer.ts'
import type { RowFormat, StreamedRows } from '../../encode/streamed-rows.ts'
import { createEncoder, type ContentEncoding, type Encoder } from './content-encoding.ts'
import { LineBuffer, pieceSize, type Piece } from './line-buffer.ts'
import { endOfLeading, leadingColumns, readLeading, type LeadingFields } from './leading-fields.ts'

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

/** Creates the encoder of rows from their columns; undefined if the columns cannot be encoded. */
export type EncodeColumns = (
  columns: readonly ColumnDescription[],
  pass: (bytes: Buffer) => void,
) => StreamedRows | undefined

const lineFeed = Buffer.from('\n')
const noNames = Buffer.alloc(0)
const namesOf = (columns: readonly ColumnDescription[]): Buffer =>
  Buffer.from(columns.map(({ name }) => name.toString()).join(','))

export class RowBody implements RowReceiver, StreamedBody, Caller {
  readonly length = undefined
  readonly namesOf: { readonly text: string } | undefined
  /** Resolves when the body is too large to be kept until it is complete. */
  readonly opened: Promise<'opened'>
  /** The fields of the first row that precede its columns; undefined before it has arrived. */
  first: LeadingFields | undefined
  /** Whether the rows cannot be encoded, which was found before the body began. */
  isRefused = false
  /** Number of rows that have arrived. */
  rows = 0
  readonly #format: RowFormat
  readonly #beginsEarly: boolean
  readonly #caller: Caller
  readonly #encode: EncodeColumns
  readonly #lines = new LineBuffer()
  #rows: StreamedRows | undefined
  #names: Buffer | undefined
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
   * @param encode creates the encoder of the rows
   * @param header text of the statement whose columns are the header of a CSV, if they are not those of the rows
   */
  constructor(format: RowFormat, beginsEarly: boolean, caller: Caller, encode: EncodeColumns, header?: string) {
    this.#format = format
    this.#encode = encode
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

  names(columns: readonly ColumnDescription[]): void {
    this.#names = namesOf(columns)
  }

  columns(columns: readonly ColumnDescription[]): boolean {
    const own = columns.slice(leadingColumns)
    if (!this.namesOf) this.#names = namesOf(own)
    this.#rows = this.#encode(own, (bytes) => this.#lines.add(bytes))
    return this.#rows !== undefined || this.#refuse()
  }

  row(buffer: Buffer, start: number, end: number, flow: Flow): boolean {
    if (this.#isDropped) return true
    if (!this.first) {
      const first = readLeading(buffer, start)
      if (!first.hasIsoDates && this.#rows?.needsIsoDates === true) return this.#refuse()
      this.#begin(first, flow)
    }
    const from = endOfLeading(buffer, start)
    if (from < 0) return true
    if (this.rows === 0 && this.#format === 'csv') this.#lines.add(this.#header)
    this.rows++
    return this.#rows?.add(buffer, from, end) === true || this.#refuse()
  }

  #begin(first: LeadingFields, flow: Flow): void {
    this.first = first
    this.#flow = flow
    this.#since = performance.now()
    if (this.#beginsEarly) this.#openTimer = setTimeout(() => this.#open(), longestDelay)
  }

  /** A value is not in the format of its type, or its type is not known. Fails a body that has begun. */
  #refuse(): false {
    if (this.#isOpen) this.fail(new Error('a value could not be encoded'))
    else this.isRefused = true
    return false
  }

  get #header(): Buffer {
    return this.#names ?? noNames
  }

  flush(): void {
    if (!this.#isDropped) this.#rows?.flush()
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
    if (this.#format === 'csv' && this.rows === 0) {
      // As in PostgREST, the columns of what a function has returned are the header, even if filters leave out all rows.
      if (this.first?.hasSource === true) this.#lines.add(this.#header)
      this.#lines.add(lineFeed)
    }
    return this.#lines.takeAll()
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
