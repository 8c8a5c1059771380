// The messages of the extended query protocol that a pipeline sends and reads.
// https://www.postgresql.org/docs/current/protocol-message-formats.html

import type { Writable } from 'node:stream'
import type { RawRow, ServerError } from '../../rest/database.ts'
import { buffers, pieceSize } from './buffer-pool.ts'
import { PooledBuffer } from './pooled-buffer.ts'

/** Texts of at least so many UTF-16 units are measured before they are written. */
const longText = 1024
/** Bytes of the writer's own buffer. Larger ones come from the buffer pool, and are sent without a copy. */
const smallBuffer = 4096

/** Parameters of a statement, at most: their number has 16 bits. */
export const mostParameters = 65_535

/**
 * Collects frontend messages into one buffer, to be sent in one write. When writing a message throws, `undoTo` removes the
 * part that was written.
 */
export class MessageWriter {
  #buffer: Buffer = Buffer.allocUnsafeSlow(smallBuffer)
  #end = 0
  #start = 0

  /** Where the next message begins; see `undoTo`. */
  get mark(): number {
    return this.#end
  }

  /** Removes what was written since `mark` had this value. Nothing may have been sent since. */
  undoTo(mark: number): void {
    this.#end = mark
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes
    if (needed <= this.#buffer.length) return
    const former = this.#buffer
    const doubled = Math.max(former.length * 2, needed)
    this.#buffer = needed < pieceSize ? Buffer.allocUnsafeSlow(Math.min(doubled, pieceSize - 1)) : buffers.take(doubled)
    former.copy(this.#buffer, 0, 0, this.#end)
    if (former.length >= pieceSize) buffers.giveBack(former)
  }

  #open(code: string): void {
    this.#reserve(5)
    this.#start = this.#end + 1
    this.#buffer[this.#end] = code.charCodeAt(0)
    this.#end += 5
  }

  #close(): void {
    this.#buffer.writeInt32BE(this.#end - this.#start, this.#start)
  }

  /** A number of items, which the server reads without a sign. */
  #count(value: number): void {
    this.#reserve(2)
    this.#end = this.#buffer.writeUInt16BE(value, this.#end)
  }

  #int16(value: number): void {
    this.#reserve(2)
    this.#end = this.#buffer.writeInt16BE(value, this.#end)
  }

  #int32(value: number): void {
    this.#reserve(4)
    this.#end = this.#buffer.writeInt32BE(value, this.#end)
  }

  /** Writes text without its length; returns the bytes written. */
  #text(value: string): number {
    // A UTF-16 unit takes at most three bytes.
    this.#reserve(value.length < longText ? value.length * 3 : Buffer.byteLength(value))
    const written = this.#buffer.write(value, this.#end)
    this.#end += written
    return written
  }

  #terminated(value: string): void {
    this.#text(value)
    this.#reserve(1)
    this.#buffer[this.#end++] = 0
  }

  parse(name: string, text: string): void {
    this.#open('P')
    this.#terminated(name)
    this.#terminated(text)
    this.#count(0)
    this.#close()
  }

  /**
   * Binds to the unnamed portal: strings in text form, buffers in binary form. `formats` as in `PipelineStatement`.
   *
   * @throws RangeError for more than `mostParameters` values; TypeError for a value of another type
   */
  bind(name: string, values: readonly (string | Buffer | null)[], formats: readonly (0 | 1)[]): void {
    this.#open('B')
    this.#terminated('')
    this.#terminated(name)
    this.#count(values.length)
    for (const value of values) this.#int16(Buffer.isBuffer(value) ? 1 : 0)
    this.#count(values.length)
    for (const value of values) {
      if (value === null) {
        this.#int32(-1)
      } else if (typeof value === 'string') {
        const lengthAt = this.#end
        this.#int32(0)
        // Writing the text may move the buffer, so it comes first.
        const length = this.#text(value)
        this.#buffer.writeInt32BE(length, lengthAt)
      } else if (!Buffer.isBuffer(value)) {
        // Callers may have no compiler that checks them.
        throw new TypeError(`a parameter of a statement is of the type ${typeof value}`)
      } else {
        this.#int32(value.length)
        this.#reserve(value.length)
        this.#end += value.copy(this.#buffer, this.#end)
      }
    }
    this.#count(formats.length)
    for (const format of formats) this.#int16(format)
    this.#close()
  }

  execute(): void {
    this.#open('E')
    this.#terminated('')
    this.#int32(0)
    this.#close()
  }

  closeStatement(name: string): void {
    this.#open('C')
    this.#text('S')
    this.#terminated(name)
    this.#close()
  }

  describeStatement(name: string): void {
    this.#open('D')
    this.#text('S')
    this.#terminated(name)
    this.#close()
  }

  sync(): void {
    this.#open('S')
    this.#close()
  }

  /** Sends what was written since the last call, in one write. */
  sendTo(stream: Pick<Writable, 'write'>): void {
    const written = this.#buffer.subarray(0, this.#end)
    this.#end = 0
    if (this.#buffer.length < pieceSize) {
      if (written.length <= smallBuffer) stream.write(Buffer.from(written))
      else PooledBuffer.of(written).writeTo(stream)
      return
    }
    const used = this.#buffer
    this.#buffer = Buffer.allocUnsafeSlow(smallBuffer)
    stream.write(written, () => buffers.giveBack(used))
  }
}

const headerLength = 5
const dataRow = 0x44
/** Rows of at least so many bytes are streamed if there is a consumer. */
const largeRow = 8 * 1024

/** Consumes large rows while they arrive. */
export type LargeRows = {
  /** Whether a row that arrives now would be consumed. */
  readonly wants: () => boolean
  /**
   * Receives all fields of a row but the last, and the length of the last. The returned object receives the bytes of
   * the last, and must copy them.
   */
  readonly begin: (fields: RawRow, length: number) => { push: (chunk: Buffer) => void }
}

type StreamedRow = { readonly field: ReturnType<LargeRows['begin']>; left: number }

/** Splits a byte stream into backend messages. */
export class MessageReader {
  /** A message of which only a part has arrived, in a buffer of its full size once that is known. */
  #partial: Buffer | undefined
  #have = 0
  readonly #largeRows: LargeRows
  /** The beginning of a large row whose first fields have not arrived yet. */
  #held: Buffer | undefined
  #streamed: StreamedRow | undefined

  constructor(largeRows: LargeRows) {
    this.#largeRows = largeRows
  }

  /**
   * Calls `onMessage` with the code of every complete message, and its body as a range of a buffer. Once it returns
   * `false`, returns that message and all that follows.
   */
  read(
    arrived: Buffer,
    onMessage: (code: number, buffer: Buffer, start: number, end: number) => boolean,
  ): Buffer | undefined {
    const chunk = this.#held ? Buffer.concat([this.#held, arrived]) : arrived
    this.#held = undefined
    let offset = 0
    while (offset < chunk.length) {
      if (this.#streamed) {
        offset = this.#pass(this.#streamed, chunk, offset)
        continue
      }
      const available = chunk.length - offset
      if (!this.#partial && isLargeRow(chunk, offset) && this.#largeRows.wants()) {
        offset = this.#begin(chunk, offset)
        continue
      }
      if (this.#partial || available < headerLength || available < 1 + chunk.readInt32BE(offset + 1)) {
        offset = this.#fill(chunk, offset)
        const message = this.#partial
        if (!message || this.#have < headerLength || this.#have < message.length) return undefined
        this.#partial = undefined
        this.#have = 0
        if (!onMessage(message[0] ?? 0, message, headerLength, message.length)) {
          return Buffer.concat([message, chunk.subarray(offset)])
        }
        continue
      }
      const end = offset + 1 + chunk.readInt32BE(offset + 1)
      if (!onMessage(chunk[offset] ?? 0, chunk, offset + headerLength, end)) return chunk.subarray(offset)
      offset = end
    }
    return undefined
  }

  /** Begins to stream a large row, once the fields before its last have arrived. */
  #begin(chunk: Buffer, start: number): number {
    const begun = readRowStart(chunk, start + headerLength)
    if (!begun) {
      this.#held = Buffer.from(chunk.subarray(start))
      return chunk.length
    }
    this.#streamed = { field: this.#largeRows.begin(begun.fields, begun.length), left: begun.length }
    return begun.offset
  }

  #pass(streamed: StreamedRow, chunk: Buffer, start: number): number {
    const end = Math.min(chunk.length, start + streamed.left)
    streamed.left -= end - start
    if (streamed.left === 0) this.#streamed = undefined
    streamed.field.push(chunk.subarray(start, end))
    return end
  }

  /** Copies bytes of the chunk to the partial message: first its header, which has the size, then the rest. */
  #fill(chunk: Buffer, start: number): number {
    let offset = start
    let partial = (this.#partial ??= Buffer.allocUnsafe(headerLength))
    while (offset < chunk.length && this.#have < partial.length) {
      const copied = chunk.copy(partial, this.#have, offset)
      this.#have += copied
      offset += copied
      if (this.#have !== headerLength) continue
      const whole = Buffer.allocUnsafe(1 + partial.readInt32BE(1))
      partial.copy(whole)
      partial = this.#partial = whole
    }
    return offset
  }
}

/** Whether a large row begins at the offset. */
const isLargeRow = (chunk: Buffer, offset: number): boolean =>
  chunk[offset] === dataRow && chunk.length - offset >= headerLength && chunk.readInt32BE(offset + 1) >= largeRow

/** All fields of a row but the last, the length of the last, and where it begins; undefined until they have arrived. */
function readRowStart(
  buffer: Buffer,
  start: number,
): { readonly fields: RawRow; readonly length: number; readonly offset: number } | undefined {
  if (start + 2 > buffer.length) return undefined
  const count = buffer.readInt16BE(start)
  const fields: (Buffer | null)[] = []
  let offset = start + 2
  for (;;) {
    if (offset + 4 > buffer.length) return undefined
    const length = buffer.readInt32BE(offset)
    offset += 4
    if (fields.length === count - 1) return { fields, length: Math.max(length, 0), offset }
    if (offset + Math.max(length, 0) > buffer.length) return undefined
    fields.push(length < 0 ? null : Buffer.from(buffer.subarray(offset, offset + length)))
    offset += Math.max(length, 0)
  }
}

/** The fields of a DataRow message, copied, because sockets reuse their memory. */
export function readRow(buffer: Buffer, start: number, end: number): RawRow {
  const count = buffer.readInt16BE(start)
  const row = new Array<Buffer | null>(count)
  const body = Buffer.from(buffer.subarray(start + 2, end))
  let offset = 0
  for (let index = 0; index < count; index++) {
    const length = body.readInt32BE(offset)
    offset += 4
    if (length < 0) {
      row[index] = null
    } else {
      row[index] = body.subarray(offset, offset + length)
      offset += length
    }
  }
  return row
}

/** An ErrorResponse message. */
export function readError(buffer: Buffer, start: number, end: number): ServerError {
  const fields = new Map<string, string>()
  let offset = start
  while (offset < end && buffer[offset] !== 0) {
    const stop = buffer.indexOf(0, offset + 1)
    fields.set(String.fromCharCode(buffer[offset] ?? 0), buffer.toString('utf8', offset + 1, stop))
    offset = stop + 1
  }
  const detail = fields.get('D')
  const hint = fields.get('H')
  const where = fields.get('W')
  const routine = fields.get('R')
  return {
    severity: fields.get('V') ?? fields.get('S') ?? 'ERROR',
    code: fields.get('C') ?? 'XX000',
    message: fields.get('M') ?? '',
    ...(detail === undefined ? {} : { detail }),
    ...(hint === undefined ? {} : { hint }),
    ...(where === undefined ? {} : { where }),
    ...(routine === undefined ? {} : { routine }),
  }
}
