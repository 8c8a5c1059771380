// Writes the messages of the extended query protocol that a pipeline sends.
// https://www.postgresql.org/docs/current/protocol-message-formats.html

import type { Writable } from 'node:stream'
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

  /** Describes the columns of the statement that was bound last. */
  describePortal(): void {
    this.#open('D')
    this.#text('P')
    this.#terminated('')
    this.#close()
  }

  describeStatement(name: string): void {
    this.#open('D')
    this.#text('S')
    this.#terminated(name)
    this.#close()
  }

  /** Asks the server to send its responses so far, instead of those of the whole part. */
  flush(): void {
    this.#open('H')
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
