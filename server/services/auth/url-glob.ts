/**
 * The patterns of GOTRUE_URI_ALLOW_LIST, in the syntax of GoTrue's glob library: `*` matches any characters except
 * separators, `**` any characters, `?` one character except a separator, `[abc]` and `[a-z]` one of them, `[!abc]` and
 * `[!a-z]` one other character, `{a,b}` one of the patterns; `\` makes the next character literal.
 */

/** A pattern that cannot be parsed. The message names the pattern. */
export class UrlGlobError extends Error {}

/** Says whether wildcards stop at the character with this index. */
export type IsSeparator = (characters: readonly string[], index: number) => boolean

type Item =
  | { readonly kind: 'character'; readonly character: string }
  | { readonly kind: 'any' }
  | { readonly kind: 'super' }
  | { readonly kind: 'single' }
  | { readonly kind: 'class'; readonly isNegated: boolean; readonly includes: (character: string) => boolean }
  | { readonly kind: 'alternatives'; readonly alternatives: readonly (readonly Item[])[] }

const isDotOrSlash: IsSeparator = (characters, index) => characters[index] === '.' || characters[index] === '/'

export class UrlGlob {
  readonly #items: readonly Item[]

  /**
   * @param pattern The pattern, as an entry of the setting.
   * @throws {UrlGlobError} If the pattern is malformed.
   */
  constructor(readonly pattern: string) {
    this.#items = new PatternParser(pattern).parse()
  }

  /**
   * Says whether the pattern matches the whole text. Takes time proportional to the lengths of pattern and text.
   * @param text The text, without normalization.
   * @param isSeparator Where `*` and `?` stop: at `.` and `/` by default.
   */
  matches(text: string, isSeparator: IsSeparator = isDotOrSlash): boolean {
    const characters = Array.from(text)
    return advance(this.#items, new Set([0]), characters, isSeparator).has(characters.length)
  }
}

/** The positions that can be reached from the given ones by matching all items in order. */
function advance(
  items: readonly Item[],
  from: ReadonlySet<number>,
  characters: readonly string[],
  isSeparator: IsSeparator,
): ReadonlySet<number> {
  let positions = from
  for (const item of items) {
    if (positions.size === 0) break
    positions = step(item, positions, characters, isSeparator)
  }
  return positions
}

function step(
  item: Item,
  positions: ReadonlySet<number>,
  characters: readonly string[],
  isSeparator: IsSeparator,
): ReadonlySet<number> {
  const next = new Set<number>()
  if (item.kind === 'alternatives')
    for (const alternative of item.alternatives)
      for (const position of advance(alternative, positions, characters, isSeparator)) next.add(position)
  else if (item.kind === 'any' || item.kind === 'super')
    for (const position of positions) {
      let reached = position
      // A position that is there already has been extended from before.
      while (!next.has(reached)) {
        next.add(reached)
        const isEnd = reached >= characters.length || (item.kind === 'any' && isSeparator(characters, reached))
        if (!isEnd) reached += 1
      }
    }
  else
    for (const position of positions) {
      const character = characters[position]
      if (character === undefined) continue
      const isMatch =
        item.kind === 'character'
          ? character === item.character
          : item.kind === 'single'
            ? !isSeparator(characters, position)
            : item.includes(character) !== item.isNegated
      if (isMatch) next.add(position + 1)
    }
  return next
}

class PatternParser {
  readonly #characters: readonly string[]
  #index = 0

  constructor(readonly pattern: string) {
    this.#characters = Array.from(pattern)
  }

  parse(): readonly Item[] {
    return this.#sequence(0)
  }

  /** Items up to the end of the pattern, or up to `,` or `}` within braces. */
  #sequence(depth: number): readonly Item[] {
    const items: Item[] = []
    for (let character = this.#peek(); character !== undefined; character = this.#peek()) {
      if (depth > 0 && (character === ',' || character === '}')) return items
      this.#index += 1
      items.push(this.#item(character, depth))
    }
    if (depth > 0) throw this.#error('"{" is not closed')
    return items
  }

  #item(character: string, depth: number): Item {
    if (character === '{') return this.#alternatives(depth + 1)
    if (character === '[') return this.#class()
    if (character === '?') return { kind: 'single' }
    if (character === '*') return { kind: this.#accept('*') ? 'super' : 'any' }
    if (character === '\\') return { kind: 'character', character: this.#next('"\\" ends the pattern') }
    return { kind: 'character', character }
  }

  #alternatives(depth: number): Item {
    const alternatives: (readonly Item[])[] = []
    do alternatives.push(this.#sequence(depth))
    while (this.#accept(','))
    this.#index += 1
    return { kind: 'alternatives', alternatives }
  }

  #class(): Item {
    const unclosed = '"[" is not closed'
    const isNegated = this.#accept('!')
    const [low, middle, high] = this.#characters.slice(this.#index, this.#index + 3)
    if (low !== undefined && middle === '-' && high !== undefined) {
      this.#index += 3
      if (this.#next(unclosed) !== ']') throw this.#error('a class has one range, or a list of characters')
      if (high < low) throw this.#error(`the range "${low}-${high}" is reversed`)
      return { kind: 'class', isNegated, includes: (it) => low <= it && it <= high }
    }
    const list = new Set<string>()
    for (let character = this.#next(unclosed); character !== ']'; character = this.#next(unclosed))
      list.add(character === '\\' ? this.#next(unclosed) : character)
    if (list.size === 0) throw this.#error('a class is empty')
    return { kind: 'class', isNegated, includes: (it) => list.has(it) }
  }

  #peek(): string | undefined {
    return this.#characters[this.#index]
  }

  #next(whatIsMissing: string): string {
    const character = this.#peek()
    if (character === undefined) throw this.#error(whatIsMissing)
    this.#index += 1
    return character
  }

  #accept(character: string): boolean {
    if (this.#peek() !== character) return false
    this.#index += 1
    return true
  }

  #error(reason: string): UrlGlobError {
    return new UrlGlobError(`The pattern "${this.pattern}" is malformed: ${reason}.`)
  }
}
