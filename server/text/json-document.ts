// A JSON text in which values are found by JSON Pointers. Any number of lookups reads the text a constant number of times.
import { endOfValue, JsonTokens, skipSeparators, visitElements, visitMembers, type EndOf } from './json-tokens.ts'

const wholeNumber = /^(?:0|[1-9]\d*)$/

/** Whether a text is a JSON Pointer (RFC 6901). */
export const isPointer = (text: string): boolean => /^(?:\/(?:[^~/]|~[01])*)*$/.test(text)

/** The children of a container: where their values begin. */
type Children =
  | { readonly kind: 'array'; readonly starts: readonly number[] }
  | { readonly kind: 'object'; readonly starts: ReadonlyMap<string, number> }

export class JsonDocument {
  readonly #text: string
  /** Undefined before the first lookup. */
  #ends: ContainerEnds | undefined
  readonly #children = new Map<number, Children | undefined>()

  /** @param text valid JSON */
  constructor(text: string) {
    this.#text = text
  }

  /** The value that a JSON Pointer names, as JSON text with all digits of numbers; undefined if there is none. */
  at(pointer: string): string | undefined {
    if (pointer === '') return this.#text
    let start = 0
    for (const token of pointer.split('/').slice(1)) {
      const children = this.#childrenOf(start)
      if (!children) return undefined
      const name = token.replaceAll('~1', '/').replaceAll('~0', '~')
      const next =
        children.kind === 'object'
          ? children.starts.get(name)
          : wholeNumber.test(name)
            ? children.starts[Number(name)]
            : undefined
      if (next === undefined) return undefined
      start = next
    }
    return this.textAt(start)
  }

  /** Where the value of the document begins. */
  get start(): number {
    return skipSeparators(this.#text, 0)
  }

  /** The value that begins at `start`, as JSON text. */
  textAt(start: number): string {
    return this.#text.slice(start, this.#endOf(this.#text, start))
  }

  /** What the value that begins at `start` is. */
  kindAt(start: number): 'object' | 'array' | 'null' | 'scalar' {
    switch (this.#text[start]) {
      case '{':
        return 'object'
      case '[':
        return 'array'
      case 'n':
        return 'null'
      default:
        return 'scalar'
    }
  }

  /** Where the values of the object that begins at `start` begin, by name. The last of repeated names wins. */
  membersAt(start: number): ReadonlyMap<string, number> {
    const found = new Map<string, number>()
    visitMembers(this.#text, start, (name, value) => found.set(name, value), this.#endOf)
    return found
  }

  /** Where the elements of the array that begins at `start` begin. */
  elementsAt(start: number): readonly number[] {
    const found: number[] = []
    visitElements(this.#text, start, (value) => found.push(value), this.#endOf)
    return found
  }

  #childrenOf(from: number): Children | undefined {
    if (!this.#children.has(from)) this.#children.set(from, this.#read(skipSeparators(this.#text, from)))
    return this.#children.get(from)
  }

  #read(start: number): Children | undefined {
    switch (this.kindAt(start)) {
      case 'object':
        return { kind: 'object', starts: this.membersAt(start) }
      case 'array':
        return { kind: 'array', starts: this.elementsAt(start) }
      default:
        return undefined
    }
  }

  readonly #endOf: EndOf = (text, start) => {
    this.#ends ??= new ContainerEnds(text)
    return this.#ends.of(start) ?? endOfValue(text, start)
  }
}

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

/** Where the long containers of a JSON text end, found in one pass over the text. */
class ContainerEnds {
  /** Where the containers begin, ascending, and where each of them ends. */
  readonly #starts = new Positions()
  readonly #ends = new Positions()

  /** @param text valid JSON */
  constructor(text: string) {
    const open = new Positions()
    const tokens = new JsonTokens(text)
    for (let kind = tokens.next(); kind; kind = tokens.next()) {
      if (kind === '{' || kind === '[') {
        open.push(this.#starts.length)
        this.#starts.push(tokens.start)
        this.#ends.push(0)
      } else if (kind === '}' || kind === ']') this.#close(open.at(--open.length), tokens.end)
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
