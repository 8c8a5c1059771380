// Splits SQL text into statements, as psql does: a semicolon in quotes, comments, parentheses or the body of a function
// does not end a statement.
// https://www.postgresql.org/docs/current/sql-syntax-lexical.html
//
// `sql-statements.ts` splits the text of a file, which it has as a whole: with positions and the rows of `COPY`. This one
// gets line after line, of a terminal or of a dump larger than memory, and knows what is open at the end of each.
import { Nesting } from './sql-statements.ts'
import { SqlLexer, type OpenQuotation } from './sql-tokens.ts'

export type SqlPiece =
  | {
      readonly kind: 'statement'
      /** Without the semicolon and without what precedes the first word. */
      readonly text: string
      /** Line of its first word, from 1. */
      readonly line: number
    }
  /** A command for the program itself: what follows a backslash, up to the end of the line. */
  | { readonly kind: 'command'; readonly text: string; readonly line: number }

/** What an incomplete statement is waiting for: a semicolon, or the end of a quotation, a comment or a parenthesis. */
export type OpenElement = ';' | OpenQuotation | '('

export type SplitterOptions = {
  /** Whether a backslash outside of quotations begins a command. By default it is part of the SQL. */
  readonly commands?: boolean
}

/**
 * Receives text line by line, and returns what is complete. The time is linear in the length of the text, however many
 * lines a statement has.
 */
export class SqlSplitter {
  readonly #lexer = new SqlLexer()
  readonly #hasCommands: boolean
  #parts: string[] = []
  /** Number of the current line, from 1. */
  #line = 0
  #firstLine = 0
  #nesting = new Nesting()

  constructor({ commands = false }: SplitterOptions = {}) {
    this.#hasCommands = commands
  }

  /** The server's setting of that name. */
  get standardConformingStrings(): boolean {
    return this.#lexer.standardConformingStrings
  }

  set standardConformingStrings(value: boolean) {
    this.#lexer.standardConformingStrings = value
  }

  /** Whether a statement, a quotation or a comment has begun. */
  get isOpen(): boolean {
    return this.#parts.length > 0 || this.#lexer.open !== undefined
  }

  /** What the statement is waiting for, for the prompt. */
  get waitsFor(): OpenElement {
    if (this.#lexer.open) return this.#lexer.open
    return this.#nesting.isInParentheses ? '(' : ';'
  }

  /** The text of the incomplete statement. */
  get text(): string {
    return this.#parts.join('')
  }

  /** Number of the last line. */
  get line(): number {
    return this.#line
  }

  /** Counts a line that is no SQL, such as a row for `COPY`. */
  skipLine(): void {
    this.#line++
  }

  /** @param line without its line break */
  push(line: string): readonly SqlPiece[] {
    this.#line++
    const text = `${line}\n`
    const pieces: SqlPiece[] = []
    for (let at = 0; at < text.length;) at = this.#read(text, at, pieces)
    return pieces
  }

  /** Ends the text: returns the last statement, which may lack its semicolon. Undefined if there is none. */
  end(): Extract<SqlPiece, { kind: 'statement' }> | undefined {
    return this.#finish()
  }

  /** Forgets the incomplete statement. */
  reset(): void {
    this.#lexer.reset()
    this.#parts = []
    this.#nesting = new Nesting()
  }

  /** @returns the position after what was read */
  #read(text: string, at: number, pieces: SqlPiece[]): number {
    const continues = this.#lexer.open !== undefined
    const element = this.#lexer.read(text, at)
    const { kind, end } = element
    const found = text.slice(at, end)
    if (kind === 'symbol' && found === '\\' && this.#hasCommands) {
      pieces.push({ kind: 'command', text: text.slice(end).trim(), line: this.#line })
      return text.length - 1
    }
    if (kind === 'symbol' && found === ';' && this.#nesting.isOutside) {
      const statement = this.#finish()
      if (statement) pieces.push(statement)
      return end
    }
    if (this.#parts.length === 0) {
      // Comments in front of a statement are not part of it.
      if (kind === 'blank' || kind === 'comment') return end
      this.#firstLine = this.#line
    }
    this.#parts.push(found)
    if (!continues) this.#nesting.element(element, found)
    return end
  }

  #finish(): Extract<SqlPiece, { kind: 'statement' }> | undefined {
    const text = this.text.trimEnd()
    const line = this.#firstLine
    this.reset()
    return text === '' ? undefined : { kind: 'statement', text, line }
  }
}
