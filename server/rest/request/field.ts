// The grammar of field names.
import {
  ahead,
  attempt,
  between,
  character,
  choice,
  keepLeft,
  keepRight,
  label,
  literal,
  many,
  map,
  notFollowedBy,
  optional,
  run,
  separatedBy1,
  sequence,
  symbol,
} from './combinators.ts'
import { errors } from '../errors.ts'
import { end, failed, noParseError, parse } from './parser.ts'
import type { Parser, TrailingText } from './parser.ts'
import { remembering } from './remembered.ts'
import { isDigit, isLetter, strip } from '../../text/haskell.ts'
import { hasSigns } from '../../text/sign-count.ts'

export type JsonOperation = {
  readonly arrow: '->' | '->>'
  /** An index has a sign: `+1`, `-1`. */
  readonly operand: { readonly kind: 'key' | 'index'; readonly text: string }
}

/** A column, or a path into its JSON or composite value. */
export type Field = { readonly name: string; readonly jsonPath: readonly JsonOperation[] }

/** Names of the embeds from the root to the one that a parameter applies to; empty for the root. */
export type EmbedPath = readonly string[]

/** A parsed parameter and the embed it applies to. */
export type AtPath<T> = { readonly path: EmbedPath; readonly value: T }

const codes = (characters: string): ReadonlySet<number | undefined> =>
  new Set([...characters].map((single) => single.codePointAt(0)))

/** Creates a test for any character except these. */
export function noneOf(characters: string): (codePoint: number) => boolean {
  const excluded = codes(characters)
  return (codePoint) => !excluded.has(codePoint)
}

const blanks = run((codePoint) => codePoint === 0x20 || codePoint === 0x09, 0)

/** Matches with optional blanks around it. */
export const lexeme = <T>(parser: Parser<T>): Parser<T> => between(blanks, blanks, parser)

export const comma = symbol(',')
export const delimiter = label(symbol('.'), 'delimiter (.)')

const isIdentifierCharacter = (codePoint: number): boolean =>
  isLetter(codePoint) || isDigit(codePoint) || codePoint === 0x5f || codePoint === 0x20 || codePoint === 0x24

/** Name of a type or a text search configuration. */
export const identifier = map(run(isIdentifierCharacter, 1, 'letter', 'digit'), strip)

const plainPart = run(noneOf('\\"'), 1)
const escapedCharacter = keepRight(
  symbol('\\'),
  character(() => true),
)

/** `"…"`, in which a backslash escapes the next character. */
export const quotedValue = between(
  symbol('"'),
  symbol('"'),
  map(many(choice(plainPart, escapedCharacter)), (parts) => parts.join('')),
)

const dash = attempt(sequence(symbol('-'), notFollowedBy(symbol('>'))))

/** Parts separated by dashes that do not begin an arrow. */
const dashed = (part: Parser<string>): Parser<string> => map(separatedBy1(part, dash), (parts) => parts.join('-'))

const anyName = label(choice(quotedValue, dashed(identifier)), 'field name (* or [a..z0..9_$])')

const isPlain = (unit: number): boolean => isIdentifierCharacter(unit) && unit !== 0x20

/** Name of a column, a relation, a function's argument. */
export const fieldName: Parser<string> = (input) => {
  // Fast path for plain ASCII names. Names that may continue with a blank, a dash or other letters need the grammar.
  const { text, at: start } = input
  let at = start
  let unit = text.charCodeAt(at)
  while (unit < 0x80 && isPlain(unit)) unit = text.charCodeAt((at += 1))
  if (at === start || unit === 0x20 || unit === 0x2d || unit >= 0x80 || input.isTraced(at)) return anyName(input)
  input.at = at
  input.parseError = noParseError
  return text.slice(start, at)
}

const arrow = choice(attempt(literal('->>')), attempt(literal('->'))) as Parser<JsonOperation['arrow']>

const keyName = label(
  choice(quotedValue, dashed(map(run(noneOf('(-:.,>)'), 1), strip))),
  'any non reserved character different from: .,>()',
)

const indexEnd: Parser<unknown> = choice<unknown>(
  ...['->', '::', '.', ','].map((text) => attempt(ahead(literal(text)))),
  attempt(end),
)

const index = keepLeft(
  map(
    sequence<[string | null, string]>(optional(symbol('-')), run(isDigit, 1, 'digit')),
    ([sign, digits]) => `${sign ?? '+'}${digits}`,
  ),
  indexEnd,
)

const operand = choice<JsonOperation['operand']>(
  attempt(map(index, (text) => ({ kind: 'index', text }))),
  attempt(map(keyName, (text) => ({ kind: 'key', text }))),
)

/** `->a->>0`, or nothing. */
export const jsonPath = many<JsonOperation>(
  map(sequence<[JsonOperation['arrow'], JsonOperation['operand']]>(arrow, operand), ([arrow, operand]) => ({
    arrow,
    operand,
  })),
  true,
)

const bareField = map(sequence<[string, JsonOperation[]]>(fieldName, jsonPath), ([name, jsonPath]): Field => ({
  name,
  jsonPath,
}))

export const field = lexeme(bareField)

const dotted = separatedBy1(fieldName, delimiter)

const fieldAtPath = map(
  sequence<[string[], JsonOperation[]]>(dotted, jsonPath),
  ([names, jsonPath]): AtPath<Field> => ({
    path: names.slice(0, -1),
    value: { name: names.at(-1) ?? '', jsonPath },
  }),
)

const cast = /^::[a-z_]\w*$/i

/**
 * A cast behind a value of JSON, as in `metadata->count::int=lt.3` of LangChain's guides, is skipped, as in PostgREST: the
 * comparison is one of jsonb, which compares numbers as numbers. Behind text (`->>`) or a column it would matter, and is
 * trailing text.
 */
const treePath: Parser<AtPath<Field>> = (input) => {
  const found = fieldAtPath(input)
  if (found === failed) return failed
  const isJson = found.value.jsonPath.at(-1)?.arrow === '->'
  if (isJson && cast.test(input.text.slice(input.at))) input.at = input.text.length
  return found
}

const plainName = /^[A-Za-z0-9_$]+$/

const readTreePath = remembering((key, trailing) => parse(treePath, 'tree path', key, trailing))

/**
 * Parses the name of a parameter: `clients.projects.data->a` is the field `data->a` of the embed `clients.projects`.
 * @throws PGRST100
 */
export const parseTreePath = (key: string, trailing: TrailingText = 'rejected'): AtPath<Field> =>
  plainName.test(key) ? { path: [], value: { name: key, jsonPath: [] } } : readTreePath(key, trailing)

/**
 * Parses the name of a parameter that ends in `and` or `or`, possibly negated.
 * @returns the embed, and the operator as it is written before its operands: `or`, `not.or`
 * @throws PGRST100
 */
export const parseLogicPath = remembering((key, trailing): AtPath<string> => {
  const names = parse(dotted, 'logic path', key, trailing)
  const operator = names.at(-1) ?? ''
  return {
    path: names.slice(0, -1).filter((name) => name !== 'not'),
    value: names.includes('not') ? `not.${operator}` : operator,
  }
})

const names = separatedBy1(fieldName, lexeme(comma))

/**
 * Parses a list of names: the parameters `columns` and `on_conflict`.
 * @throws PGRST100
 */
export const parseNames = (
  what: 'columns parameter' | 'on_conflict parameter',
  text: string,
  trailing: TrailingText,
): string[] => parse(names, what, text, trailing)

/**
 * The text of a list, unless it has so many items that parsing it would delay other requests.
 *
 * @throws PGRST100
 */
export function checkedList(parameter: string, text: string, most: number): string {
  if (!hasSigns(text, ',', most)) return text
  throw errors.queryParam(`The ${parameter} parameter has too many items`, `At most ${most} are allowed.`)
}
