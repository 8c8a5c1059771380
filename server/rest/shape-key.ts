// Keys of request shapes. A key is a sequence of parts, each with its kind and its length, so that no part can pass for
// another one or for several: equal keys have equal parts.

/**
 * What a part says. `text` is a part of the query string as it came; a filter whose value is left out consists of its
 * `name` and its `operator`.
 */
export type PartKind = 'method' | 'path' | 'text' | 'name' | 'operator' | 'header' | 'header-value'

const tags = {
  method: 'm',
  path: 'p',
  text: 't',
  name: 'n',
  operator: 'o',
  header: 'h',
  'header-value': 'v',
} satisfies Record<PartKind, string>

/** Writes a key part by part: the kind's tag, the length in decimal digits, a colon, the text. */
export class ShapeKeyWriter {
  #key = ''

  add(kind: PartKind, text: string): void {
    this.#key += `${tags[kind]}${text.length}:${text}`
  }

  get key(): string {
    return this.#key
  }
}
