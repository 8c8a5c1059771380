// A JSON text in which values are found by JSON Pointers. Any number of lookups reads the text a constant number of times.
import { elementStarts, endOfString, endOfValue, isClosing, isOpening, memberStarts, quote } from './json-slices.ts'

/** Containers of fewer characters are read again instead of being remembered. */
const shortContainer = 64
const wholeNumber = /^(?:0|[1-9]\d*)$/

/** The children of a container: where their values begin. */
type Children =
  | { readonly kind: 'array'; readonly starts: readonly number[] }
  | { readonly kind: 'object'; readonly starts: ReadonlyMap<string, number> }

export class JsonDocument {
  readonly #text: string
  /** Where long containers end, by their beginning; undefined before the first lookup. */
  #ends: ReadonlyMap<number, number> | undefined
  readonly #children = new Map<number, Children | undefined>()

  /** @param text valid JSON */
  constructor(text: string) {
    this.#text = text
  }

  /** The value that a JSON Pointer (RFC 6901) names, as JSON text with all digits of numbers; undefined if there is none. */
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
    return this.#text.slice(start, this.#endOf(start))
  }

  #childrenOf(start: number): Children | undefined {
    if (!this.#children.has(start)) this.#children.set(start, this.#read(start))
    return this.#children.get(start)
  }

  #read(start: number): Children | undefined {
    const endOf = (at: number): number => this.#endOf(at)
    const names = memberStarts(this.#text, start, endOf)
    if (names) return { kind: 'object', starts: names }
    const starts = elementStarts(this.#text, start, endOf)
    return starts && { kind: 'array', starts }
  }

  #endOf(start: number): number {
    this.#ends ??= endsOf(this.#text)
    return this.#ends.get(start) ?? endOfValue(this.#text, start)
  }
}

/** Where the long containers of a text end. */
function endsOf(text: string): ReadonlyMap<number, number> {
  const ends = new Map<number, number>()
  const open: number[] = []
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at) - 1
    else if (isOpening(code)) open.push(at)
    else if (isClosing(code)) {
      const start = open.pop() ?? 0
      if (at - start >= shortContainer) ends.set(start, at + 1)
    }
  }
  return ends
}
