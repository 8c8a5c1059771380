// Takes apart conditions in the form in which PostgreSQL prints them: with brackets around every part.
import { tokensOf, type Token } from './sql-tokens.ts'

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

/** The index of the closing bracket by that of the opening one. CASE and END are brackets, too. */
export function bracketsOf(tokens: readonly Token[]): ReadonlyMap<number, number> {
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

export const isSymbol = (token: Token | undefined, text: string): boolean =>
  token?.kind === 'symbol' && token.text === text
export const isWord = (token: Token | undefined, text: string): boolean => token?.kind === 'word' && token.text === text

type Brackets = ReadonlyMap<number, number>

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
