// Takes apart conditions in the form in which PostgreSQL prints them (`pg_get_expr`): with brackets around every part. For
// whatever runs or shows a part of a condition; what a condition means is read from its node tree (`node-tree.ts`), which
// PostgreSQL does not print in parts.
import { tokensOf, type Token } from '../text/sql-tokens.ts'

/** A condition: tests that are combined with AND and OR. */
export type Condition =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Condition[] }
  | { readonly kind: 'test'; readonly text: string }

/** The tests of a condition, without the brackets around them. */
export function parseCondition(text: string): Condition {
  const tokens = tokensOf(text)
  return conditionOf(text, tokens, bracketsOf(tokens), 0, tokens.length)
}

/** All tests of a condition, in their order. */
export const testsOf = (condition: Condition): string[] =>
  condition.kind === 'test' ? [condition.text] : condition.parts.flatMap(testsOf)

/** Whether a condition is true, with the results of its tests. Null is unknown, as in SQL. */
export function truthOf(condition: Condition, resultOf: (test: string) => boolean | null): boolean | null {
  if (condition.kind === 'test') return resultOf(condition.text)
  const decisive = condition.kind === 'or'
  const results = condition.parts.map((part) => truthOf(part, resultOf))
  if (results.includes(decisive)) return decisive
  return results.includes(null) ? null : !decisive
}

type Brackets = ReadonlyMap<number, number>

/** The index of the closing bracket by that of the opening one. CASE and END are brackets, too. */
function bracketsOf(tokens: readonly Token[]): Brackets {
  const pairs = new Map<number, number>()
  const open: number[] = []
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind !== 'symbol' && kind !== 'word') continue
    if ((kind === 'symbol' && text === '(') || (kind === 'word' && text === 'case')) open.push(index)
    else if ((kind === 'symbol' && text === ')') || (kind === 'word' && text === 'end')) {
      const start = open.pop()
      if (start !== undefined) pairs.set(start, index)
    }
  }
  return pairs
}

const isSymbol = (token: Token | undefined, text: string): boolean => token?.kind === 'symbol' && token.text === text
const isWord = (token: Token | undefined, text: string): boolean => token?.kind === 'word' && token.text === text

function conditionOf(text: string, tokens: readonly Token[], brackets: Brackets, from: number, to: number): Condition {
  if (isSymbol(tokens[from], '(') && brackets.get(from) === to - 1 && !isWord(tokens[from + 1], 'select')) {
    return conditionOf(text, tokens, brackets, from + 1, to - 1)
  }
  for (const kind of ['or', 'and'] as const) {
    const ranges = split(tokens, brackets, from, to, kind)
    if (ranges.length > 1) {
      return { kind, parts: ranges.map(([start, end]) => conditionOf(text, tokens, brackets, start, end)) }
    }
  }
  return { kind: 'test', text: text.slice(tokens[from]?.start ?? 0, tokens[to - 1]?.end ?? text.length) }
}

function split(tokens: readonly Token[], brackets: Brackets, from: number, to: number, word: string) {
  const ranges: (readonly [number, number])[] = []
  let start = from
  for (let index = from; index < to; index++) {
    index = brackets.get(index) ?? index
    if (!isWord(tokens[index], word)) continue
    ranges.push([start, index])
    start = index + 1
  }
  return [...ranges, [start, to] as const]
}

/**
 * All conditions that lack one operand of one AND, at any depth.
 *
 * @returns each condition with the operand that was dropped
 */
export function withoutConjuncts(text: string): readonly { readonly dropped: string; readonly expression: string }[] {
  const tokens = tokensOf(text)
  const brackets = bracketsOf(tokens)
  const groups = [[0, tokens.length] as const, ...[...brackets].map(([open, close]) => [open + 1, close] as const)]
  return groups
    .map(([from, to]) => split(tokens, brackets, from, to, 'and'))
    .filter((ranges) => ranges.length > 1 && !ranges.some((it) => isBetween(tokens, brackets, it)))
    .sort(([[, first] = [0, 0]], [[, second] = [0, 0]]) => first - second)
    .flatMap((ranges) => {
      const operands = ranges.map(([from, to]) => ({ start: tokens[from]?.start ?? 0, end: tokens[to - 1]?.end ?? 0 }))
      const before = text.slice(0, operands[0]?.start)
      const after = text.slice(operands.at(-1)?.end)
      const texts = operands.map(({ start, end }) => text.slice(start, end))
      return texts.map((dropped, index) => ({
        dropped,
        expression: `${before}${texts.filter((_, at) => at !== index).join(' AND ')}${after}`,
      }))
    })
}

/** Whether the AND after a range is that of BETWEEN. */
function isBetween(tokens: readonly Token[], brackets: Brackets, [from, to]: readonly [number, number]): boolean {
  for (let index = from; index < to; index++) {
    index = brackets.get(index) ?? index
    if (isWord(tokens[index], 'between')) return true
  }
  return false
}

/** A part of an expression that does not depend on the row: a function call, or a subquery of one. */
export type Lookup = {
  /** The SQL that computes it: an expression, or a query of one column. */
  readonly text: string
  readonly isQuery: boolean
  readonly start: number
  readonly end: number
  /** Whether it is a list: the right side of IN or ANY. */
  readonly isList: boolean
}

/** Words that may occur in an expression that does not depend on a row. */
const constantWords: ReadonlySet<string> = new Set(['null', 'true', 'false', 'array'])
const pathOperators: ReadonlySet<string> = new Set(['->', '->>', '#>', '#>>', '::', '.', ',', '(', ')', '[', ']'])

/** The largest parts of an expression that call functions with constant arguments only. */
export function lookupsOf(text: string): Lookup[] {
  const tokens = tokensOf(text)
  const brackets = bracketsOf(tokens)
  const found: Lookup[] = []
  const visit = (from: number, to: number): void => {
    for (let index = from; index < to; index++) {
      const close = isSymbol(tokens[index], '(') ? brackets.get(index) : undefined
      if (close === undefined) continue
      const start = nameStart(tokens, index)
      const lookup = lookupAt(text, tokens, start, index, close)
      if (lookup) found.push(lookup)
      else visit(index + 1, close)
      index = close
    }
  }
  visit(0, tokens.length)
  return found
}

/** The index of the first token of the function name before a bracket; that of the bracket if there is none. */
function nameStart(tokens: readonly Token[], bracket: number): number {
  const isName = (token: Token | undefined): boolean =>
    token?.kind === 'quoted' || (token?.kind === 'word' && !notFunctions.has(token.text))
  if (!isName(tokens[bracket - 1])) return bracket
  let start = bracket - 1
  while (isSymbol(tokens[start - 1], '.') && isName(tokens[start - 2])) start -= 2
  return start
}

const notFunctions: ReadonlySet<string> = new Set([
  'in',
  'any',
  'all',
  'some',
  'exists',
  'not',
  'and',
  'or',
  'is',
  'select',
  'where',
  'from',
  'as',
  'case',
  'when',
  'then',
  'else',
  'array',
  'row',
  'on',
  'using',
  'values',
  'over',
  'filter',
  'operator',
])

function lookupAt(
  text: string,
  tokens: readonly Token[],
  start: number,
  open: number,
  close: number,
): Lookup | undefined {
  const isQuery = start === open && isWord(tokens[open + 1], 'select')
  const inner = isQuery ? open + 2 : start
  // PostgreSQL names the column of a subquery: ( SELECT auth.uid() AS uid).
  const end = isQuery && isWord(tokens[close - 2], 'as') ? close - 2 : isQuery ? close : close + 1
  const part = tokens.slice(inner, end)
  if (!callsOnConstants(part)) return undefined
  const before = tokens[start - 1]
  const outer = { start: tokens[start]?.start ?? 0, end: tokens[close]?.end ?? 0 }
  const body = { start: tokens[inner]?.start ?? 0, end: tokens[end - 1]?.end ?? 0 }
  return {
    ...outer,
    isQuery,
    text: isQuery ? `select ${text.slice(body.start, body.end)}` : text.slice(outer.start, outer.end),
    isList: isQuery && (isWord(before, 'in') || isWord(before, 'any') || isWord(before, 'array')),
  }
}

/** Whether tokens contain a function call, and only constants, casts and paths into JSON besides. */
function callsOnConstants(tokens: readonly Token[]): boolean {
  let calls = false
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind === 'string' || kind === 'number') continue
    if (kind === 'symbol') {
      if (!pathOperators.has(text)) return false
      continue
    }
    if (kind === 'parameter') return false
    if (kind === 'word' && constantWords.has(text)) continue
    if (isType(tokens, index)) continue
    const next = tokens[index + 1]
    if (kind === 'word' && notFunctions.has(text)) return false
    if (isSymbol(next, '(')) calls = true
    else if (!isSymbol(next, '.')) return false
  }
  return calls
}

/** Whether the token belongs to the name of a type, which follows `::` and may consist of several words. */
function isType(tokens: readonly Token[], index: number): boolean {
  let at = index
  while (at > 0) {
    const before = tokens[at - 1]
    if (isSymbol(before, '::')) return true
    if (isSymbol(before, '.')) at -= 2
    else if (before?.kind === 'word' && !constantWords.has(before.text)) at -= 1
    else return false
  }
  return false
}

/** Replaces look-ups by their values. A value that is missing leaves its look-up as it is. */
export function withValues(text: string, valueOf: (lookup: Lookup) => string | undefined): string {
  let result = ''
  let at = 0
  for (const lookup of lookupsOf(text)) {
    const value = valueOf(lookup)
    if (value === undefined) continue
    result += text.slice(at, lookup.start) + value
    at = lookup.end
  }
  return (result + text.slice(at)).replace(/('(?:[^']|'')*')::(?:text|uuid|character varying)\b(?!\[)/g, '$1')
}

/** The columns of a table that an expression mentions. In subqueries, PostgreSQL writes them with the table's name. */
export function columnsIn(text: string, table: string, columns: readonly string[]): string[] {
  const tokens = tokensOf(text)
  const names = new Set(
    tokens
      .filter(({ kind }, index) => {
        if ((kind !== 'word' && kind !== 'quoted') || isSymbol(tokens[index + 1], '(')) return false
        if (!isSymbol(tokens[index - 1], '.')) return !isSymbol(tokens[index + 1], '.')
        return tokens[index - 2]?.text === table && !isSymbol(tokens[index - 3], '.')
      })
      .map((token) => token.text),
  )
  return columns.filter((name) => names.has(name))
}
