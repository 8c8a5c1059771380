// Checks JSON without creating its values, piece by piece. Accepts what `JSON.parse` accepts, except escaped lone
// surrogates, which PostgreSQL rejects. `json-tokens.ts` reads text that is known to be valid.
// https://www.rfc-editor.org/rfc/rfc8259

/** Maximum length of a name that is decoded only once. */
const longestKnown = 100
/** Bytes of which a longer name is cut: no column is called so, and errors quote it. */
const longestName = 10_000
/** Maximum number of names that are decoded only once. */
const mostKnown = 2000
/** Levels of nesting that PostgreSQL reads with its smallest stack. */
const mostLevels = 1000
/** Digits of a number and of its exponent that are within the range of PostgreSQL's `numeric`, with any exponent of these. */
const mostDigits = 6000
const mostExponentDigits = 4

export type JsonScannerEvents = {
  /** Called with each name of a row. */
  readonly onName?: (name: string) => void
  /** Called with the position of each row: the elements of an array, or the whole value. */
  readonly onRow?: (start: number, end: number, isObject: boolean) => void
}

/** A name of a row, and where it stands with its quotes. */
type Name = { readonly start: number; readonly end: number; readonly name: string }

type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'after value'

const code = (sign: string): number => sign.charCodeAt(0)
const [quote, backslash, comma, colon] = ['"', '\\', ',', ':'].map(code)
const [openBrace, closeBrace, openBracket, closeBracket] = ['{', '}', '[', ']'].map(code)
const letterU = code('u')
const [minus, plus, point, zero, smallE, largeE] = ['-', '+', '.', '0', 'e', 'E'].map(code)
const literals = ['true', 'false', 'null'].map((text) => Buffer.from(text))
/** Characters after a backslash, but `u`. */
const escapes = new Set([...'"\\/bfnrt'].map(code))

/** White space between the tokens of JSON. */
export const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
export const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39

/** -1 for a byte that is no hexadecimal digit. */
function hexadecimalDigit(byte: number): number {
  if (isDigit(byte)) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

/** Scans one JSON text. Memory is that of its depth, one bit for each level rounded up to a byte. */
export class JsonScanner {
  readonly #bytes: Buffer
  readonly #events: JsonScannerEvents
  readonly #known = new Map<string, string>()
  /** The names of the first row in their order: most rows have the same, which need not be decoded again. */
  readonly #usual: Name[] = []
  #nextName = 0
  #at = 0
  #expected: Expected = 'value'
  /** Whether each open value is an object. */
  #open = new Uint8Array(64)
  #depth = 0
  #rowDepth = 0
  #rowStart = 0
  #isObjectRow = false
  #isDone = false
  /** What the text is, by its first character. */
  kind: 'array' | 'object' | 'scalar' = 'scalar'
  /** Whether PostgreSQL can store the text as jsonb: it rejects `\\u0000`, numbers out of range, and deep nesting. */
  isStorable = true

  /** @param bytes valid UTF-8 */
  constructor(bytes: Buffer, events: JsonScannerEvents) {
    this.#bytes = bytes
    this.#events = events
  }

  /** Scans up to a position, and to the end of the string or number there. */
  scan(until: number): 'more' | 'done' | 'invalid' {
    const bytes = this.#bytes
    const end = Math.min(until, bytes.length)
    while (this.#at < end) {
      if (isSpace(bytes[this.#at])) this.#at += 1
      else if (!this.#token(bytes[this.#at] ?? 0)) return 'invalid'
    }
    if (this.#at < bytes.length) return 'more'
    return this.#isDone ? 'done' : 'invalid'
  }

  #token(byte: number): boolean {
    if (this.#isDone) return false
    switch (this.#expected) {
      case 'value or end':
        if (byte === closeBracket) return this.#close()
        return this.#value(byte)
      case 'value':
        return this.#value(byte)
      case 'name or end':
        if (byte === closeBrace) return this.#close()
        return this.#name(byte)
      case 'name':
        return this.#name(byte)
      case 'colon':
        if (byte !== colon) return false
        this.#at += 1
        this.#expected = 'value'
        return true
      case 'after value':
        return this.#afterValue(byte)
      default:
        return this.#expected satisfies never
    }
  }

  #afterValue(byte: number): boolean {
    const isObject = this.#open[this.#depth - 1] === 1
    if (byte === (isObject ? closeBrace : closeBracket)) return this.#close()
    if (byte !== comma) return false
    this.#at += 1
    this.#expected = isObject ? 'name' : 'value'
    return true
  }

  #value(byte: number): boolean {
    const isRow = this.#depth === this.#rowDepth
    if (isRow) {
      this.#rowStart = this.#at
      this.#nextName = 0
      this.#isObjectRow = byte === openBrace
    }
    if (byte === openBrace || byte === openBracket) return this.#openValue(byte === openBrace)
    if (byte === quote ? !this.#string() : !this.#scalar(byte)) return false
    this.#ended()
    return true
  }

  #openValue(isObject: boolean): boolean {
    if (this.#at === this.#rowStart && this.#depth === 0) {
      this.kind = isObject ? 'object' : 'array'
      if (!isObject) this.#rowDepth = 1
    }
    if (this.#depth === this.#open.length) {
      const larger = new Uint8Array(this.#open.length * 2)
      larger.set(this.#open)
      this.#open = larger
    }
    this.#open[this.#depth] = isObject ? 1 : 0
    this.#depth += 1
    if (this.#depth > mostLevels) this.isStorable = false
    this.#at += 1
    this.#expected = isObject ? 'name or end' : 'value or end'
    return true
  }

  #close(): boolean {
    this.#depth -= 1
    this.#at += 1
    this.#ended()
    return true
  }

  /** Call this after a value. */
  #ended(): void {
    this.#expected = 'after value'
    if (this.#depth === this.#rowDepth) this.#events.onRow?.(this.#rowStart, this.#at, this.#isObjectRow)
    if (this.#depth === 0) this.#isDone = true
  }

  #name(byte: number): boolean {
    const start = this.#at
    if (byte !== quote || !this.#string()) return false
    if (this.#depth === this.#rowDepth + 1) this.#events.onName?.(this.#nameAt(start, this.#at))
    this.#expected = 'colon'
    return true
  }

  #nameAt(start: number, end: number): string {
    const index = this.#nextName++
    const usual = this.#usual[index]
    if (usual && this.#isSame(usual, start, end)) return usual.name
    const name = this.#decoded(start, end)
    if (index === this.#usual.length && index < mostKnown) this.#usual.push({ start, end, name })
    return name
  }

  #isSame(known: Name, start: number, end: number): boolean {
    if (known.end - known.start !== end - start) return false
    const bytes = this.#bytes
    for (let at = start, other = known.start; at < end; at++, other++) if (bytes[at] !== bytes[other]) return false
    return true
  }

  #decoded(start: number, end: number): string {
    if (end - start > longestName) return this.#bytes.toString('utf8', start + 1, start + longestName)
    if (end - start > longestKnown) return JSON.parse(this.#bytes.toString('utf8', start, end)) as string
    const raw = this.#bytes.toString('latin1', start, end)
    const known = this.#known.get(raw)
    if (known !== undefined) return known
    const name = JSON.parse(this.#bytes.toString('utf8', start, end)) as string
    if (this.#known.size < mostKnown) this.#known.set(raw, name)
    return name
  }

  /** Reads a string. @returns whether it is valid */
  #string(): boolean {
    const bytes = this.#bytes
    let at = this.#at + 1
    for (;;) {
      const byte = bytes[at]
      if (byte === quote) break
      if (byte === undefined || byte < 0x20) return false
      at += 1
      if (byte === backslash) {
        at = this.#escape(at)
        if (at < 0) return false
      }
    }
    this.#at = at + 1
    return true
  }

  /** @param at position after the backslash @returns the position after the escape; -1 if it is invalid */
  #escape(at: number): number {
    const byte = this.#bytes[at]
    if (byte !== letterU) return byte !== undefined && escapes.has(byte) ? at + 1 : -1
    const unit = this.#hexadecimal(at + 1)
    if (unit < 0) return -1
    if (unit === 0) this.isStorable = false
    if (unit < 0xd800 || unit > 0xdfff) return at + 5
    const isPair = unit < 0xdc00 && this.#bytes[at + 5] === backslash && this.#bytes[at + 6] === letterU
    const second = isPair ? this.#hexadecimal(at + 7) : -1
    return second >= 0xdc00 && second <= 0xdfff ? at + 11 : -1
  }

  #hexadecimal(at: number): number {
    let value = 0
    for (let index = at; index < at + 4; index++) {
      const digit = hexadecimalDigit(this.#bytes[index] ?? 0)
      if (digit < 0) return -1
      value = value * 16 + digit
    }
    return value
  }

  #scalar(byte: number): boolean {
    if (byte === minus || isDigit(byte)) return this.#number()
    const literal = literals.find((text) => text[0] === byte)
    if (!literal?.equals(this.#bytes.subarray(this.#at, this.#at + literal.length))) return false
    this.#at += literal.length
    return true
  }

  #number(): boolean {
    const bytes = this.#bytes
    const begin = this.#at
    let at = bytes[begin] === minus ? begin + 1 : begin
    const whole = at
    at = bytes[at] === zero ? at + 1 : this.#afterDigits(at)
    if (at === whole) return false
    if (bytes[at] === point) {
      const fraction = at + 1
      at = this.#afterDigits(fraction)
      if (at === fraction) return false
    }
    if (bytes[at] === smallE || bytes[at] === largeE) {
      const exponent = bytes[at + 1] === plus || bytes[at + 1] === minus ? at + 2 : at + 1
      at = this.#afterDigits(exponent)
      if (at === exponent) return false
      if (at - exponent > mostExponentDigits) this.isStorable = false
    }
    if (at - begin > mostDigits) this.isStorable = false
    this.#at = at
    return true
  }

  #afterDigits(start: number): number {
    let at = start
    while (isDigit(this.#bytes[at])) at += 1
    return at
  }
}
