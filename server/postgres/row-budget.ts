// Limits the memory for the rows of a transaction that keeps all of them until its end.
import type { RawRow } from '../rest/row-transfer.ts'

export class RowBudget {
  /** Is called when the rows have become too large. */
  onExcess: (() => void) | undefined
  #left: number
  #isExceeded = false

  /** @param bytes maximum number of bytes of all rows */
  constructor(bytes: number) {
    this.#left = bytes
  }

  /** Bytes that further rows may have. */
  get left(): number {
    return this.#left
  }

  get isExceeded(): boolean {
    return this.#isExceeded
  }

  /** Counts the rows of statements. */
  take(results: readonly (readonly RawRow[])[]): void {
    for (const row of results.flat()) for (const field of row) this.#left -= field?.length ?? 0
  }

  /** Notes that the rows are too large. */
  exceed(): void {
    this.#isExceeded = true
    this.onExcess?.()
  }
}
