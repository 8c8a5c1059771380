// Parses JSONPath. The grammar is RFC 9535's with the limits of PostgREST's parser: no surrounding spaces, and `search` is
// the only function.
import type { Comparison, Condition, JsonPath, Literal, Operand, Segment, Selector } from './json-path.ts'

class Mismatch extends Error {}

const maxDepth = 50

const blanks = /[ \n\r\t]*/y
const shorthand = /[A-Za-z_\u{80}-\u{D7FF}\u{E000}-\u{10FFFF}][\w\u{80}-\u{D7FF}\u{E000}-\u{10FFFF}]*/uy
const wholeNumber = /-?[1-9]\d*|0(?!\d)/y
// The forms that PostgREST accepts: a negative zero, an unsigned fraction, or an integer.
const number = /-0|\d+\.\d+(?:[eE][+-]?\d+)?|(?:-?[1-9]\d*|0(?!\d))(?:[eE][+-]?\d+)?/y
const word = /true|false|null/y
const singleQuoted = /'((?:[^'\\\p{Cs}]|\\(?:['bfnrt/\\]|u[\da-fA-F]{4}))*)'/uy
const doubleQuoted = /"((?:[^"\\\p{Cs}]|\\(?:["bfnrt/\\]|u[\da-fA-F]{4}))*)"/uy
const comparison = /[<>!=]=|[<>]/y

class Cursor {
  readonly #text: string
  at = 0
  /** Current nesting depth of conditions. */
  depth = 0

  constructor(text: string) {
    this.#text = text
  }

  get atEnd(): boolean {
    return this.at === this.#text.length
  }

  /** Consumes the token if it is next. */
  token(token: string): boolean {
    if (!this.#text.startsWith(token, this.at)) return false
    this.at += token.length
    return true
  }

  expect(token: string): void {
    if (!this.token(token)) throw new Mismatch()
  }

  match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at
    const match = pattern.exec(this.#text)
    if (!match) return undefined
    this.at = pattern.lastIndex
    return match
  }

  skipBlanks(): void {
    this.match(blanks)
  }

  /** The result of `parse`, or undefined without consuming any input. */
  attempt<T>(parse: () => T): T | undefined {
    const [start, depth] = [this.at, this.depth]
    try {
      return parse()
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error
      this.at = start
      this.depth = depth
      return undefined
    }
  }
}

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

function unescape(body: string): string {
  const text = body.replaceAll(
    /\\(?:u([\da-fA-F]{4})|(.))/gu,
    (_, unit: string | undefined, sign: string | undefined) =>
      unit === undefined ? (escapes[sign ?? ''] ?? sign ?? '') : String.fromCharCode(Number.parseInt(unit, 16)),
  )
  // Rejects lone surrogates.
  if (/\p{Cs}/u.test(text)) throw new Mismatch()
  return text
}

function quoted(cursor: Cursor): string | undefined {
  const match = cursor.match(singleQuoted) ?? cursor.match(doubleQuoted)
  if (!match) return undefined
  const body = match[1] ?? ''
  if (Array.from(body).some((sign) => sign < ' ')) throw new Mismatch()
  return unescape(body)
}

function index(cursor: Cursor): number | undefined {
  const match = cursor.match(wholeNumber)
  if (!match) return undefined
  const value = Number(match[0])
  if (!Number.isSafeInteger(value)) throw new Mismatch()
  return value
}

function slice(cursor: Cursor): Selector {
  const bound = (): number | undefined => {
    const value = index(cursor)
    if (value !== undefined) cursor.skipBlanks()
    return value
  }
  const start = bound()
  cursor.expect(':')
  cursor.skipBlanks()
  const end = bound()
  let step: number | undefined
  if (cursor.token(':')) step = cursor.attempt(() => (cursor.skipBlanks(), required(index(cursor))))
  return { kind: 'slice', start, end, step: step ?? 1 }
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Mismatch()
  return value
}

function selector(cursor: Cursor): Selector {
  const name = quoted(cursor)
  if (name !== undefined) return { kind: 'name', name }
  const range = cursor.attempt(() => slice(cursor))
  if (range) return range
  const position = index(cursor)
  if (position !== undefined) return { kind: 'index', index: position }
  if (cursor.token('*')) return { kind: 'wildcard' }
  cursor.expect('?')
  cursor.skipBlanks()
  return { kind: 'filter', condition: alternatives(cursor) }
}

function segment(cursor: Cursor): Segment {
  const descend = cursor.token('..')
  if (cursor.token('[')) {
    const selectors: Selector[] = []
    do {
      cursor.skipBlanks()
      selectors.push(selector(cursor))
      cursor.skipBlanks()
    } while (cursor.token(','))
    cursor.expect(']')
    return { kind: 'selectors', descend, selectors }
  }
  if (!descend) cursor.expect('.')
  const name = cursor.match(shorthand)
  if (name) return { kind: 'name', descend, name: name[0] }
  cursor.expect('*')
  return { kind: 'wildcard', descend }
}

function path(cursor: Cursor, one: (cursor: Cursor) => Segment): JsonPath {
  const from = cursor.token('$') ? 'root' : 'current'
  if (from === 'current') cursor.expect('@')
  const segments: Segment[] = []
  for (;;) {
    const next = cursor.attempt(() => (cursor.skipBlanks(), one(cursor)))
    if (!next) return { from, segments }
    segments.push(next)
  }
}

/** A segment of a query that finds at most one value. */
function singularSegment(cursor: Cursor): Segment {
  if (cursor.token('.')) return { kind: 'name', descend: false, name: required(cursor.match(shorthand))[0] }
  cursor.expect('[')
  const name = quoted(cursor)
  const only: Selector = name === undefined ? { kind: 'index', index: required(index(cursor)) } : { kind: 'name', name }
  cursor.expect(']')
  return { kind: 'selectors', descend: false, selectors: [only] }
}

function literal(cursor: Cursor): { readonly value: Literal } | undefined {
  const text = quoted(cursor)
  if (text !== undefined) return { value: text }
  const digits = cursor.match(number)
  // Adding zero turns a negative zero into zero, which it would not equal otherwise.
  if (digits) return { value: Number(digits[0]) + 0 }
  const name = cursor.match(word)?.[0]
  return name === undefined ? undefined : { value: name === 'null' ? null : name === 'true' }
}

function operand(cursor: Cursor, one: (cursor: Cursor) => Segment): Operand {
  const constant = literal(cursor)
  return constant ? { kind: 'literal', ...constant } : { kind: 'path', path: path(cursor, one) }
}

function separated(cursor: Cursor, separator: string, one: (cursor: Cursor) => Condition): Condition[] {
  const terms = [one(cursor)]
  for (;;) {
    const next = cursor.attempt(() => {
      cursor.skipBlanks()
      cursor.expect(separator)
      cursor.skipBlanks()
      return one(cursor)
    })
    if (!next) return terms
    terms.push(next)
  }
}

function alternatives(cursor: Cursor): Condition {
  if (cursor.depth >= maxDepth) throw new Mismatch()
  cursor.depth += 1
  const terms = separated(cursor, '||', (it) => {
    const all = separated(it, '&&', basic)
    return all.length === 1 && all[0] ? all[0] : { kind: 'and', terms: all }
  })
  cursor.depth -= 1
  return terms.length === 1 && terms[0] ? terms[0] : { kind: 'or', terms }
}

function compare(cursor: Cursor): Condition {
  const left = operand(cursor, singularSegment)
  cursor.skipBlanks()
  const by = required(cursor.match(comparison))[0] as Comparison
  cursor.skipBlanks()
  return { kind: 'compare', left, by, right: operand(cursor, singularSegment) }
}

function basic(cursor: Cursor): Condition {
  const comparing = cursor.attempt(() => compare(cursor))
  if (comparing) return comparing
  const negated = cursor.token('!')
  if (negated) cursor.skipBlanks()
  if (cursor.token('(')) {
    cursor.skipBlanks()
    const condition = alternatives(cursor)
    cursor.skipBlanks()
    cursor.expect(')')
    return { kind: 'group', negated, condition }
  }
  if (!cursor.token('search(')) return { kind: 'exists', negated, path: path(cursor, segment) }
  cursor.skipBlanks()
  const text = operand(cursor, segment)
  cursor.skipBlanks()
  cursor.expect(',')
  cursor.skipBlanks()
  const pattern = operand(cursor, segment)
  cursor.skipBlanks()
  cursor.expect(')')
  return { kind: 'search', negated, text, pattern }
}

/** Parses a query from the root (`$`). Undefined when the text is not one. */
export function parseJsonPath(text: string): JsonPath | undefined {
  const cursor = new Cursor(text)
  const parsed = cursor.attempt(() => path(cursor, segment))
  return parsed?.from === 'root' && cursor.atEnd ? parsed : undefined
}
