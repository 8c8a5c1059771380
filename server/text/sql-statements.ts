// Splits SQL text into statements, with the lexical rules of PostgreSQL. Nothing is checked: the server reports what is wrong
// with a statement.
// https://www.postgresql.org/docs/current/sql-syntax-lexical.html

export type SqlStatement = {
  /** From the first token to the last one, without the semicolon. */
  readonly text: string
  /** Index of the first character in the whole text, in UTF-16 units. */
  readonly start: number
  /** The first words, in lower case, without quoted ones: `create`, `index`, `concurrently`. */
  readonly words: readonly string[]
  /** Rows that follow a `copy … from stdin`, as psql reads them, without the final `\.`. */
  readonly rows?: string
}

/** Number of `words` of a statement that are kept. */
const maxWords = 8

const blank = /[ \t\n\r\f\v]+/y
const lineComment = /--[^\n\r]*/y
/** A command for psql that pg_dump writes around a dump. It has no effect on the statements. */
const restriction = /\\(?:un)?restrict[^\n\r]*/y
const word = /[A-Za-z_\u0080-\u{10ffff}][\w$\u0080-\u{10ffff}]*/uy
const dollarTag = /\$(?:[A-Za-z_\u0080-\u{10ffff}][\w\u0080-\u{10ffff}]*)?\$/uy
const escapedString = /[eE]'[^'\\]*(?:(?:''|\\[^])[^'\\]*)*'?/y
/** Between the parts of a string that continues on another line. The next part has the escapes of the first one. */
const escapedContinuation =
  /(?:[ \t\f\v]|--[^\n\r]*)*[\n\r](?:[ \t\n\r\f\v]+|--[^\n\r]*[\n\r])*'[^'\\]*(?:(?:''|\\[^])[^'\\]*)*'?/y
const commentPart = /\/\*|\*\//g
const endOfLine = /[^\n]*(?:\n|$)/y
const endOfRows = /^\\\.[ \t\r]*$/m

/** Splits the text of a file. Text without a token, such as comments after the last statement, is no statement. */
export function splitStatements(sql: string): SqlStatement[] {
  const scanner = new Scanner(sql)
  const statements: SqlStatement[] = []
  for (let next = scanner.next(); next; next = scanner.next()) statements.push(next)
  return statements
}

class Scanner {
  readonly #sql: string
  #at = 0

  constructor(sql: string) {
    this.#sql = sql
  }

  next(): SqlStatement | undefined {
    this.#skipEmpty()
    const start = this.#at
    const sql = this.#sql
    if (start >= sql.length) return undefined
    const nesting = new Nesting()
    // After the last token, so that trailing comments are left out.
    let end = start
    while (this.#at < sql.length) {
      if (this.#skipComment()) continue
      const symbol = sql[this.#at]
      if (symbol === ';' && nesting.isOutside) break
      nesting.token(this.#token(symbol ?? ''))
      end = this.#at
    }
    // The semicolon.
    this.#at++
    const statement = { text: sql.slice(start, end), start, words: nesting.firstWords }
    return nesting.copiesFromClient ? { ...statement, rows: this.#rows() } : statement
  }

  /** Moves behind a pattern, and returns whether it is there. */
  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#sql)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }

  #skipEmpty(): void {
    while (this.#sql[this.#at] === ';' || this.#skipComment() || this.#take(restriction) !== undefined) {
      if (this.#sql[this.#at] === ';') this.#at++
    }
  }

  /** Skips blanks or one comment. */
  #skipComment(): boolean {
    if (this.#take(blank) !== undefined || this.#take(lineComment) !== undefined) return true
    if (!this.#sql.startsWith('/*', this.#at)) return false
    let depth = 0
    commentPart.lastIndex = this.#at
    for (let part = commentPart.exec(this.#sql); part; part = commentPart.exec(this.#sql)) {
      depth += part[0] === '/*' ? 1 : -1
      if (depth > 0) continue
      this.#at = commentPart.lastIndex
      return true
    }
    // The server reports the comment that does not end.
    return false
  }

  /** Moves behind one token. Returns a bare word in lower case, and other tokens as they are; quoted ones empty. */
  #token(symbol: string): string {
    if (symbol === "'" || symbol === '"') return this.#quoted(symbol)
    if ((symbol === 'e' || symbol === 'E') && this.#sql[this.#at + 1] === "'") {
      this.#take(escapedString)
      while (this.#take(escapedContinuation) !== undefined);
      return ''
    }
    if (symbol === '$') {
      const tag = this.#take(dollarTag)
      if (tag !== undefined) return this.#dollarQuoted(tag)
    }
    const found = this.#take(word)
    if (found !== undefined) return found.toLowerCase()
    if (this.#sql.startsWith('/*', this.#at)) this.#at = this.#sql.length
    else this.#at++
    return symbol
  }

  /** A string or a quoted name, in which the quote is doubled. */
  #quoted(quote: string): '' {
    this.#at++
    for (;;) {
      const end = this.#sql.indexOf(quote, this.#at)
      this.#at = end === -1 ? this.#sql.length : end + 1
      if (this.#sql[this.#at] !== quote) return ''
      this.#at++
    }
  }

  #dollarQuoted(tag: string): '' {
    const end = this.#sql.indexOf(tag, this.#at)
    this.#at = end === -1 ? this.#sql.length : end + tag.length
    return ''
  }

  /** The rows on the lines after a statement. */
  #rows(): string {
    this.#take(endOfLine)
    const rest = this.#sql.slice(this.#at)
    const end = endOfRows.exec(rest)
    this.#at += end ? end.index + end[0].length : rest.length
    return rest.slice(0, end?.index)
  }
}

/** What encloses the current token: semicolons in parentheses, and in `begin atomic … end`, do not end the statement. */
export class Nesting {
  readonly firstWords: string[] = []
  #parentheses = 0
  #blocks = 0
  #last = ''
  #isName = false
  #copies = false

  get isInParentheses(): boolean {
    return this.#parentheses > 0
  }

  get isOutside(): boolean {
    return this.#parentheses === 0 && this.#blocks === 0
  }

  /** `copy … from stdin`. */
  get copiesFromClient(): boolean {
    return this.#copies && this.firstWords[0] === 'copy'
  }

  /** @param text as it is, a word in lower case, or nothing for what is quoted */
  token(text: string): void {
    if (text === '(') this.#parentheses++
    else if (text === ')') this.#parentheses = Math.max(0, this.#parentheses - 1)
    else if (/^[^\W\d]/.test(text)) this.#word(text)
    // A label may be any word: `t.end`, `1 as end`.
    this.#isName = text === '.' || text === 'as'
    this.#last = text
  }

  #word(text: string): void {
    if (this.firstWords.length < maxWords) this.firstWords.push(text)
    if (this.#parentheses === 0 && this.#last === 'from' && text === 'stdin') this.#copies = true
    if (this.#isName || !/^create (?:or replace )?(?:function|procedure)\b/.test(this.firstWords.join(' '))) return
    if (text === 'atomic' && this.#last === 'begin') this.#blocks++
    else if (text === 'case' && this.#blocks > 0) this.#blocks++
    else if (text === 'end' && this.#blocks > 0) this.#blocks--
  }
}
