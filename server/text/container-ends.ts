// Where the long containers of a JSON text end, found in one pass over the text.
import { endOfString, isClosing, isOpening, quote } from './json-slices.ts'

/** Containers of fewer characters are read again instead of being remembered. */
const shortContainer = 64

/** Whole numbers in little memory, in the order in which they were added. */
class Positions {
  length = 0
  #values = new Uint32Array(64)

  at(index: number): number {
    return this.#values[index] ?? 0
  }

  set(index: number, value: number): void {
    this.#values[index] = value
  }

  push(value: number): void {
    if (this.length === this.#values.length) {
      const larger = new Uint32Array(2 * this.length)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.length++] = value
  }
}

export class ContainerEnds {
  /** Where the containers begin, ascending, and where each of them ends. */
  readonly #starts = new Positions()
  readonly #ends = new Positions()

  /** @param text valid JSON */
  constructor(text: string) {
    const open = new Positions()
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === quote) at = endOfString(text, at) - 1
      else if (isOpening(code)) {
        open.push(this.#starts.length)
        this.#starts.push(at)
        this.#ends.push(0)
      } else if (isClosing(code)) this.#close(open.at(--open.length), at + 1)
    }
  }

  #close(index: number, end: number): void {
    if (end - this.#starts.at(index) > shortContainer) this.#ends.set(index, end)
    // What is in a short container is short, too, so that this one is the last.
    else this.#starts.length = this.#ends.length = index
  }

  /** Where the container that begins at `start` ends; undefined for a short one and for other values. */
  of(start: number): number | undefined {
    let from = 0
    let to = this.#starts.length
    while (from < to) {
      const middle = (from + to) >>> 1
      if (this.#starts.at(middle) < start) from = middle + 1
      else to = middle
    }
    return from < this.#starts.length && this.#starts.at(from) === start ? this.#ends.at(from) : undefined
  }
}
