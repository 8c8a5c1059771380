// The grammar of filters.
import { comma, delimiter, identifier, lexeme, noneOf, quotedValue } from './field.ts'
import type { Field } from './field.ts'
import {
  ahead,
  attempt,
  between,
  byTrailingText,
  character,
  choice,
  keepLeft,
  keepRight,
  label,
  literal,
  map,
  notFollowedBy,
  optional,
  rest,
  run,
  separatedBy1,
  sequence,
  succeed,
  symbol,
} from './combinators.ts'
import { ApiError } from '../errors.ts'
import { end, failed, noParseError, parse } from './parser.ts'
import type { Parser, TrailingText } from './parser.ts'
import { remembering } from './remembered.ts'

const simpleOperators = ['neq', 'cs', 'cd', 'ov', 'sl', 'sr', 'nxr', 'nxl', 'adj'] as const
// If one name is a prefix of another, the longer one must come first, since the first match is taken.
const quantifiableOperators = ['eq', 'gte', 'gt', 'lte', 'lt', 'like', 'ilike', 'match', 'imatch'] as const
const ftsOperators = ['fts', 'plfts', 'phfts', 'wfts'] as const
const isValues = ['null', 'not_null', 'true', 'false', 'unknown'] as const

/** Operators with one value. */
export type SimpleOperator = (typeof simpleOperators)[number]
/** Operators that also allow `(any)` and `(all)`. */
export type QuantifiableOperator = (typeof quantifiableOperators)[number]
export type FtsOperator = (typeof ftsOperators)[number]
export type IsValue = (typeof isValues)[number]

export type Operation =
  | { readonly kind: 'simple'; readonly operator: SimpleOperator; readonly value: string }
  | {
      readonly kind: 'quantifiable'
      readonly operator: QuantifiableOperator
      readonly quantifier: 'any' | 'all' | null
      readonly value: string
    }
  | { readonly kind: 'in'; readonly values: readonly string[] }
  | { readonly kind: 'is'; readonly value: IsValue }
  | { readonly kind: 'isdistinct'; readonly value: string }
  | { readonly kind: 'fts'; readonly operator: FtsOperator; readonly language: string | null; readonly value: string }

export type Filter = { readonly field: Field; readonly negated: boolean; readonly operation: Operation }

/** `and(name.eq.N,or(id.eq.1,id.eq.2))`: a tree of conditions. */
export type LogicTree<F = Filter> =
  | { readonly kind: 'filter'; readonly filter: F }
  | {
      readonly kind: 'logic'
      readonly negated: boolean
      readonly operator: 'and' | 'or'
      readonly operands: readonly LogicTree<F>[]
    }

type Test = Pick<Filter, 'negated' | 'operation'>

const oneOfTexts = <T extends string>(texts: readonly T[]): Parser<T> =>
  choice(...texts.map((text) => attempt(literal(text)) as Parser<T>))

/** Matches a text regardless of case. */
const anyCase = <T extends string>(text: T): Parser<T> =>
  map(sequence(...[...text].map((letter) => choice(symbol(letter), symbol(letter.toUpperCase())))), () => text)

/**
 * A quoted value in parentheses. Text after its closing quote makes PostgREST read all of it as a value without quotes,
 * which ends at the first comma or parenthesis.
 */
export const quotedElement = byTrailingText({
  rejected: keepLeft(attempt(quotedValue), ahead(choice<unknown>(comma, symbol(')'), end))),
  ignored: attempt(keepLeft(quotedValue, notFollowedBy(character(noneOf(',)'))))),
})
/** A value in parentheses, up to the next comma or the closing parenthesis. */
export const plainElement = run(noneOf(',)'), 0)

const anyList = between(
  lexeme(symbol('(')),
  lexeme(symbol(')')),
  separatedBy1(choice(quotedElement, plainElement), comma),
)
const plainList = /\(([^ \t"()][^"()]*)\)(?![ \t])/y

/** Fast path for lists without quotes, whose elements are between the commas. */
const list: Parser<string[]> = (input) => {
  plainList.lastIndex = input.at
  const elements = plainList.exec(input.text)?.[1]
  if (elements === undefined || input.isTraced(plainList.lastIndex)) return anyList(input)
  input.at = plainList.lastIndex
  input.parseError = noParseError
  return elements.split(',')
}

const isValue = label(
  choice<IsValue>(...isValues.map((value) => attempt(anyCase(value)))),
  'isVal: (null, not_null, true, false, unknown)',
)

const prefixed = (text: string): Parser<unknown> => attempt(sequence(literal(text), delimiter))

const quantifier = attempt(
  between(symbol('('), symbol(')'), choice(attempt(literal('any')), literal('all')) as Parser<'any' | 'all'>),
)

const language = attempt(between(symbol('('), symbol(')'), identifier))

/** Operators that may consist of their name only. */
const plainOperators: ReadonlyMap<string, (value: string) => Operation> = new Map([
  ['isdistinct', (value: string): Operation => ({ kind: 'isdistinct', value })] as const,
  ...ftsOperators.map(
    (operator) => [operator, (value: string): Operation => ({ kind: 'fts', operator, language: null, value })] as const,
  ),
  ...simpleOperators.map(
    (operator) => [operator, (value: string): Operation => ({ kind: 'simple', operator, value })] as const,
  ),
  ...quantifiableOperators.map(
    (operator) =>
      [operator, (value: string): Operation => ({ kind: 'quantifiable', operator, quantifier: null, value })] as const,
  ),
])
const longestOperator = Math.max(...[...plainOperators.keys()].map((operator) => operator.length))

/** An operator and its value. The parser of the value must accept any input. */
export function test(value: Parser<string>): Parser<Test> {
  const anyTest = testGrammar(value)
  return (input) => {
    // Fast path for the common cases `eq.…` and `not.eq.…`: the name of an operator and a dot are unambiguous.
    const negated = input.text.startsWith('not.', input.at)
    const start = negated ? input.at + 4 : input.at
    const dot = input.text.indexOf('.', start)
    const length = dot - start
    if (length < 2 || length > longestOperator || input.isTraced(dot)) return anyTest(input)
    const operation = plainOperators.get(input.text.slice(start, dot))
    if (!operation) return anyTest(input)
    input.at = dot + 1
    input.parseError = noParseError
    const text = value(input)
    return text === failed ? failed : { negated, operation: operation(text) }
  }
}

function testGrammar(value: Parser<string>): Parser<Test> {
  const operation = label(
    choice<Operation>(
      map(keepRight(prefixed('in'), list), (values) => ({ kind: 'in', values })),
      map(keepRight(prefixed('is'), isValue), (value) => ({ kind: 'is', value })),
      map(keepRight(prefixed('isdistinct'), value), (value) => ({ kind: 'isdistinct', value })),
      attempt(
        map(
          sequence<[FtsOperator, string | null, unknown, string]>(
            oneOfTexts(ftsOperators),
            optional(language),
            delimiter,
            value,
          ),
          ([operator, language, , value]) => ({ kind: 'fts', operator, language, value }),
        ),
      ),
      attempt(
        map(
          sequence<[SimpleOperator, unknown, string]>(
            label(oneOfTexts(simpleOperators), 'unknown single value operator'),
            delimiter,
            value,
          ),
          ([operator, , value]) => ({ kind: 'simple', operator, value }),
        ),
      ),
      attempt(
        map(
          sequence<[QuantifiableOperator, 'any' | 'all' | null, unknown, string]>(
            label(oneOfTexts(quantifiableOperators), 'unknown single value operator'),
            optional(quantifier),
            delimiter,
            value,
          ),
          ([operator, quantifier, , value]) => ({ kind: 'quantifiable', operator, quantifier, value }),
        ),
      ),
    ),
    'operator (eq, gt, ...)',
  )
  const negated = choice<boolean>(
    map(prefixed('not'), () => true),
    succeed(false),
  )
  return map(sequence<[boolean, Operation]>(negated, operation), ([negated, operation]) => ({ negated, operation }))
}

const operators = new Set<string>([...plainOperators.keys(), 'in', 'is', 'not'])

/** Whether a value begins like a filter: with an operator and a dot, or a quantifier or language between them. */
export function beginsLikeFilter(text: string): boolean {
  const word = /^(?:not\.)?([a-z]+)(?:\([^()]*\))?\./.exec(text)?.[1]
  return word !== undefined && operators.has(word)
}

/**
 * Whether a word is the name of an operator, or `not`. A filter that begins with another word and a dot is rejected for
 * that word, whatever its value is.
 */
export const isOperator = (word: string): boolean => operators.has(word)

const wholeTest = test(rest)
const wholeTestOrNone = choice<Test | null>(
  wholeTest,
  map(rest, () => null),
)

const firstWord = /^([A-Za-z_]+)\./

/** What is wrong with a filter that begins with a word which is no operator, and a dot, whatever follows. */
const unknownOperator = remembering((word, trailing) => {
  try {
    return parse(wholeTest, 'filter', `${word}.`, trailing)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return error
  }
})

/**
 * Parses the value of a filter parameter.
 * @throws PGRST100
 */
export function parseTest(text: string, trailing: TrailingText): Test {
  const word = firstWord.exec(text)?.[1]
  const known = word === undefined || operators.has(word) ? undefined : unknownOperator(word, trailing)
  if (!(known instanceof ApiError)) return parse(wholeTest, 'filter', text, trailing)
  throw known.with({ message: known.message.replace(`(${word}.)`, () => `(${text})`) })
}

/**
 * Parses the value of a parameter of a function called with GET.
 * @returns null for an argument: its value does not begin with an operator
 * @throws PGRST100
 */
export const parseTestOrNone = (text: string, trailing: TrailingText): Test | null =>
  parse(wholeTestOrNone, 'filter', text, trailing)

/** Whether the list of `in` has no values: `in.()`. */
export const isEmptyList = (values: readonly string[]): boolean => values.length === 1 && values[0] === ''

/** Whether a filter is `eq` without negation and quantifier. */
export const isPlainEquality = ({ negated, operation }: Pick<Filter, 'negated' | 'operation'>): boolean =>
  !negated && operation.kind === 'quantifiable' && operation.operator === 'eq' && operation.quantifier === null
