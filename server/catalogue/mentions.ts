// The names in SQL and in the bodies of functions, which may be those of functions and relations.
import { isName, stringValue, tokensOf, type Token } from '../text/sql-tokens.ts'

export type Mention = {
  /** What stands before the dot: a schema, or something else. */
  readonly qualifier: string | null
  readonly token: Token
  /**
   * `call`: before a parenthesis; `field`: after a dot, as in `row.name`, which calls a function with a row as its argument;
   * `word`: any other; `text`: the name in a string that is one; `string`: a whole string as it stands.
   */
  readonly kind: 'call' | 'field' | 'word' | 'text' | 'string'
}

/** SQL within strings within strings is looked into so deep. */
const depthOfStrings = 4

/**
 * The names in a text, and those in its strings, of which a body may compose SQL.
 *
 * @param depth how deep strings are looked into; 0: not at all
 */
export function mentionsIn(text: string, depth = depthOfStrings): Mention[] {
  const tokens = tokensOf(text)
  return tokens.flatMap((token, at): Mention[] => {
    if (token.kind === 'string') return depth === 0 ? [] : inString(token, depth - 1)
    if (!isName(token)) return []
    const [isCall, isQualified] = [tokens[at + 1]?.text === '(', tokens[at - 1]?.text === '.']
    const qualifier = isQualified ? (tokens[at - 2]?.text ?? null) : null
    return [{ qualifier, token, kind: isCall ? 'call' : isQualified ? 'field' : 'word' }]
  })
}

function inString(string: Token, depth: number): Mention[] {
  const text = stringValue(string)
  const words = tokensOf(text)
  const [first, dot, second] = words
  const isOnlyName = words.length === 1 && first !== undefined && isName(first)
  const isPath = words.length === 3 && dot?.text === '.' && second !== undefined && isName(second)
  const named = isOnlyName ? first : isPath ? second : undefined
  return [
    { qualifier: null, token: { ...string, text }, kind: 'string' },
    ...(named ? [{ qualifier: null, token: named, kind: 'text' } as const] : []),
    ...mentionsIn(text, depth),
  ]
}
