// Reads JSON text that is known to be valid, token by token and without creating its values: positions keep all digits of
// numbers, the order of members and repeated names. Takes linear time and constant memory.
// `json-scanner.ts` checks text that is not known to be valid. https://www.rfc-editor.org/rfc/rfc8259

const code = (sign: string): number => sign.charCodeAt(0)
const [quote, backslash, colon] = ['"', '\\', ':'].map(code)
const [openBrace, closeBrace, openBracket, closeBracket] = ['{', '}', '[', ']'].map(code)

/** Whether each ASCII character is one of these. Text outside of strings is ASCII. */
const oneOf = (signs: string): Uint8Array =>
  Uint8Array.from({ length: 128 }, (_, at) => Number(signs.includes(String.fromCharCode(at))))
const spaces = oneOf(' \n\r\t')
const separators = oneOf(' \n\r\t,:')
const afterScalar = oneOf(' \n\r\t,:{}[]"')

/** `scalar`: a number, true, false or null. */
export type JsonTokenKind = '{' | '}' | '[' | ']' | 'string' | 'scalar'

/** A cursor on the tokens of a text. It skips commas, colons and white space, which say nothing about valid JSON. */
export class JsonTokens {
  readonly #text: string
  /** The current token, its position, and the position after it. */
  kind: JsonTokenKind = 'scalar'
  start: number
  end: number

  /**
   * @param text valid JSON
   * @param at where to begin
   */
  constructor(text: string, at = 0) {
    this.#text = text
    this.start = at
    this.end = at
  }

  /** Moves to the next token. @returns its kind; undefined at the end of the text */
  next(): JsonTokenKind | undefined {
    const text = this.#text
    this.start = skipSeparators(text, this.end)
    this.end = this.start + 1
    switch (text.charCodeAt(this.start)) {
      case quote:
        this.end = endOfString(text, this.start)
        return (this.kind = 'string')
      case openBrace:
        return (this.kind = '{')
      case openBracket:
        return (this.kind = '[')
      case closeBrace:
        return (this.kind = '}')
      case closeBracket:
        return (this.kind = ']')
      default:
        this.end = endOfScalar(text, this.start)
        return this.end > this.start ? (this.kind = 'scalar') : undefined
    }
  }

  /** The current token as it is written. */
  get text(): string {
    return this.#text.slice(this.start, this.end)
  }

  /** Whether the current string is the name of a member. */
  get isName(): boolean {
    return this.kind === 'string' && this.#text.charCodeAt(skipSpaces(this.#text, this.end)) === colon
  }

  /** The text that the current string stands for. */
  get value(): string {
    return stringAt(this.#text, this.start, this.end)
  }
}

function skipSpaces(text: string, at: number): number {
  let index = at
  while (index < text.length && spaces[text.charCodeAt(index)] === 1) index++
  return index
}

/** The position of the first token at or after `at`. */
export function skipSeparators(text: string, at: number): number {
  let index = at
  while (index < text.length && separators[text.charCodeAt(index)] === 1) index++
  return index
}

/** The position after the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  const end = text.indexOf('"', start + 1)
  if (end < 0) return text.length
  if (text.charCodeAt(end - 1) !== backslash) return end + 1
  let index = start + 1
  while (index < text.length && text.charCodeAt(index) !== quote) index += text.charCodeAt(index) === backslash ? 2 : 1
  return index + 1
}

/** A string without escapes needs no parser. */
function stringAt(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1)
  return inner.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : inner
}

/** The position after the number or word that begins at `start`. */
function endOfScalar(text: string, start: number): number {
  let index = start
  while (index < text.length && afterScalar[text.charCodeAt(index)] !== 1) index++
  return index
}

/** Finds the position after the value that begins at a position. */
export type EndOf = (text: string, start: number) => number

/** The position after the value that begins at `start`. */
export const endOfValue: EndOf = (text, start) => {
  const tokens = new JsonTokens(text, start)
  let depth = 0
  for (let kind = tokens.next(); kind; kind = depth > 0 ? tokens.next() : undefined) {
    if (kind === '{' || kind === '[') depth++
    else if (kind === '}' || kind === ']') depth--
  }
  return tokens.end
}

/**
 * Calls `visit` with the members of an object in their order: their names, and the positions of their values. Calls it not at
 * all for another value.
 *
 * @param from where the object begins, or white space before it
 */
export function visitMembers(
  text: string,
  from: number,
  visit: (name: string, start: number, end: number) => void,
  endOf: EndOf = endOfValue,
): void {
  let at = skipSpaces(text, from)
  if (text.charCodeAt(at) !== openBrace) return
  for (at = skipSeparators(text, at + 1); text.charCodeAt(at) === quote;) {
    const nameEnd = endOfString(text, at)
    const start = skipSeparators(text, nameEnd)
    const end = endOf(text, start)
    visit(stringAt(text, at, nameEnd), start, end)
    at = skipSeparators(text, end)
  }
}

/** Calls `visit` with the positions of the elements of an array, as `visitMembers` does with members. */
export function visitElements(
  text: string,
  from: number,
  visit: (start: number, end: number) => void,
  endOf: EndOf = endOfValue,
): void {
  let at = skipSpaces(text, from)
  if (text.charCodeAt(at) !== openBracket) return
  for (at = skipSeparators(text, at + 1); at < text.length && text.charCodeAt(at) !== closeBracket;) {
    const end = endOf(text, at)
    visit(at, end)
    at = skipSeparators(text, end)
  }
}
