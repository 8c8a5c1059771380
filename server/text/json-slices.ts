// Slices of valid JSON texts. Unlike parsed values, they keep all digits of numbers.

export const quote = 0x22
export const isOpening = (code: number): boolean => code === 0x7b || code === 0x5b
export const isClosing = (code: number): boolean => code === 0x7d || code === 0x5d
const isBlank = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d)

/** The position of the first character at or after `at` that is not white space. */
export function skipBlanks(text: string, at: number): number {
  let index = at
  while (isBlank(text.charCodeAt(index))) index++
  return index
}

/** The position after the string that begins at `start`. */
export function endOfString(text: string, start: number): number {
  for (let from = start + 1; ;) {
    const end = text.indexOf('"', from)
    let backslashes = 0
    while (text[end - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return end + 1
    from = end + 1
  }
}

/** The position after the value that begins at `start`. */
export function endOfValue(text: string, start: number): number {
  let depth = 0
  let index = start
  do {
    const code = text.charCodeAt(index)
    if (code === quote) index = endOfString(text, index)
    else {
      if (isOpening(code)) depth++
      else if (isClosing(code)) depth--
      index++
      // A number or a word ends where the container goes on.
      if (depth === 0 && !isClosing(code)) while (/[\w.+-]/.test(text[index] ?? '')) index++
    }
  } while (depth > 0)
  return index
}

/** Finds the position after a value. */
type EndOf = (start: number) => number

/**
 * Where the values of an object begin, by name; undefined for another value. The last of repeated names wins.
 *
 * @param from where the object begins, or white space before it
 */
export function memberStarts(text: string, from: number, endOf: EndOf): Map<string, number> | undefined {
  let at = skipBlanks(text, from)
  if (text[at] !== '{') return undefined
  const found = new Map<string, number>()
  for (at = skipBlanks(text, at + 1); text[at] === '"'; at = skipBlanks(text, at)) {
    const end = endOfString(text, at)
    const start = skipBlanks(text, skipBlanks(text, end) + 1)
    found.set(JSON.parse(text.slice(at, end)) as string, start)
    at = skipBlanks(text, endOf(start))
    if (text[at] === ',') at++
  }
  return found
}

/**
 * Where the elements of an array begin; undefined for another value.
 *
 * @param from where the array begins, or white space before it
 */
export function elementStarts(text: string, from: number, endOf: EndOf): number[] | undefined {
  let at = skipBlanks(text, from)
  if (text[at] !== '[') return undefined
  const found: number[] = []
  for (at = skipBlanks(text, at + 1); at < text.length && text[at] !== ']'; at = skipBlanks(text, at)) {
    found.push(at)
    at = skipBlanks(text, endOf(at))
    if (text[at] === ',') at++
  }
  return found
}

/** The members of an object as JSON texts, undefined for another value. The last of repeated names wins. */
export function members(text: string): Map<string, string> | undefined {
  const slices = new Slices(text)
  const starts = memberStarts(text, 0, slices.endOf)
  return starts && new Map([...starts].map(([name, start]) => [name, slices.from(start)]))
}

/** The elements of an array as JSON texts, undefined for another value. */
export function elements(text: string): string[] | undefined {
  const slices = new Slices(text)
  return elementStarts(text, 0, slices.endOf)?.map((start) => slices.from(start))
}

/** The values of a text whose ends were found. */
class Slices {
  readonly #text: string
  readonly #ends = new Map<number, number>()

  constructor(text: string) {
    this.#text = text
  }

  readonly endOf: EndOf = (start) => {
    const end = endOfValue(this.#text, start)
    this.#ends.set(start, end)
    return end
  }

  from(start: number): string {
    return this.#text.slice(start, this.#ends.get(start))
  }
}

/** Whether a text is a JSON Pointer. */
export const isPointer = (text: string): boolean => /^(?:\/(?:[^~/]|~[01])*)*$/.test(text)
