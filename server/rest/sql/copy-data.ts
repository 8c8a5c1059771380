// Rows of a staging table in COPY's binary format, which needs no escaping.
// https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-BINARY-FORMAT

const header = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const trailer = Buffer.from([0xff, 0xff])
/** Number of fields, length and value of the line number, length of the data. */
const prefix = 2 + 4 + 8 + 4
const initialSize = 128 * 1024

/** Collects rows until they are taken. */
export class CopyData {
  #bytes = Buffer.allocUnsafe(initialSize)
  #end = 0

  constructor() {
    this.#end = header.copy(this.#bytes)
  }

  /** Bytes that are collected. */
  get length(): number {
    return this.#end
  }

  /** @param json text without NUL characters; bytes are UTF-8, and copied */
  add(line: number, json: string | Buffer): void {
    const size = typeof json === 'string' ? Buffer.byteLength(json) : json.length
    this.#reserve(prefix + size)
    const bytes = this.#bytes
    let at = bytes.writeInt16BE(2, this.#end)
    at = bytes.writeInt32BE(8, at)
    at = bytes.writeInt32BE(Math.floor(line / 2 ** 32), at)
    at = bytes.writeUInt32BE(line % 2 ** 32, at)
    at = bytes.writeInt32BE(size, at)
    if (typeof json === 'string') bytes.write(json, at)
    else json.copy(bytes, at)
    this.#end = at + size
  }

  /** Ends the data. */
  finish(): void {
    this.#reserve(trailer.length)
    this.#end += trailer.copy(this.#bytes, this.#end)
  }

  /** Removes what is collected. It is not changed afterwards. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#end)
    this.#bytes = Buffer.allocUnsafe(initialSize)
    this.#end = 0
    return taken
  }

  #reserve(more: number): void {
    const needed = this.#end + more
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#end)
    this.#bytes = larger
  }
}
