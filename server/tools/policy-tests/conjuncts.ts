// Weakens an expression of a policy, as `pg_get_expr` prints it, by dropping one of the conditions that AND combines.
import { tokensOf, type Token } from '../../text/sql-tokens.ts'

/** A token, with the number of parentheses, brackets and CASE expressions around it. */
type DeepToken = Token & { readonly depth: number }

function deepTokensOf(expression: string): readonly DeepToken[] {
  let depth = 0
  return tokensOf(expression).map((token) => {
    if (isSyntax(token, ')', ']', 'end')) depth--
    const deep = { ...token, depth }
    if (isSyntax(token, '(', '[', 'case')) depth++
    return deep
  })
}

/** Whether a token is one of these keywords or symbols. */
const isSyntax = ({ kind, text }: Token, ...texts: readonly string[]): boolean =>
  (kind === 'word' || kind === 'symbol') && texts.includes(text)

/** Words that begin a part of a query, which an operand of AND cannot contain outside of parentheses. */
const clauses = ['where', 'having', 'on', 'group', 'order', 'limit', 'offset', 'union', 'join', 'left', 'inner']

/**
 * All expressions that lack one operand of one AND, at any depth. PostgreSQL writes every AND with more than one operand
 * within parentheses of its own, and BETWEEN as two comparisons.
 *
 * @param expression valid SQL, as `pg_get_expr` prints it
 * @returns each expression with the operand that was dropped
 */
export function withoutConjuncts(
  expression: string,
): readonly { readonly dropped: string; readonly expression: string }[] {
  const tokens = deepTokensOf(expression)
  const found: { dropped: string; expression: string }[] = []
  const seen = new Set<number>()
  for (const [index, token] of tokens.entries()) {
    if (!isSyntax(token, 'and') || seen.has(index)) continue
    const { depth } = token
    const [first, last] = groupAround(tokens, index, depth)
    const ands = tokens.flatMap((it, at) =>
      at > first && at < last && isSyntax(it, 'and') && it.depth === depth ? [at] : [],
    )
    ands.forEach((at) => seen.add(at))
    if (tokens.slice(first + 1, last).some((it) => it.depth === depth && isSyntax(it, 'symmetric'))) continue
    const bounds = [first, ...ands, last]
    const operands = bounds.slice(1).map((end, at) => {
      const [from, to] = [tokens[(bounds[at] ?? 0) + 1], tokens[end - 1]]
      return { start: from?.start ?? 0, end: to?.end ?? 0 }
    })
    const [start, end] = [operands[0]?.start ?? 0, operands.at(-1)?.end ?? 0]
    for (const operand of operands) {
      const rest = operands.filter((it) => it !== operand).map((it) => expression.slice(it.start, it.end))
      found.push({
        dropped: expression.slice(operand.start, operand.end),
        expression: `${expression.slice(0, start)}${rest.join(' AND ')}${expression.slice(end)}`,
      })
    }
  }
  return found
}

/** The tokens just outside of the operands around an AND: parentheses, words that begin a clause, or the ends. */
function groupAround(tokens: readonly DeepToken[], index: number, depth: number): readonly [number, number] {
  const isEdge = (token: DeepToken): boolean =>
    token.depth < depth || (token.depth === depth && isSyntax(token, ...clauses))
  const first = tokens.findLastIndex((token, at) => at < index && isEdge(token))
  const last = tokens.findIndex((token, at) => at > index && isEdge(token))
  return [first, last === -1 ? tokens.length : last]
}
