// Splits SQL and PL/pgSQL into tokens, so that nothing in a string, comment or quoted name is taken for code.
// https://www.postgresql.org/docs/current/sql-syntax-lexical.html

export type Token = {
  /** `word`: an identifier or keyword without quotes. */
  readonly kind: 'word' | 'quoted' | 'string' | 'number' | 'parameter' | 'symbol'
  /** A word in lower case, the name in a quoted identifier, otherwise the text: that of a string with its quotes. */
  readonly text: string
  readonly start: number
  /** Position after the token. */
  readonly end: number
}

const pattern = new RegExp(
  [
    /(?<skip>\s+|--[^\n]*)/,
    /(?<comment>\/\*)/,
    /(?<string>[eE]'(?:[^'\\]|\\[^]|'')*(?:'|$)|(?:[bBxXnN]|[uU]&)?'(?:[^']|'')*(?:'|$))/,
    /(?<dollar>\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$)/,
    /(?<quoted>(?:[uU]&)?"(?:[^"]|"")*(?:"|$))/,
    /(?<parameter>\$\d+)/,
    /(?<number>\d[\w.]*|\.\d[\w.]*)/,
    /(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)/,
    /(?<symbol>::|[-+*/<>=~!@#%^&|`?]+|[^])/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'y',
)

/** The tokens of a text. Comments are left out; a string or comment without its end extends to the end of the text. */
export function tokensOf(sql: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  while (at < sql.length) {
    pattern.lastIndex = at
    const groups = pattern.exec(sql)?.groups ?? {}
    const start = at
    at = pattern.lastIndex
    if (groups.skip !== undefined) continue
    if (groups.comment !== undefined) at = commentEnd(sql, start)
    else if (groups.dollar !== undefined) {
      const close = sql.indexOf(groups.dollar, at)
      at = close < 0 ? sql.length : close + groups.dollar.length
      tokens.push({ kind: 'string', text: sql.slice(start, at), start, end: at })
    } else if (groups.symbol !== undefined) {
      // An operator ends where a comment begins.
      const inner = /--|\/\*/.exec(groups.symbol)
      const text = inner && inner.index > 0 ? groups.symbol.slice(0, inner.index) : groups.symbol
      at = start + text.length
      tokens.push({ kind: 'symbol', text, start, end: at })
    } else tokens.push(tokenOf(groups, start, at))
  }
  return tokens
}

/** Whether the token is an identifier, in quotes or not, or a keyword. */
export const isName = ({ kind }: Token): boolean => kind === 'word' || kind === 'quoted'

/** The text that a token of the kind `string` stands for. Escapes other than of one character stay as they are. */
export function stringValue({ text }: Token): string {
  const [, escaped] = /^[eE]'([^]*)'$/.exec(text) ?? []
  if (escaped !== undefined) return escaped.replaceAll("''", "'").replace(/\\([^])/g, '$1')
  const [, , dollarQuoted] = /^(\$[^$]*\$)([^]*)\1$/.exec(text) ?? []
  return dollarQuoted ?? (/'([^]*?)'?$/.exec(text)?.[1] ?? text).replaceAll("''", "'")
}

function tokenOf(groups: Readonly<Record<string, string | undefined>>, start: number, end: number): Token {
  const { string, quoted, parameter, number, word = '' } = groups
  if (string !== undefined) return { kind: 'string', text: string, start, end }
  if (quoted !== undefined) return { kind: 'quoted', text: unquoted(quoted), start, end }
  if (parameter !== undefined) return { kind: 'parameter', text: parameter, start, end }
  if (number !== undefined) return { kind: 'number', text: number, start, end }
  return { kind: 'word', text: word.toLowerCase(), start, end }
}

const unquoted = (quoted: string): string => quoted.slice(quoted.indexOf('"') + 1, -1).replaceAll('""', '"')

/** Block comments can be nested. */
function commentEnd(sql: string, start: number): number {
  const edge = /\/\*|\*\//g
  edge.lastIndex = start
  let depth = 0
  for (let found = edge.exec(sql); found; found = edge.exec(sql)) {
    depth += found[0] === '/*' ? 1 : -1
    if (depth === 0) return edge.lastIndex
  }
  return sql.length
}
