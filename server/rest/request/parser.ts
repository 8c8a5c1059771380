// Parsers with the same error messages as Haskell's Parsec, which clients of PostgREST see. `combinators.ts` has the
// combinators.
// https://hackage.haskell.org/package/parsec (Text.Parsec.Prim, Text.Parsec.Error)
import { errors, type ApiError } from '../errors.ts'
import type { RestSettings } from '../settings.ts'
import { showCharacter, showText } from '../../text/haskell.ts'

/** What a parser returns when it does not match. */
export const failed: unique symbol = Symbol('failed')

/**
 * Parses from `input.at` on. A failure that has moved `input.at` (consumed input) is fatal: no alternative is tried.
 * `input.parseError` has what else would have been accepted at the position where the parser stopped.
 */
export type Parser<T> = (input: Input) => T | typeof failed

/** `unexpected input` stands for the character at `at`, which defaults to the position of the error. */
export type Message =
  | { readonly kind: 'unexpected' | 'expected'; readonly text: string }
  | { readonly kind: 'unexpected input'; readonly at?: number }

/** Parsec's error: a position, and messages about it. */
export type ParseError = { readonly at: number; readonly messages: readonly Message[] }

const unexpectedHere: Message = { kind: 'unexpected input' }

export const noParseError: ParseError = { at: 0, messages: [] }

/** An error before the position from which errors are tracked. */
export const untracedError: ParseError = { at: -1, messages: [] }

/**
 * What happens to text after a complete value, as in `id=in.(1,2)junk`. PostgREST ignores it, so that a filter with an
 * unquoted parenthesis loses the conditions behind it (setting `url-ignore-trailing-text`).
 */
export type TrailingText = 'rejected' | 'ignored'

/** What happens to trailing text by the settings. */
export const trailingText = ({ urlIgnoreTrailingText }: Pick<RestSettings, 'urlIgnoreTrailingText'>): TrailingText =>
  urlIgnoreTrailingText ? 'ignored' : 'rejected'

/** The text being parsed. Parse errors are tracked only when `tracing`; they do not affect what is accepted. */
export class Input {
  readonly what: string
  readonly shown: string
  readonly text: string
  readonly trailing: TrailingText
  readonly tracing: boolean
  /** The position from which errors are tracked. */
  readonly tracedFrom: number
  at = 0
  depth = 0
  /** How many parsers run whose failure would be undone. */
  attempts = 0
  /** Where the last element of a list begins that has matched and will not be undone. Errors are not before it. */
  settled = 0
  parseError: ParseError = noParseError

  /** @param tracedFrom undefined: errors are not tracked */
  constructor(what: string, shown: string, text: string, trailing: TrailingText, tracedFrom?: number) {
    this.what = what
    this.shown = shown
    this.text = text
    this.trailing = trailing
    this.tracing = tracedFrom !== undefined
    this.tracedFrom = tracedFrom ?? 0
  }

  /** Whether an error at the position is tracked. */
  isTraced(at: number): boolean {
    return this.tracing && at >= this.tracedFrom
  }

  /** Records an error, if errors are tracked. */
  fail(at: number, messages: () => readonly Message[]): void {
    if (!this.tracing) return
    this.parseError = at < this.tracedFrom ? untracedError : { at, messages: messages() }
  }

  /** Records that the text at `at` does not match. */
  expected(at: number, expected: readonly Message[]): void {
    if (!this.tracing) return
    this.parseError = at < this.tracedFrom ? untracedError : { at, messages: [unexpectedHere, ...expected] }
  }

  /** Merges an earlier parse error with the current one, if no input was consumed between them. */
  merge(earlier: ParseError): void {
    const later = this.parseError
    if (later.messages.length === 0 || (earlier.messages.length > 0 && earlier.at > later.at)) this.parseError = earlier
    else if (earlier.messages.length > 0 && earlier.at === later.at)
      this.parseError = { at: later.at, messages: [...earlier.messages, ...later.messages] }
  }

  /** The error for the client. */
  error(at: number, details: string, hint?: string): ApiError {
    return errors.queryParam(`"failed to parse ${this.what} (${this.shown})" ${placeOf(this.text, at)}`, details, hint)
  }
}

function placeOf(text: string, at: number): string {
  let line = 1
  let column = 1
  for (const character of text.slice(0, at)) {
    if (character === '\n') {
      line += 1
      column = 1
    } else column += character === '\t' ? 8 - ((column - 1) % 8) : 1
  }
  return `(line ${line}, column ${column})`
}

function describe(text: string, { at, messages }: ParseError): string {
  if (messages.length === 0) return 'unknown parse error'
  const texts = (kind: 'unexpected' | 'expected'): readonly string[] => {
    const found = new Set<string>()
    for (const message of messages) if (message.kind === kind && message.text !== '') found.add(message.text)
    return [...found]
  }
  const list = (items: readonly string[]): string =>
    items.length > 1 ? `${items.slice(0, -1).join(', ')} or ${items.at(-1) ?? ''}` : items.join('')
  const unexpected = texts('unexpected')
  const expected = texts('expected')
  const parts: string[] = []
  if (unexpected.length > 0) parts.push(`unexpected ${list(unexpected)}`)
  else if (!messages.some(({ kind }) => kind === 'unexpected')) {
    const unexpectedInput = messages.find((message) => message.kind === 'unexpected input')
    const code = unexpectedInput && text.codePointAt(unexpectedInput.at ?? at)
    if (unexpectedInput)
      parts.push(`unexpected ${code === undefined ? 'end of input' : showText(String.fromCodePoint(code))}`)
  }
  if (expected.length > 0) parts.push(`expecting ${list(expected)}`)
  return parts.join(' ').trim()
}

/** Matches the end of the input. */
export const end: Parser<undefined> = (input) => {
  const codePoint = input.text.codePointAt(input.at)
  input.fail(input.at, () => {
    const found: Message =
      codePoint === undefined
        ? unexpectedHere
        : { kind: 'unexpected', text: showCharacter(String.fromCodePoint(codePoint)) }
    return [found, { kind: 'expected', text: 'end of input' }]
  })
  return codePoint === undefined ? undefined : failed
}

/** Of a longer text, it is not found out whether PostgREST would ignore a part, which takes as long as parsing it. */
const longText = 4096

const quotingHint =
  'Put names and values that contain commas, parentheses or quotes in double quotes, with a backslash before each quote and backslash in them.'

const castHint =
  'A filter has no cast. Numbers of JSON are compared as numbers behind ->, and as text behind ->>; for others, filter a view or a function.'

/**
 * Runs a parser on `text`.
 *
 * @param what name of the parameter in error messages
 * @param shown value of the parameter in error messages
 * @param trailing whether the parser must consume all of the text
 * @throws PGRST100 with Parsec's description; with a hint if PostgREST would ignore a part of the text
 */
export function parse<T>(
  parser: Parser<T>,
  what: string,
  shown: string,
  trailing: TrailingText = 'rejected',
  text = shown,
): T {
  const input = new Input(what, shown, text, trailing)
  const value = run(parser, input)
  if (value !== failed) return value
  // Parses again for the error message only after a failure, because tracing is slower. What precedes the last element
  // of a list is not traced: in long lists, that is nearly all of the text.
  const { at, messages } = traceOf(parser, input, input.settled) ?? traceOf(parser, input, 0) ?? noParseError
  const isCut =
    trailing === 'rejected' && text.length < longText && parser(new Input(what, shown, text, 'ignored')) !== failed
  throw input.error(at, describe(text, { at, messages }), isCut ? hintAt(text, at) : undefined)
}

const hintAt = (text: string, at: number): string => (text.startsWith('::', at) ? castHint : quotingHint)

/** Runs a parser on all of its text, or on a part of it if trailing text is ignored. */
function run<T>(parser: Parser<T>, input: Input): T | typeof failed {
  const value = parser(input)
  if (value === failed || input.trailing === 'ignored') return value
  const { at, parseError } = input
  const isWhole = end(input) !== failed
  if (input.at === at) input.merge(parseError)
  return isWhole ? value : failed
}

/** The error of a text that does not match; undefined if it is before the position, or unknown. */
function traceOf<T>(parser: Parser<T>, { what, shown, text, trailing }: Input, from: number): ParseError | undefined {
  const traced = new Input(what, shown, text, trailing, from)
  run(parser, traced)
  const { parseError } = traced
  return parseError.messages.length === 0 || parseError.at < from ? undefined : parseError
}
