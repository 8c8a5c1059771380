// Weakens an expression of a policy, as `pg_get_expr` prints it, by dropping one of the conditions that AND combines.

type Token = {
  readonly text: string
  readonly start: number
  readonly end: number
  /** Number of parentheses, brackets and CASE expressions around it. */
  readonly depth: number
}

/** Quoted texts and names, dollar-quoted texts, words, and single characters. */
const tokenPattern = /E?'(?:[^'\\]|''|\\.)*'|"(?:[^"]|"")*"|\$(\w*)\$[^]*?\$\1\$|[\p{L}_][\p{L}\p{N}_$]*|\d[\w.]*|\S/gu

function tokensOf(expression: string): readonly Token[] {
  const tokens: Token[] = []
  let depth = 0
  for (const match of expression.matchAll(tokenPattern)) {
    const [text] = match
    const word = text.toUpperCase()
    if (text === ')' || text === ']' || word === 'END') depth--
    tokens.push({ text: word, start: match.index, end: match.index + text.length, depth })
    if (text === '(' || text === '[' || word === 'CASE') depth++
  }
  return tokens
}

/** Words that begin a part of a query, which an operand of AND cannot contain outside of parentheses. */
const clauses = new Set([
  'WHERE',
  'HAVING',
  'ON',
  'GROUP',
  'ORDER',
  'LIMIT',
  'OFFSET',
  'UNION',
  'JOIN',
  'LEFT',
  'INNER',
])

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
  const tokens = tokensOf(expression)
  const found: { dropped: string; expression: string }[] = []
  const seen = new Set<number>()
  for (const [index, { text, depth }] of tokens.entries()) {
    if (text !== 'AND' || seen.has(index)) continue
    const [first, last] = groupAround(tokens, index, depth)
    const ands = tokens.flatMap((token, at) =>
      at > first && at < last && token.text === 'AND' && token.depth === depth ? [at] : [],
    )
    ands.forEach((at) => seen.add(at))
    if (tokens.slice(first + 1, last).some((token) => token.depth === depth && token.text === 'SYMMETRIC')) continue
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
function groupAround(tokens: readonly Token[], index: number, depth: number): readonly [number, number] {
  const isEdge = ({ text, depth: other }: Token): boolean => other < depth || (other === depth && clauses.has(text))
  const first = tokens.findLastIndex((token, at) => at < index && isEdge(token))
  const last = tokens.findIndex((token, at) => at > index && isEdge(token))
  return [first, last === -1 ? tokens.length : last]
}
