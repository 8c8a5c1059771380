// Takes apart the expressions of policies, in the form in which PostgreSQL prints them: with brackets around every part.
import { bracketsOf, isSymbol, isWord } from '../../text/sql-condition.ts'
import { tokensOf, type Token } from '../../text/sql-tokens.ts'

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
