// A JSON text in which values are found by JSON Pointers. Any number of lookups reads the text a constant number of times.
import { ContainerEnds } from './container-ends.ts'
import { elementStarts, endOfValue, memberStarts, skipBlanks } from './json-slices.ts'

const wholeNumber = /^(?:0|[1-9]\d*)$/

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
    return this.textAt(start)
  }

  /** Where the value of the document begins. */
  get start(): number {
    return skipBlanks(this.#text, 0)
  }

  /** The value that begins at `start`, as JSON text. */
  textAt(start: number): string {
    return this.#text.slice(start, this.#endOf(start))
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
    return memberStarts(this.#text, start, this.#endOfValue) ?? new Map<string, number>()
  }

  /** Where the elements of the array that begins at `start` begin. */
  elementsAt(start: number): readonly number[] {
    return elementStarts(this.#text, start, this.#endOfValue) ?? []
  }

  #childrenOf(start: number): Children | undefined {
    if (!this.#children.has(start)) this.#children.set(start, this.#read(start))
    return this.#children.get(start)
  }

  #read(start: number): Children | undefined {
    const names = memberStarts(this.#text, start, this.#endOfValue)
    if (names) return { kind: 'object', starts: names }
    const starts = elementStarts(this.#text, start, this.#endOfValue)
    return starts && { kind: 'array', starts }
  }

  readonly #endOfValue = (start: number): number => this.#endOf(start)

  #endOf(start: number): number {
    this.#ends ??= new ContainerEnds(this.#text)
    return this.#ends.of(start) ?? endOfValue(this.#text, start)
  }
}
