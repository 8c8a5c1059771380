// Parsers with the error rules of Haskell's Parsec, because clients see its texts: which alternative fails furthest, what
// was expected there, and whether input had been consumed. The combinators are in `combinators.ts`.
// https://hackage.haskell.org/package/parsec (Text.Parsec.Prim, Text.Parsec.Error)
import { errors, type ApiError } from '../errors.ts'
import { showText } from '../../text/haskell-show.ts'

/** What a parser returns when it does not match. */
export const failed: unique symbol = Symbol('failed')

/**
 * Reads from `input.at` on. A failure is fatal when it has moved `input.at` ("consumed"): no alternative is tried then.
 * Either way `input.fault` says what else would have been accepted at the place where the parser stopped.
 */
export type Parser<T> = (input: Input) => T | typeof failed

/** What was met is read from the text when it is told: where the fault is, or at a place of its own. */
export type Message =
  { readonly kind: 'unexpected' | 'expected'; readonly text: string } | { readonly kind: 'met'; readonly at?: number }
export type ParseError = { readonly at: number; readonly messages: readonly Message[] }

export const unexpectedHere: Message = { kind: 'met' }

export const noParseError: ParseError = { at: 0, messages: [] }

/** Text being read. Faults are kept only when `tracing`: they do not change what is accepted. */
export class Input {
  readonly what: string
  readonly shown: string
  readonly text: string
  readonly tracing: boolean
  at = 0
  depth = 0
  parseError: ParseError = noParseError

  constructor(what: string, shown: string, text: string, tracing: boolean) {
    this.what = what
    this.shown = shown
    this.text = text
    this.tracing = tracing
  }

  /** Notes that the text at `at` is none of what was expected. */
  expected(at: number, expected: readonly Message[]): void {
    if (!this.tracing) return
    this.parseError = { at, messages: [unexpectedHere, ...expected] }
  }

  /** Joins an earlier fault with the one just made, when nothing was consumed between them. */
  merge(earlier: ParseError): void {
    const later = this.parseError
    if (later.messages.length === 0 || (earlier.messages.length > 0 && earlier.at > later.at)) this.parseError = earlier
    else if (earlier.messages.length > 0 && earlier.at === later.at)
      this.parseError = { at: later.at, messages: [...earlier.messages, ...later.messages] }
  }

  /** The error for a client: where, and what was met and expected there. */
  error(at: number, details: string): ApiError {
    return errors.queryParam(`"failed to parse ${this.what} (${this.shown})" ${placeOf(this.text, at)}`, details)
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
    const unexpectedInput = messages.find((message) => message.kind === 'met')
    const code = unexpectedInput && text.codePointAt(unexpectedInput.at ?? at)
    if (unexpectedInput)
      parts.push(`unexpected ${code === undefined ? 'end of input' : showText(String.fromCodePoint(code))}`)
  }
  if (expected.length > 0) parts.push(`expecting ${list(expected)}`)
  return parts.join(' ').trim()
}

/**
 * Runs a parser over `text` (it need not read all of it).
 * @param what names the parameter in the error, `shown` is its value there
 * @throws PGRST100 with Parsec's description
 */
export function parse<T>(parser: Parser<T>, what: string, shown: string, text = shown): T {
  const value = parser(new Input(what, shown, text, false))
  if (value !== failed) return value
  // Only a request that is refused anyway pays for the description.
  const traced = new Input(what, shown, text, true)
  parser(traced)
  throw traced.error(traced.parseError.at, describe(text, traced.parseError))
}
