// Reads the keys of the rows in a large JSON body. The body is only scanned, since its values would take several times its
// memory, and `JSON.parse` cannot be interrupted. https://www.rfc-editor.org/rfc/rfc8259
import { sortedTexts } from '../../text/code-point-order.ts'
import { JsonScanner } from '../../text/json-scanner.ts'

/** Bytes that are scanned at a time. */
const pieceSize = 256 * 1024
/** Keys that are read of a row. Tables and functions have fewer, so that further ones make no difference. */
const mostKeys = 2000

export type JsonRows = {
  /** Whether the body is an array of rows, a row, or another value. */
  readonly kind: 'array' | 'object' | 'scalar'
  /** The keys of the first row, sorted, without duplicates. */
  readonly keys: readonly string[]
  /** Number of rows; of an array also those that are no objects. */
  readonly count: number
  /** Whether the rows are objects with the same keys. */
  readonly areAlike: boolean
}

export type OnJsonRow = (start: number, end: number) => void

/**
 * Scans a body in parts of some milliseconds.
 *
 * @param onRow called with the position of each row
 * @returns undefined when `JSON.parse` would reject it, or a string has an escaped lone surrogate
 */
export function* jsonRows(body: Buffer, onRow?: OnJsonRow): Generator<void, JsonRows | undefined> {
  const keys = new RowKeys()
  const scanner = new JsonScanner(body, {
    onName: (name) => keys.add(name),
    onRow: (start, end, isObject) => {
      keys.endRow(isObject)
      onRow?.(start, end)
    },
  })
  for (let at = pieceSize; ; at += pieceSize) {
    const state = scanner.scan(at)
    if (state === 'invalid') return undefined
    if (state === 'done') break
    yield
  }
  const { kind } = scanner
  return { kind, keys: sortedTexts(keys.first), count: keys.rows, areAlike: keys.areAlike }
}

/** Compares the keys of rows with those of the first one. */
class RowKeys {
  #known: ReadonlySet<string> = new Set()
  /** The keys of the first row in their order. */
  first: readonly string[] = []
  rows = 0
  areAlike = true
  #names: string[] = []
  #inOrder = true

  add(name: string): void {
    if (this.#names.length > mostKeys) return
    if (this.rows > 0 && name !== this.first[this.#names.length]) this.#inOrder = false
    this.#names.push(name)
  }

  endRow(isObject: boolean): void {
    if (!isObject) this.areAlike = false
    else if (this.rows === 0) {
      this.#known = new Set(this.#names)
      this.first = [...this.#known]
    } else if (!this.#isAlike()) this.areAlike = false
    this.rows += 1
    this.#names.length = 0
    this.#inOrder = true
  }

  #isAlike(): boolean {
    const names = this.#names
    if (names.length > mostKeys && this.first.length > mostKeys) return true
    if (this.#inOrder && names.length === this.first.length) return true
    const distinct = new Set(names)
    return distinct.size === this.first.length && names.every((name) => this.#known.has(name))
  }
}
