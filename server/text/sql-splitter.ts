// Splits SQL text into statements, as psql does: a semicolon in quotes, comments, parentheses or the body of a function
// does not end a statement.
// https://www.postgresql.org/docs/current/sql-syntax-lexical.html
//
// `sql-statements.ts` splits the text of a file, which it has as a whole: with positions and the rows of `COPY`. This one
// gets line after line, of a terminal or of a dump larger than memory, and must know what is open at the end of each. So
// they read characters differently, but share the rules for what is nested.
import { Nesting } from './sql-statements.ts'

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
export type OpenElement = ';' | "'" | '"' | '$' | '*' | '('

type State =
  | { readonly kind: 'plain' }
  | { readonly kind: 'quoted'; readonly escapes: boolean }
  | { readonly kind: 'identifier' }
  | { readonly kind: 'dollar'; readonly tag: string }
  | { readonly kind: 'comment'; readonly depth: number }

const plain: State = { kind: 'plain' }

/** One lexical element outside of quotations and comments. Letters are ASCII letters, `_`, and all beyond ASCII. */
const element =
  /\s+|--.*|\/\*|[eE]'|'|"|\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$|[\w\u0080-\uffff][\w$\u0080-\uffff]*|[^]/uy

export type SplitterOptions = {
  /** Whether a backslash outside of quotations begins a command. By default it is part of the SQL. */
  readonly commands?: boolean
}

/**
 * Receives text line by line, and returns what is complete. The time is linear in the length of the text, however many
 * lines a statement has.
 */
export class SqlSplitter {
  /** Whether a backslash in an ordinary quotation is an ordinary character; the server's setting of that name. */
  standardConformingStrings = true

  readonly #hasCommands: boolean
  #state: State = plain
  #parts: string[] = []
  /** Number of the current line, from 1. */
  #line = 0
  #firstLine = 0
  #nesting = new Nesting()
  /** Line on which a string with escapes ended. It may continue on a later line. */
  #escapesUntil: number | undefined

  constructor({ commands = false }: SplitterOptions = {}) {
    this.#hasCommands = commands
  }

  /** Whether a statement, a quotation or a comment has begun. */
  get isOpen(): boolean {
    return this.#parts.length > 0 || this.#state.kind !== 'plain'
  }

  /** What the statement is waiting for, for the prompt. */
  get waitsFor(): OpenElement {
    const { kind } = this.#state
    if (kind === 'quoted') return "'"
    if (kind === 'identifier') return '"'
    if (kind === 'dollar') return '$'
    if (kind === 'comment') return '*'
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
    const pieces: SqlPiece[] = []
    let at = 0
    while (at < line.length) {
      const step = this.#state.kind === 'plain' ? this.#readPlain(line, at, pieces) : this.#readInside(line, at)
      at += step
    }
    if (this.#parts.length > 0) this.#parts.push('\n')
    return pieces
  }

  /** Ends the text: returns the last statement, which may lack its semicolon. Undefined if there is none. */
  end(): Extract<SqlPiece, { kind: 'statement' }> | undefined {
    return this.#finish()
  }

  /** Forgets the incomplete statement. */
  reset(): void {
    this.#state = plain
    this.#parts = []
    this.#nesting = new Nesting()
    this.#escapesUntil = undefined
  }

  /** @returns the number of characters */
  #readPlain(line: string, at: number, pieces: SqlPiece[]): number {
    element.lastIndex = at
    const [found = ''] = element.exec(line) ?? []
    if (found === '\\' && this.#hasCommands) {
      pieces.push({ kind: 'command', text: line.slice(at + 1).trim(), line: this.#line })
      return line.length - at
    }
    if (found === ';' && this.#nesting.isOutside) {
      const statement = this.#finish()
      if (statement) pieces.push(statement)
      return 1
    }
    const isBlank = /^\s/.test(found) || found.startsWith('--')
    if (isBlank && this.#parts.length === 0) return found.length
    if (found === '/*') this.#state = { kind: 'comment', depth: 1 }
    else if (!isBlank) this.#note(found)
    if (this.#parts.length > 0 || found !== '/*') this.#append(found)
    return found.length
  }

  #append(text: string): void {
    if (this.#parts.length === 0) this.#firstLine = this.#line
    this.#parts.push(text)
  }

  #note(found: string): void {
    const continues = this.#escapesUntil !== undefined && this.#escapesUntil < this.#line
    this.#escapesUntil = undefined
    if (found === "'") this.#state = { kind: 'quoted', escapes: continues || !this.standardConformingStrings }
    else if (found === "e'" || found === "E'") this.#state = { kind: 'quoted', escapes: true }
    else if (found === '"') this.#state = { kind: 'identifier' }
    else if (found.length > 1 && found.startsWith('$')) this.#state = { kind: 'dollar', tag: found }
    this.#nesting.token(this.#state.kind === 'plain' ? found.toLowerCase() : '')
  }

  /** Reads up to the end of a quotation or comment, or of the line. */
  #readInside(line: string, at: number): number {
    const state = this.#state
    const to = state.kind === 'comment' ? this.#endOfComment(line, at) : this.#endOfQuotation(line, at)
    // Comments in front of a statement are not part of it.
    if (state.kind !== 'comment' || this.#parts.length > 0) this.#parts.push(line.slice(at, to))
    return to - at
  }

  #endOfComment(line: string, at: number): number {
    const signs = /\/\*|\*\//g
    signs.lastIndex = at
    for (let sign = signs.exec(line); sign; sign = signs.exec(line)) {
      const { depth } = this.#state as Extract<State, { kind: 'comment' }>
      const next = sign[0] === '/*' ? depth + 1 : depth - 1
      this.#state = next === 0 ? plain : { kind: 'comment', depth: next }
      if (next === 0) return signs.lastIndex
    }
    return line.length
  }

  #endOfQuotation(line: string, at: number): number {
    const state = this.#state
    const end = state.kind === 'dollar' ? line.indexOf(state.tag, at) : quotationEnd(line, at, state)
    if (end === -1) return line.length
    this.#state = plain
    if (state.kind === 'quoted' && state.escapes) this.#escapesUntil = this.#line
    return end + (state.kind === 'dollar' ? state.tag.length : 1)
  }

  #finish(): Extract<SqlPiece, { kind: 'statement' }> | undefined {
    const text = this.text.trimEnd()
    const line = this.#firstLine
    this.reset()
    return text === '' ? undefined : { kind: 'statement', text, line }
  }
}

/** Index of the closing quote. A doubled quote closes and opens again, which has the same effect. */
function quotationEnd(line: string, at: number, state: State): number {
  if (state.kind === 'identifier') return line.indexOf('"', at)
  if (state.kind !== 'quoted' || !state.escapes) return line.indexOf("'", at)
  for (let index = at; index < line.length; index++) {
    if (line[index] === '\\') index++
    // The doubled quote of an escape string must not open an ordinary quotation.
    else if (line[index] === "'" && line[index + 1] === "'") index++
    else if (line[index] === "'") return index
  }
  return -1
}

/** All statements of a text. The last one may lack its semicolon. */
export function splitSql(text: string): readonly Extract<SqlPiece, { kind: 'statement' }>[] {
  const splitter = new SqlSplitter()
  const pieces = text.split('\n').flatMap((line) => splitter.push(line))
  const last = splitter.end()
  return [...pieces, ...(last ? [last] : [])].filter((piece) => piece.kind === 'statement')
}
