// Rows of a staging table in COPY's binary format, which needs no escaping. Each has a JSON array of rows of the body.
// https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-BINARY-FORMAT

const header = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const trailer = Buffer.from([0xff, 0xff])
const numberLength = 4 + 8
/** Number of fields; length and value of the numbers of the first and the last line; length of the array. */
const prefix = 2 + 2 * numberLength + 4
const initialSize = 128 * 1024
/** Bytes of an array of several rows: it fits on a page of the table. A row that is larger has an array of its own. */
export const arraySize = 8000

const [lineFeed, comma, opening, closing] = Buffer.from('\n,[]') as unknown as readonly [number, number, number, number]

function writeNumber(bytes: Buffer, value: number, at: number): number {
  bytes.writeInt32BE(8, at)
  bytes.writeInt32BE(Math.floor(value / 2 ** 32), at + 4)
  return bytes.writeUInt32BE(value % 2 ** 32, at + 8)
}

/**
 * Collects rows until they are taken.
 *
 * A line feed in an array stands for each line of the body, so that `stagedSql` can select the rows of some lines.
 */
export class CopyData {
  #bytes = Buffer.allocUnsafe(initialSize)
  #end = 0
  /** Where the array begins that is not complete; negative if there is none. */
  #array = -1
  #line = 0

  constructor() {
    this.#end = header.copy(this.#bytes)
  }

  /** Bytes that are collected. */
  get length(): number {
    return this.#end
  }

  /**
   * Adds a row.
   *
   * @param line a greater number than that of the row before
   * @param json an object without line feeds and NUL characters; bytes are UTF-8, and copied
   */
  add(line: number, json: string | Buffer): void {
    const size = typeof json === 'string' ? Buffer.byteLength(json) : json.length
    const skipped = line - this.#line
    // The array ends with a bracket.
    const isFull = this.#array >= 0 && this.#end - this.#array + skipped + size + 2 > arraySize
    if (isFull) this.#close()
    if (this.#array < 0) this.#open(line, size)
    else {
      this.#reserve(skipped + size + 2)
      this.#bytes.fill(lineFeed, this.#end, this.#end + skipped)
      this.#end += skipped
      this.#bytes[this.#end++] = comma
    }
    if (typeof json === 'string') this.#bytes.write(json, this.#end)
    else json.copy(this.#bytes, this.#end)
    this.#end += size
    this.#line = line
  }

  /** Ends the data. */
  finish(): void {
    this.#close()
    this.#reserve(trailer.length)
    this.#end += trailer.copy(this.#bytes, this.#end)
  }

  /** Removes what is collected. It is not changed afterwards. */
  take(): Buffer {
    this.#close()
    const taken = this.#bytes.subarray(0, this.#end)
    this.#bytes = Buffer.allocUnsafe(initialSize)
    this.#end = 0
    return taken
  }

  #open(line: number, size: number): void {
    this.#reserve(prefix + size + 2)
    writeNumber(this.#bytes, line, this.#bytes.writeInt16BE(3, this.#end))
    this.#array = this.#end + prefix
    this.#end = this.#array
    this.#bytes[this.#end++] = opening
  }

  /** Completes the array: now its last line and its length are known. */
  #close(): void {
    if (this.#array < 0) return
    this.#bytes[this.#end++] = closing
    const at = writeNumber(this.#bytes, this.#line, this.#array - 4 - numberLength)
    this.#bytes.writeInt32BE(this.#end - this.#array, at)
    this.#array = -1
  }

  #reserve(more: number): void {
    const needed = this.#end + more
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#end)
    this.#bytes = larger
  }
}
