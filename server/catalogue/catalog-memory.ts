// What one load of the schema cache leaves to the next: what it decoded and built, which is used again as long as all of
// what it was made from is the same. Nothing here decides what a schema cache contains. A load with an empty memory has
// the same result.
import type { CatalogRow } from './introspection.ts'
import { eachOf, type Steps } from './steps.ts'

/** Values that are made from the rows of one statement, each from the text of its row alone. */
export class DecodedRows<T> {
  readonly #decode: (row: CatalogRow) => T
  #known = new Map<string, Entry<T>>()
  #values: readonly T[] = []

  /** @param decode a pure function of a row, whose columns are text */
  constructor(decode: (row: CatalogRow) => T) {
    this.#decode = decode
  }

  /** Begins a load. */
  begin(): RowCollection<T> {
    const last = this.#known
    const next = new Map<string, Entry<T>>()
    const values: T[] = []
    return {
      add: (rows) => {
        for (const row of rows) {
          const key = String(row.row)
          const known = last.get(key)
          const entry = known && isSameRow(known.row, row) ? known : { row, value: this.#decode(row) }
          next.set(key, entry)
          values.push(entry.value)
        }
      },
      end: () => {
        this.#known = next
        this.#values = sameOrNext(this.#values, values)
        return this.#values
      },
    }
  }
}

type Entry<T> = { readonly row: CatalogRow; readonly value: T }

export type RowCollection<T> = {
  readonly add: (rows: readonly CatalogRow[]) => void
  /** The values of all rows in their order: the same array as in the last load if all are the same. */
  readonly end: () => readonly T[]
}

function isSameRow(a: CatalogRow, b: CatalogRow): boolean {
  for (const name in a) if (a[name] !== b[name]) return false
  return true
}

/** Whether both lists have the same elements: the same objects, or equal primitive values. */
export const hasSameElements = <T>(a: readonly T[], b: readonly T[]): boolean =>
  a === b || (a.length === b.length && a.every((value, index) => value === b[index]))

/** The first list if both have the same elements, otherwise the second. */
export const sameOrNext = <T>(last: readonly T[], next: readonly T[]): readonly T[] =>
  hasSameElements(last, next) ? last : next

/** A result of a pure function with its arguments. */
export class Remembered<A extends readonly unknown[], T> {
  readonly #compute: (...inputs: A) => Steps<T>
  #last: { readonly inputs: A; readonly value: T } | undefined

  constructor(compute: (...inputs: A) => Steps<T>) {
    this.#compute = compute
  }

  /** The last result if the arguments are the same objects, otherwise a new one. */
  *of(...inputs: A): Steps<T> {
    if (!this.#last || inputs.some((input, index) => input !== this.#last?.inputs[index])) {
      this.#last = { inputs, value: yield* this.#compute(...inputs) }
    }
    return this.#last.value
  }
}

/** Values by key, of which those that are equal to the last one of their key are replaced by it. */
export class EqualValues<T> {
  #last = new Map<string, T>()
  readonly #isEqual: (a: T, b: T) => boolean

  constructor(isEqual: (a: T, b: T) => boolean) {
    this.#isEqual = isEqual
  }

  *of(values: Iterable<readonly [string, T]>): Steps<Map<string, T>> {
    const next = new Map<string, T>()
    yield* eachOf(values, ([key, value]) => {
      const last = this.#last.get(key)
      next.set(key, last !== undefined && this.#isEqual(last, value) ? last : value)
    })
    this.#last = next
    return next
  }
}
