// Slices of valid JSON texts. Unlike parsed values, they keep all digits of numbers.

const quote = 0x22
const isOpening = (code: number): boolean => code === 0x7b || code === 0x5b
const isClosing = (code: number): boolean => code === 0x7d || code === 0x5d
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

/** The members of an object as JSON texts, undefined for another value. The last of repeated names wins. */
export function members(text: string): Map<string, string> | undefined {
  let at = skipBlanks(text, 0)
  if (text[at] !== '{') return undefined
  const found = new Map<string, string>()
  for (at = skipBlanks(text, at + 1); text[at] === '"'; at = skipBlanks(text, at)) {
    const end = endOfString(text, at)
    const name = JSON.parse(text.slice(at, end)) as string
    const start = skipBlanks(text, skipBlanks(text, end) + 1)
    const next = endOfValue(text, start)
    found.set(name, text.slice(start, next))
    at = skipBlanks(text, next)
    if (text[at] === ',') at++
  }
  return found
}

/** The elements of an array as JSON texts, undefined for another value. */
export function elements(text: string): string[] | undefined {
  let at = skipBlanks(text, 0)
  if (text[at] !== '[') return undefined
  const found: string[] = []
  for (at = skipBlanks(text, at + 1); at < text.length && text[at] !== ']'; at = skipBlanks(text, at)) {
    const end = endOfValue(text, at)
    found.push(text.slice(at, end))
    at = skipBlanks(text, end)
    if (text[at] === ',') at++
  }
  return found
}

const wholeNumber = /^(?:0|[1-9]\d*)$/

/** The value that a JSON Pointer (RFC 6901) names, as JSON text; undefined if there is none. */
export function pointed(text: string, pointer: string): string | undefined {
  let value: string | undefined = text
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~')
    const list: string[] | undefined = elements(value)
    value = list ? (wholeNumber.test(name) ? list[Number(name)] : undefined) : members(value)?.get(name)
    if (value === undefined) return undefined
  }
  return value
}

/** Whether a text is a JSON Pointer. */
export const isPointer = (text: string): boolean => /^(?:\/(?:[^~/]|~[01])*)*$/.test(text)
