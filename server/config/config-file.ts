// Parses PostgREST's configuration file, whose format is that of Haskell's `configurator`.
// https://hackage.haskell.org/package/configurator-pg/docs/Data-Configurator.html
import type { GivenValue } from './setting.ts'

export type ConfigFileSource = {
  /** Returns the contents of a file. Throws when it cannot be read. */
  readonly read: (path: string) => string
  /** Returns an environment variable, for `$(NAME)`. */
  readonly variable: (name: string) => string | undefined
}

/** The message contains the file, the position and the problem. */
export class ConfigFileError extends Error {}

const maxImportDepth = 20

/**
 * Reads a configuration file and the files that it imports.
 *
 * @returns values by full name (`app.settings.key`); the last value of a name wins
 * @throws ConfigFileError
 */
export function readConfigFile(path: string, source: ConfigFileSource): ReadonlyMap<string, GivenValue> {
  const values = new Map<string, GivenValue>()
  new Reader(path, '', values, source, 0).readAll()
  return values
}

const space = /\s+/y
const horizontalSpace = /[ \t]+/y
const lineComment = /#[^\r\n]*/y
// `#;` before a directive comments it out.
const comment = /#(?!;)[^\r\n]*/y
const lineEnd = /\r?\n/y
const name = /\p{L}[\p{L}\p{N}_-]*(?:\.\p{L}[\p{L}\p{N}_-]*)*/uy
const importKeyword = /import(?![\p{L}\p{N}_.-])/uy
const boolean = /on|off|true|false/y
const number = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const plainText = /[^"\\]+/y
const hexDigits = /[\da-fA-F]{4}/y

const escapes: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['"', '"'],
  ['\\', '\\'],
])

class Reader {
  readonly #path: string
  readonly #prefix: string
  readonly #values: Map<string, GivenValue>
  readonly #source: ConfigFileSource
  readonly #depth: number
  readonly #text: string
  #at = 0

  constructor(path: string, prefix: string, values: Map<string, GivenValue>, source: ConfigFileSource, depth: number) {
    this.#path = path
    this.#prefix = prefix
    this.#values = values
    this.#source = source
    this.#depth = depth
    try {
      this.#text = source.read(path).replace(/^\uFEFF/, '')
    } catch (error) {
      throw new ConfigFileError(error instanceof Error ? error.message : String(error))
    }
  }

  readAll(): void {
    this.#skipLines()
    this.#directives(this.#prefix, true)
    if (this.#at < this.#text.length) this.#fail('a name')
  }

  #fail(expected: string): never {
    const before = this.#text.slice(0, this.#at).split('\n')
    const column = Array.from(before.at(-1) ?? '').length + 1
    throw new ConfigFileError(`${this.#path}:${before.length}:${column}: expected ${expected}`)
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#text)
    if (!match) return undefined
    this.#at = pattern.lastIndex
    return match[0]
  }

  #takeSign(sign: string): boolean {
    if (!this.#text.startsWith(sign, this.#at)) return false
    this.#at += sign.length
    return true
  }

  #skipLines(): void {
    while (this.#take(space) !== undefined || this.#take(comment) !== undefined);
  }

  /** Parses directives, one per line. `effective` is false for those that are commented out. */
  #directives(prefix: string, effective: boolean): void {
    while (this.#directive(prefix, effective)) {
      while (this.#take(horizontalSpace) !== undefined || this.#take(lineComment) !== undefined);
      if (this.#take(lineEnd) === undefined) break
      this.#skipLines()
    }
    this.#skipLines()
  }

  #directive(prefix: string, effective: boolean): boolean {
    if (this.#takeSign('#;')) {
      this.#take(horizontalSpace)
      if (!this.#directive(prefix, false)) this.#fail('a directive')
      return true
    }
    if (this.#take(importKeyword) !== undefined) {
      this.#skipLines()
      if (this.#text[this.#at] !== '"') this.#fail('the name of a file in quotes')
      const path = this.#string()
      if (effective) this.#import(path, prefix)
      return true
    }
    const key = this.#take(name)
    if (key === undefined) return false
    this.#skipLines()
    if (this.#takeSign('=')) {
      this.#skipLines()
      const value = this.#value()
      if (effective)
        this.#values.set(prefix + key, typeof value === 'string' ? this.#expand(value, prefix, key) : value)
    } else if (this.#takeSign('{')) {
      this.#skipLines()
      this.#directives(`${prefix}${key}.`, effective)
      if (!this.#takeSign('}')) this.#fail("a name or '}'")
    } else this.#fail("'=' or '{'")
    return true
  }

  #import(path: string, prefix: string): void {
    if (this.#depth >= maxImportDepth) this.#fail('fewer imports within imports')
    const folder = path.startsWith('/') ? '' : this.#path.slice(0, this.#path.lastIndexOf('/') + 1)
    new Reader(folder + path, prefix, this.#values, this.#source, this.#depth + 1).readAll()
  }

  #value(): GivenValue {
    const word = this.#take(boolean)
    if (word !== undefined) return word === 'on' || word === 'true'
    if (this.#text[this.#at] === '"') return this.#string()
    const digits = this.#take(number)
    if (digits !== undefined) return Number(digits)
    if (!this.#takeSign('[')) this.#fail('a value: text in quotes, a number, true, false, or a list')
    const items: GivenValue[] = []
    this.#skipLines()
    while (!this.#takeSign(']')) {
      if (items.length > 0) {
        if (!this.#takeSign(',')) this.#fail("',' or ']'")
        this.#skipLines()
      }
      items.push(this.#value())
      this.#skipLines()
    }
    return items
  }

  #string(): string {
    this.#at += 1
    let text = ''
    while (!this.#takeSign('"')) {
      const plain = this.#take(plainText)
      if (plain !== undefined) text += plain
      else if (this.#takeSign('\\')) text += this.#escape()
      else this.#fail("'\"'")
    }
    return text
  }

  #escape(): string {
    if (this.#takeSign('u')) return this.#unicode()
    const sign = escapes.get(this.#text[this.#at] ?? '')
    if (sign === undefined) this.#fail('one of the escapes \\n \\t \\r \\" \\\\ \\uXXXX')
    this.#at += 1
    return sign
  }

  /** Parses four hexadecimal digits, or a surrogate pair of two such units. */
  #unicode(): string {
    const unit = (): string => {
      const digits = this.#take(hexDigits) ?? this.#fail('four hexadecimal digits')
      return String.fromCharCode(Number.parseInt(digits, 16))
    }
    const first = unit()
    if (first < '\uD800' || first > '\uDFFF') return first
    const pair = this.#takeSign('\\u') ? first + unit() : first
    if ((pair.codePointAt(0) ?? 0) < 0x10000) this.#fail('a valid surrogate pair')
    return pair
  }

  /** Replaces `$$` with a dollar sign, and `$(NAME)` with an earlier value of the file or an environment variable. */
  #expand(text: string, prefix: string, key: string): string {
    if (!text.includes('$')) return text
    const fail = (message: string): never => {
      throw new ConfigFileError(`${this.#path}: ${prefix}${key}: ${message}`)
    }
    return text.replaceAll(
      /\$(?:(\$)|\(([^)]+)\)|)/g,
      (_, dollar: string | undefined, variable: string | undefined) => {
        if (dollar !== undefined) return dollar
        if (variable === undefined) return fail("a single '$' must be written as '$$'; '$(NAME)' inserts a variable")
        const value = this.#lookUp(variable, prefix)
        if (value === undefined) return fail(`no such variable: '${variable}'`)
        if (typeof value !== 'string' && typeof value !== 'number') {
          return fail(`variable '${variable}' is not a string or number`)
        }
        return String(value)
      },
    )
  }

  /** Looks in the group (`a.b.`), then in the enclosing groups, then in the environment. */
  #lookUp(variable: string, prefix: string): GivenValue | undefined {
    for (const groups = prefix.split('.').slice(0, -1); ; groups.pop()) {
      const value = this.#values.get([...groups, variable].join('.'))
      if (value !== undefined) return value
      if (groups.length === 0) return this.#source.variable(variable)
    }
  }
}
