// Reads the messages that the server sends to a pipeline.
// https://www.postgresql.org/docs/current/protocol-message-formats.html

import type { ServerError } from '../../rest/database.ts'
import type { ColumnDescription, RawRow } from '../../rest/row-transfer.ts'

const headerLength = 5
const dataRow = 0x44
/** Rows of at least so many bytes are streamed if there is a consumer. Responses with smaller rows have an entity tag. */
export const largeRow = 64 * 1024

/** Consumes large rows while they arrive. */
export type LargeRows = {
  /** Whether a row that arrives now would be consumed. */
  readonly wants: () => boolean
  /**
   * Receives all fields of a row but the last, and the length of the last. The returned object receives the bytes of
   * the last, and must copy them.
   */
  readonly begin: (fields: RawRow, length: number) => { push: (chunk: Buffer) => void }
  /** Whether a row of so many bytes is discarded while it arrives. */
  readonly refuses: (length: number) => boolean
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
  /** Bytes of a discarded row that have not arrived yet. */
  #discarded = 0

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
      if (this.#discarded > 0) {
        const bytes = Math.min(this.#discarded, chunk.length - offset)
        this.#discarded -= bytes
        offset += bytes
        continue
      }
      const available = chunk.length - offset
      if (!this.#partial && isLargeRow(chunk, offset)) {
        const length = chunk.readInt32BE(offset + 1)
        if (this.#largeRows.refuses(length)) {
          this.#discarded = 1 + length
          continue
        }
        if (this.#largeRows.wants()) {
          offset = this.#begin(chunk, offset)
          continue
        }
      }
      if (this.#partial || available < headerLength || available < 1 + chunk.readInt32BE(offset + 1)) {
        offset = this.#fill(chunk, offset)
        if (this.#discarded > 0) continue
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
      const length = partial.readInt32BE(1)
      if (isLargeRow(partial, 0) && this.#largeRows.refuses(length)) {
        this.#partial = undefined
        this.#have = 0
        this.#discarded = 1 + length - headerLength
        return offset
      }
      const whole = Buffer.allocUnsafe(1 + length)
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

/** The length of a DataRow message with these fields, as the message has it: what `largeRow` applies to. */
export function lengthOfRow(row: RawRow): number {
  let length = 6
  for (const field of row) length += 4 + (field?.length ?? 0)
  return length
}

/** The columns in a RowDescription message. */
export function readColumns(buffer: Buffer, start: number): ColumnDescription[] {
  const columns: ColumnDescription[] = []
  let offset = start + 2
  for (let count = buffer.readInt16BE(start); count > 0; count--) {
    const stop = buffer.indexOf(0, offset)
    // The name is followed by the table (four bytes), the column (two), the type (four), and eight more bytes.
    columns.push({ name: Buffer.from(buffer.subarray(offset, stop)), type: buffer.readUInt32BE(stop + 7) })
    offset = stop + 19
  }
  return columns
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
