// Parser combinators with the error rules of Haskell's Parsec, because clients see its texts: which alternative fails
// furthest, what was expected there, and whether input had been consumed.
// https://hackage.haskell.org/package/parsec (Text.Parsec.Prim, Text.Parsec.Error)
import { errors } from '../errors.ts'
import { showCharacter, showText } from './show.ts'

/** What a parser returns when it does not match. */
export const failed: unique symbol = Symbol('failed')

/**
 * Reads from `input.at` on. A failure is fatal when it has moved `input.at` ("consumed"): no alternative is tried then.
 * Either way `input.fault` says what else would have been accepted at the place where the parser stopped.
 */
export type Parser<T> = (input: Input) => T | typeof failed

type Message = { readonly kind: 'met' | 'unexpected' | 'expected'; readonly text: string }
type Fault = { readonly at: number; readonly messages: readonly Message[] }

const noFault: Fault = { at: 0, messages: [] }

/** Deepest nesting of parentheses in a parameter. The parsers and the stages after them recurse, so there is an end. */
export const maxNesting = 250

/** Text being read. Faults are kept only when `tracing`: they do not change what is accepted. */
export class Input {
  readonly name: string
  readonly text: string
  readonly tracing: boolean
  at = 0
  depth = 0
  fault: Fault = noFault

  constructor(name: string, text: string, tracing: boolean) {
    this.name = name
    this.text = text
    this.tracing = tracing
  }

  /** Notes that the text at `at` is none of what was expected. */
  expected(at: number, expected: readonly Message[]): void {
    if (!this.tracing) return
    const met = this.text.codePointAt(at)
    const text = met === undefined ? '' : showText(String.fromCodePoint(met))
    this.fault = { at, messages: [{ kind: 'met', text }, ...expected] }
  }

  /** Joins an earlier fault with the one just made, when nothing was consumed between them. */
  merge(earlier: Fault): void {
    const later = this.fault
    if (later.messages.length === 0 || (earlier.messages.length > 0 && earlier.at > later.at)) this.fault = earlier
    else if (earlier.messages.length > 0 && earlier.at === later.at)
      this.fault = { at: later.at, messages: [...earlier.messages, ...later.messages] }
  }

  /** The error for a client: where, and what was met and expected there. */
  error(at: number, details: string): Error {
    let line = 1
    let column = 1
    for (const character of this.text.slice(0, at)) {
      if (character === '\n') {
        line += 1
        column = 1
      } else column += character === '\t' ? 8 - ((column - 1) % 8) : 1
    }
    return errors.queryParam(`"${this.name}" (line ${line}, column ${column})`, details)
  }
}

function describe(messages: readonly Message[]): string {
  if (messages.length === 0) return 'unknown parse error'
  const texts = (kind: Message['kind']): string[] => [
    ...new Set(messages.filter((message) => message.kind === kind && message.text !== '').map(({ text }) => text)),
  ]
  const list = (items: readonly string[]): string =>
    items.length > 1 ? `${items.slice(0, -1).join(', ')} or ${items.at(-1) ?? ''}` : items.join('')
  const unexpected = texts('unexpected')
  const met = messages.find((message) => message.kind === 'met')
  const expected = texts('expected')
  const parts: string[] = []
  if (unexpected.length > 0) parts.push(`unexpected ${list(unexpected)}`)
  else if (met && !messages.some((message) => message.kind === 'unexpected'))
    parts.push(`unexpected ${met.text === '' ? 'end of input' : met.text}`)
  if (expected.length > 0) parts.push(`expecting ${list(expected)}`)
  return parts.join(' ').trim()
}

/**
 * Runs a parser over `text` (it need not read all of it).
 * @param what names the parameter in the error, `shown` is its value there
 * @throws PGRST100 with Parsec's description
 */
export function parse<T>(parser: Parser<T>, what: string, shown: string, text = shown): T {
  const name = `failed to parse ${what} (${shown})`
  const value = parser(new Input(name, text, false))
  if (value !== failed) return value
  // Only a request that is refused anyway pays for the description.
  const input = new Input(name, text, true)
  parser(input)
  throw input.error(input.fault.at, describe(input.fault.messages))
}

const expectations = (texts: readonly string[]): readonly Message[] =>
  texts.map((text) => ({ kind: 'expected', text }) as const)

/** One code point that passes the test. */
export function character(test: (codePoint: number) => boolean, ...expected: readonly string[]): Parser<string> {
  const messages = expectations(expected)
  return (input) => {
    const { text, at } = input
    const met = text.codePointAt(at)
    if (met === undefined || !test(met)) {
      input.expected(at, messages)
      return failed
    }
    input.at = at + (met > 0xffff ? 2 : 1)
    input.fault = noFault
    return text.slice(at, input.at)
  }
}

/** One given character. */
export function symbol(wanted: string): Parser<string> {
  const code = wanted.codePointAt(0)
  return character((met) => met === code, showText(wanted))
}

/** At least `minimum` (0 or 1) code points that pass the test. */
export function run(
  test: (codePoint: number) => boolean,
  minimum: 0 | 1,
  ...expected: readonly string[]
): Parser<string> {
  const messages = expectations(expected)
  return (input) => {
    const { text, at: start } = input
    let at = start
    while (at < text.length) {
      const met = text.codePointAt(at) ?? 0
      if (!test(met)) break
      at += met > 0xffff ? 2 : 1
    }
    input.expected(at, messages)
    if (at - start < minimum) return failed
    input.at = at
    return text.slice(start, at)
  }
}

/** All that is left, which may be nothing. */
export const rest: Parser<string> = (input) => {
  const { text, at } = input
  input.at = text.length
  input.expected(input.at, [])
  return text.slice(at)
}

/** A given text. Failing after its first character counts as consumed, though the fault stays at its beginning. */
export function literal(wanted: string): Parser<string> {
  const messages = expectations([showText(wanted)])
  return (input) => {
    const { text, at: start } = input
    if (text.startsWith(wanted, start)) {
      input.at = start + wanted.length
      input.fault = noFault
      return wanted
    }
    if (input.tracing) {
      let at = start
      while (at < text.length && text[at] === wanted[at - start]) at += 1
      input.expected(at, messages)
      input.fault = { at: start, messages: input.fault.messages }
    }
    if (text[start] === wanted[0]) input.at = start + 1
    return failed
  }
}

/** The end of the text. */
export const end: Parser<undefined> = (input) => {
  const met = input.text.codePointAt(input.at)
  if (input.tracing) {
    const text = met === undefined ? '' : showCharacter(String.fromCodePoint(met))
    const kind = met === undefined ? 'met' : 'unexpected'
    input.fault = { at: input.at, messages: [{ kind, text }, ...endExpected] }
  }
  return met === undefined ? undefined : failed
}
const endExpected = expectations(['end of input'])

/** Succeeds without reading. */
export function succeed<T>(value: T): Parser<T> {
  return (input) => {
    input.fault = noFault
    return value
  }
}

export function map<A, B>(parser: Parser<A>, change: (value: A) => B): Parser<B> {
  return (input) => {
    const value = parser(input)
    return value === failed ? failed : change(value)
  }
}

/** All of them, one after the other. */
export function sequence<T extends readonly unknown[]>(
  ...parsers: { readonly [K in keyof T]: Parser<T[K]> }
): Parser<T> {
  return (input) => {
    const values: unknown[] = []
    input.fault = noFault
    for (const parser of parsers as readonly Parser<unknown>[]) {
      const { at, fault } = input
      const value = parser(input)
      if (input.tracing && input.at === at) input.merge(fault)
      if (value === failed) return failed
      values.push(value)
    }
    return values as unknown as T
  }
}

/** The first that succeeds or fails fatally. */
export function choice<T>(...parsers: readonly Parser<T>[]): Parser<T> {
  return (input) => {
    const start = input.at
    let fault = noFault
    for (const parser of parsers) {
      const value = parser(input)
      if (input.at !== start) return value
      if (input.tracing) {
        input.merge(fault)
        fault = input.fault
      }
      if (value !== failed) return value
    }
    return failed
  }
}

/** Makes a fatal failure an ordinary one, so that alternatives are tried. */
export function attempt<T>(parser: Parser<T>): Parser<T> {
  return (input) => {
    const { at } = input
    const value = parser(input)
    if (value === failed) input.at = at
    return value
  }
}

/** Looks without reading. */
export function ahead<T>(parser: Parser<T>): Parser<T> {
  return (input) => {
    const { at } = input
    const value = parser(input)
    if (value !== failed) {
      input.at = at
      input.fault = noFault
    }
    return value
  }
}

/** Names what is expected, in place of the single expectations, where nothing has been consumed. */
export function label<T>(parser: Parser<T>, text: string): Parser<T> {
  const messages = expectations([text])
  return (input) => {
    const { at } = input
    const value = parser(input)
    if (input.tracing && input.at === at && (value === failed || input.fault.messages.length > 0)) {
      const others = input.fault.messages.filter((message) => message.kind !== 'expected')
      input.fault = { at: input.fault.at, messages: [...messages, ...others] }
    }
    return value
  }
}

export function optional<T>(parser: Parser<T>): Parser<T | null> {
  return choice<T | null>(parser, succeed(null))
}

/** Succeeds where a single character does not match. */
export function notFollowedBy(parser: Parser<string>): Parser<undefined> {
  return (input) => {
    const { at } = input
    const value = parser(input)
    if (value === failed) {
      input.at = at
      return undefined
    }
    if (input.tracing) input.fault = { at: input.at, messages: [{ kind: 'unexpected', text: showCharacter(value) }] }
    input.at = at
    return failed
  }
}

/**
 * As many as there are, which may be none. `mergeLast` keeps the expectations of the last one beside those for another:
 * Haskell has both kinds (`Control.Applicative.many` keeps them, Parsec's own `many` does not).
 */
export function many<T>(parser: Parser<T>, mergeLast = false): Parser<T[]> {
  return (input) => {
    const values: T[] = []
    let fault = noFault
    for (;;) {
      const { at } = input
      const value = parser(input)
      if (value === failed) {
        if (input.at !== at) return failed
        if (input.tracing && mergeLast) input.merge(fault)
        return values
      }
      // A parser that reads nothing would be repeated without end.
      if (input.at === at) throw new Error('a repeated parser must consume input')
      fault = input.fault
      values.push(value)
    }
  }
}

export const keepLeft = <A, B>(left: Parser<A>, right: Parser<B>): Parser<A> =>
  map(sequence<[A, B]>(left, right), ([value]) => value)

export const keepRight = <A, B>(left: Parser<A>, right: Parser<B>): Parser<B> =>
  map(sequence<[A, B]>(left, right), ([, value]) => value)

export const between = <T>(open: Parser<unknown>, close: Parser<unknown>, parser: Parser<T>): Parser<T> =>
  map(sequence<[unknown, T, unknown]>(open, parser, close), ([, value]) => value)

/** One or more. */
export const separatedBy1 = <T>(parser: Parser<T>, separator: Parser<unknown>): Parser<T[]> =>
  map(sequence<[T, T[]]>(parser, many(keepRight(separator, parser))), ([first, rest]) => [first, ...rest])

/** None or more. */
export const separatedBy = <T>(parser: Parser<T>, separator: Parser<unknown>): Parser<T[]> =>
  map(optional(separatedBy1(parser, separator)), (values) => values ?? [])

/**
 * A parser that contains itself.
 * @throws PGRST100 when it is nested deeper than `maxNesting`
 */
export function nested<T>(parser: Parser<T>): Parser<T> {
  return (input) => {
    if (input.depth === maxNesting)
      throw input.error(input.at, `nested too deeply: at most ${maxNesting} levels are allowed`)
    input.depth += 1
    const value = parser(input)
    input.depth -= 1
    return value
  }
}
