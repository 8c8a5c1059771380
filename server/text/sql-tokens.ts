// Splits SQL and PL/pgSQL into tokens, so that nothing in a string, comment or quoted name is taken for code. Nothing is
// checked: the server reports what is wrong with a statement.
// https://www.postgresql.org/docs/current/sql-syntax-lexical.html

/** `word`: an identifier or keyword without quotes. */
export type TokenKind = 'word' | 'quoted' | 'string' | 'number' | 'parameter' | 'symbol'

export type SqlElement = {
  readonly kind: TokenKind | 'blank' | 'comment'
  /** Position after the element. */
  readonly end: number
}

/** What is not yet closed: a string, a quoted name, a string in dollars, or a comment. */
export type OpenQuotation = "'" | '"' | '$' | '*'

type Open =
  | { readonly sign: "'"; readonly escapes: boolean }
  | { readonly sign: '"' }
  | { readonly sign: '$'; readonly tag: string }
  | { readonly sign: '*'; readonly depth: number }

const pattern = new RegExp(
  [
    /(?<blank>[ \t\n\r\f\v]+)/,
    /(?<comment>--[^\n\r]*)/,
    /(?<block>\/\*)/,
    /(?<string>(?:[eEbBxXnN]|[uU]&)?')/,
    /(?<quoted>(?:[uU]&)?")/,
    /(?<dollar>\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$)/,
    /(?<parameter>\$\d+)/,
    /(?<number>\d[\w.]*|\.\d[\w.]*)/,
    /(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)/,
    /(?<symbol>::|[-+*/<>=~!@#%^&|`?]+|[^])/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'y',
)

/**
 * Reads the elements of SQL. The text may come in parts that end with a line: what is open at the end of one is continued by
 * the next one. Each part is read in linear time.
 */
export class SqlLexer {
  /** Whether a backslash in an ordinary string is an ordinary character; the server's setting of that name. */
  standardConformingStrings = true
  #open: Open | undefined
  /** Whether a string with escapes precedes, which the next string continues if it is on another line. */
  #precedes: 'string with escapes' | 'string with escapes, line break' | undefined

  /** What is open at the end of what was read. */
  get open(): OpenQuotation | undefined {
    return this.#open?.sign
  }

  /** Forgets what was read. */
  reset(): void {
    this.#open = undefined
    this.#precedes = undefined
  }

  /** Reads the element at a position, or the rest of one that the previous text left open. */
  read(text: string, at: number): SqlElement {
    if (this.#open) return this.#readOpen(this.#open, text, at)
    pattern.lastIndex = at
    const { blank, comment, block, string, quoted, dollar, parameter, number, word, symbol } =
      pattern.exec(text)?.groups ?? {}
    const end = pattern.lastIndex
    if (blank !== undefined) {
      if (this.#precedes && /[\n\r]/.test(blank)) this.#precedes = 'string with escapes, line break'
      return { kind: 'blank', end }
    }
    if (comment !== undefined) return { kind: 'comment', end }
    const continues = this.#precedes === 'string with escapes, line break'
    this.#precedes = undefined
    if (block !== undefined) return this.#readOpen({ sign: '*', depth: 0 }, text, at)
    if (string !== undefined) {
      const escapes = /^e/i.test(string) || (string === "'" && (continues || !this.standardConformingStrings))
      return this.#readOpen({ sign: "'", escapes }, text, end)
    }
    if (quoted !== undefined) return this.#readOpen({ sign: '"' }, text, end)
    if (dollar !== undefined) return this.#readOpen({ sign: '$', tag: dollar }, text, end)
    if (parameter !== undefined) return { kind: 'parameter', end }
    if (number !== undefined) return { kind: 'number', end }
    if (word !== undefined) return { kind: 'word', end }
    // An operator ends where a comment begins.
    const inner = /(?!^)(?:--|\/\*)/.exec(symbol ?? '')
    return { kind: 'symbol', end: inner ? at + inner.index : end }
  }

  /** Reads to the end of a quotation or comment, or of the text. */
  #readOpen(open: Open, text: string, at: number): SqlElement {
    this.#open = open
    const end = this.#endOf(open, text, at)
    if (end >= 0) this.#open = undefined
    if (end >= 0 && open.sign === "'" && open.escapes) this.#precedes = 'string with escapes'
    return { kind: kindOf(open), end: end >= 0 ? end : text.length }
  }

  /** The position after a quotation or comment; -1 if it does not end in the text. */
  #endOf(open: Open, text: string, at: number): number {
    switch (open.sign) {
      case '$': {
        const close = text.indexOf(open.tag, at)
        return close < 0 ? -1 : close + open.tag.length
      }
      case '*':
        return this.#endOfComment(open.depth, text, at)
      case "'":
        return open.escapes ? endOfEscapes(text, at) : endOfQuotes(text, at, open.sign)
      case '"':
        return endOfQuotes(text, at, open.sign)
      default:
        return open satisfies never
    }
  }

  /** Block comments can be nested. */
  #endOfComment(outside: number, text: string, at: number): number {
    const edge = /\/\*|\*\//g
    edge.lastIndex = at
    let depth = outside
    for (let found = edge.exec(text); found; found = edge.exec(text)) {
      depth += found[0] === '/*' ? 1 : -1
      if (depth === 0) return edge.lastIndex
    }
    this.#open = { sign: '*', depth }
    return -1
  }
}

function kindOf({ sign }: Open): 'comment' | 'quoted' | 'string' {
  if (sign === '*') return 'comment'
  return sign === '"' ? 'quoted' : 'string'
}

/** The quote is doubled inside. */
function endOfQuotes(text: string, start: number, quote: string): number {
  let end = text.indexOf(quote, start)
  while (end >= 0 && text[end + 1] === quote) end = text.indexOf(quote, end + 2)
  return end < 0 ? -1 : end + 1
}

function endOfEscapes(text: string, start: number): number {
  const signs = /\\[^]|''|'/g
  signs.lastIndex = start
  for (let found = signs.exec(text); found; found = signs.exec(text)) if (found[0] === "'") return signs.lastIndex
  return -1
}

export type Token = {
  readonly kind: TokenKind
  /** A word in lower case, the name in a quoted identifier, otherwise the text: that of a string with its quotes. */
  readonly text: string
  readonly start: number
  /** Position after the token. */
  readonly end: number
}

/** The tokens of a text. Comments are left out; a string or comment without its end extends to the end of the text. */
export function tokensOf(sql: string): Token[] {
  const tokens: Token[] = []
  const lexer = new SqlLexer()
  for (let start = 0; start < sql.length;) {
    const { kind, end } = lexer.read(sql, start)
    if (kind !== 'blank' && kind !== 'comment') {
      tokens.push({ kind, text: textOf(kind, sql.slice(start, end)), start, end })
    }
    start = end
  }
  return tokens
}

function textOf(kind: TokenKind, text: string): string {
  if (kind === 'word') return text.toLowerCase()
  return kind === 'quoted' ? text.slice(text.indexOf('"') + 1, -1).replaceAll('""', '"') : text
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
