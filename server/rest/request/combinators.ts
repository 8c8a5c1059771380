// Parsec's combinators, which build parsers from parsers. They track parse errors only for error messages.
// https://hackage.haskell.org/package/parsec (Text.Parsec.Prim, Text.Parsec.Combinator)
import { failed, noParseError, untracedError } from './parser.ts'
import type { Message, Parser, TrailingText } from './parser.ts'
import { showCharacter, showText } from '../../text/haskell.ts'

/** Maximum nesting of parentheses in a parameter. Limits the recursion of the parsers and of the later stages. */
export const maxNesting = 250

const expectations = (texts: readonly string[]): readonly Message[] =>
  texts.map((text) => ({ kind: 'expected', text }) as const)

/** Matches one code point that passes the test. */
export function character(test: (codePoint: number) => boolean, ...expected: readonly string[]): Parser<string> {
  const messages = expectations(expected)
  return (input) => {
    const { text, at } = input
    const codePoint = text.codePointAt(at)
    if (codePoint === undefined || !test(codePoint)) {
      input.expected(at, messages)
      return failed
    }
    input.at = at + (codePoint > 0xffff ? 2 : 1)
    input.parseError = noParseError
    return text.slice(at, input.at)
  }
}

/** Matches one given character. */
export function symbol(wanted: string): Parser<string> {
  const code = wanted.codePointAt(0)
  return character((codePoint) => codePoint === code, showText(wanted))
}

/** Chooses a parser by what happens to trailing text. */
export const byTrailingText =
  <T>(parsers: Readonly<Record<TrailingText, Parser<T>>>): Parser<T> =>
  (input) =>
    parsers[input.trailing](input)

/** Matches at least `minimum` code points that pass the test. */
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
      const codePoint = text.codePointAt(at) ?? 0
      if (!test(codePoint)) break
      at += codePoint > 0xffff ? 2 : 1
    }
    input.expected(at, messages)
    if (at - start < minimum) return failed
    input.at = at
    return text.slice(start, at)
  }
}

/** Matches the rest of the input, which may be empty. */
export const rest: Parser<string> = (input) => {
  const { text, at } = input
  input.at = text.length
  input.expected(input.at, [])
  return text.slice(at)
}

/** Matches a given text. Failing after its first character consumes input, but the error position is the beginning. */
export function literal(wanted: string): Parser<string> {
  const messages = expectations([showText(wanted)])
  return (input) => {
    const { text, at: start } = input
    if (text.startsWith(wanted, start)) {
      input.at = start + wanted.length
      input.parseError = noParseError
      return wanted
    }
    input.fail(start, () => {
      let at = start
      while (at < text.length && text[at] === wanted[at - start]) at += 1
      return [{ kind: 'unexpected input', at }, ...messages]
    })
    if (text[start] === wanted[0]) input.at = start + 1
    return failed
  }
}

/** Succeeds without consuming input. */
export function succeed<T>(value: T): Parser<T> {
  return (input) => {
    input.parseError = noParseError
    return value
  }
}

/** Converts the value of a parser. */
export function map<A, B>(parser: Parser<A>, change: (value: A) => B): Parser<B> {
  return (input) => {
    const value = parser(input)
    return value === failed ? failed : change(value)
  }
}

/** Matches all parsers, one after the other. */
export function sequence<T extends readonly unknown[]>(
  ...parsers: { readonly [K in keyof T]: Parser<T[K]> }
): Parser<T> {
  return (input) => {
    const values: unknown[] = []
    input.parseError = noParseError
    for (const parser of parsers as readonly Parser<unknown>[]) {
      const { at, parseError } = input
      const value = parser(input)
      if (input.tracing && input.at === at) input.merge(parseError)
      if (value === failed) return failed
      values.push(value)
    }
    return values as unknown as T
  }
}

/** Tries parsers in order until one succeeds or fails fatally. */
export function choice<T>(...parsers: readonly Parser<T>[]): Parser<T> {
  return (input) => {
    const start = input.at
    let parseError = noParseError
    for (const parser of parsers) {
      const value = parser(input)
      if (input.at !== start) return value
      if (input.tracing) {
        input.merge(parseError)
        parseError = input.parseError
      }
      if (value !== failed) return value
    }
    return failed
  }
}

/** Turns a fatal failure into an ordinary one, so that alternatives are tried. */
export function attempt<T>(parser: Parser<T>): Parser<T> {
  return (input) => {
    const { at } = input
    input.attempts += 1
    const value = parser(input)
    input.attempts -= 1
    if (value === failed) input.at = at
    return value
  }
}

/** Matches without consuming input. */
export function ahead<T>(parser: Parser<T>): Parser<T> {
  return (input) => {
    const { at } = input
    const value = parser(input)
    if (value !== failed) {
      input.at = at
      input.parseError = noParseError
    }
    return value
  }
}

/** Replaces the expectations of a parser by one name, unless it has consumed input. */
export function label<T>(parser: Parser<T>, text: string): Parser<T> {
  const messages = expectations([text])
  return (input) => {
    const { at } = input
    const value = parser(input)
    if (input.parseError === untracedError) return value
    if (input.tracing && input.at === at && (value === failed || input.parseError.messages.length > 0)) {
      const others = input.parseError.messages.filter((message) => message.kind !== 'expected')
      input.parseError = { at: input.parseError.at, messages: [...messages, ...others] }
    }
    return value
  }
}

/** Matches the parser or nothing. */
export function optional<T>(parser: Parser<T>): Parser<T | null> {
  return choice<T | null>(parser, succeed(null))
}

/** Succeeds without consuming input if a parser of a single character fails. */
export function notFollowedBy(parser: Parser<string>): Parser<undefined> {
  return (input) => {
    const { at } = input
    const value = parser(input)
    if (value === failed) {
      input.at = at
      return undefined
    }
    input.fail(input.at, () => [{ kind: 'unexpected', text: showCharacter(value) }])
    input.at = at
    return failed
  }
}

/**
 * Matches zero or more times.
 *
 * @param mergeLast whether to keep the expectations of the last match beside those for another one, like Haskell's
 *   `Control.Applicative.many` and unlike Parsec's `many`
 */
export function many<T>(parser: Parser<T>, mergeLast = false): Parser<T[]> {
  return (input) => {
    const values: T[] = []
    let parseError = noParseError
    for (;;) {
      const { at } = input
      const value = parser(input)
      if (value === failed) {
        if (input.at !== at) return failed
        if (input.tracing && mergeLast) input.merge(parseError)
        return values
      }
      // A parser that consumes nothing would repeat forever.
      if (input.at === at) throw new Error('a repeated parser must consume input')
      parseError = input.parseError
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

/** Notes where an element of a list begins, if nothing can undo its match. */
function settling<T>(parser: Parser<T>): Parser<T> {
  return (input) => {
    const { at } = input
    const value = parser(input)
    if (value !== failed && input.attempts === 0) input.settled = at
    return value
  }
}

/** Matches one or more times. */
export const separatedBy1 = <T>(parser: Parser<T>, separator: Parser<unknown>): Parser<T[]> =>
  map(sequence<[T, T[]]>(parser, many(settling(keepRight(separator, parser)))), ([first, rest]) => [first, ...rest])

/** Matches zero or more times. */
export const separatedBy = <T>(parser: Parser<T>, separator: Parser<unknown>): Parser<T[]> =>
  map(optional(separatedBy1(parser, separator)), (values) => values ?? [])

/**
 * Limits the depth of a recursive parser.
 * @throws PGRST100 when the input is nested deeper than `maxNesting`
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
