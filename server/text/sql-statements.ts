// Splits SQL text into statements, with the rows of `COPY` between them. `sql-splitter.ts` splits text that comes line by line.
import { SqlLexer, type SqlElement } from './sql-tokens.ts'

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

/** A command for psql that pg_dump writes around a dump. It has no effect on the statements. */
const restriction = /\\(?:un)?restrict[^\n\r]*/y
const endOfLine = /[^\n]*(?:\n|$)/y
const endOfRows = /^\\\.[ \t\r]*$/m

/** Splits the text of a file. Text without a token, such as comments after the last statement, is no statement. */
export function splitStatements(sql: string): SqlStatement[] {
  const statements: SqlStatement[] = []
  for (let at = 0; at < sql.length;) {
    const { statement, next } = readStatement(sql, at)
    if (statement) statements.push(statement)
    at = next
  }
  return statements
}

type ReadStatement = { readonly statement: SqlStatement | undefined; readonly next: number }

/** Reads up to the semicolon, and the rows after it. */
function readStatement(sql: string, from: number): ReadStatement {
  const lexer = new SqlLexer()
  const nesting = new Nesting()
  let start: number | undefined
  // After the last token, so that trailing comments are left out.
  let end = from
  let at = from
  while (at < sql.length) {
    const element = lexer.read(sql, at)
    const sign = sql[at]
    if (sign === ';' && nesting.isOutside) break
    const skipped = start === undefined && sign === '\\' ? match(restriction, sql, at).length : 0
    // The server reports the comment that does not end.
    if (skipped === 0 && (isToken(element) || lexer.open)) {
      start ??= at
      end = element.end
      nesting.element(element, sql.slice(at, end))
    }
    at = skipped > 0 ? at + skipped : element.end
  }
  const next = at + 1
  if (start === undefined) return { statement: undefined, next }
  const statement = { text: sql.slice(start, end), start, words: nesting.firstWords }
  if (!nesting.copiesFromClient) return { statement, next }
  const line = next + match(endOfLine, sql, next).length
  const rest = sql.slice(line)
  const last = endOfRows.exec(rest)
  return {
    statement: { ...statement, rows: rest.slice(0, last?.index) },
    next: last ? line + last.index + last[0].length : sql.length,
  }
}

/** The text that a pattern matches at a position; empty if it does not. */
function match(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

const isToken = ({ kind }: SqlElement): boolean => kind !== 'blank' && kind !== 'comment'

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

  /** Notes an element and its text; not the parts of one that comes in parts, other than the first one. */
  element(element: SqlElement, written: string): void {
    if (!isToken(element)) return
    const isQuoted = element.kind === 'string' || element.kind === 'quoted'
    const text = isQuoted ? '' : written.toLowerCase()
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
