// Errors of statements in files, with file, line, statement and a caret.
import { CommandError } from '../command-line/command-error.ts'
import { lineOf, type SqlFile } from './migration-file.ts'

/** Where a statement failed, for programs. */
export type ErrorPlace = {
  readonly file: string
  /** From 1. */
  readonly line: number
  /** In characters, from 1; undefined if the database names no position. */
  readonly column: number | undefined
  /** Number of the statement in the file, from 1. */
  readonly statement: number
  /** SQLSTATE, if the database reported the error. */
  readonly code: string | undefined
}

/** A statement of a file failed. The message says where, why, and what has taken effect. */
export class MigrationError extends CommandError {
  readonly place: ErrorPlace

  constructor(message: string, place: ErrorPlace, options: ErrorOptions) {
    super(message, options)
    this.name = 'MigrationError'
    this.place = place
  }
}

/** The fields of an error of the database that are reported. */
type Reported = {
  readonly message: string
  readonly code?: string
  readonly position?: string
  readonly detail?: string
  readonly hint?: string
  readonly where?: string
}

/**
 * The error of a statement.
 *
 * @param index of the statement in the file, from 0
 * @param state sentences about what has taken effect and how to go on
 */
export function statementError(file: SqlFile, index: number, error: unknown, state: readonly string[]): MigrationError {
  const reported = error instanceof Error ? (error as Reported) : { message: String(error) }
  const { offset, isExact } = offsetOf(file, index, reported)
  const line = lineOf(file.text, offset)
  const start = file.text.lastIndexOf('\n', offset - 1) + 1
  const before = file.text.slice(start, offset)
  const column = isExact ? [...before].length + 1 : undefined
  const { message, code, detail, hint, where } = reported
  const lines = [
    `${file.path}:${line}${column === undefined ? '' : `:${column}`}: ${message}${code === undefined ? '' : ` (${code})`}`,
    ...excerpt(file.text, line, start, isExact ? before : undefined),
    ...(detail === undefined ? [] : [`Detail: ${detail}`]),
    ...(hint === undefined ? [] : [`Hint: ${hint}`]),
    ...(where === undefined ? [] : [`Context: ${where}`]),
    ...(file.text[offset] === '\\' ? ['Commands of psql, which begin with a backslash, are no SQL.'] : []),
    `This is statement ${index + 1} of ${file.statements.length}. ${state.join(' ')}`,
  ]
  const place = { file: file.path, line, column, statement: index + 1, code }
  return new MigrationError(lines.join('\n'), place, { cause: error })
}

/** The place of an error in the file: its position if there is one, otherwise the beginning of the statement. */
function offsetOf(
  { statements }: SqlFile,
  index: number,
  { position, where }: Reported,
): { readonly offset: number; readonly isExact: boolean } {
  const { text, start } = statements[index] ?? { text: '', start: 0 }
  const characters = Number(position)
  if (characters >= 1) {
    // PostgreSQL counts characters, not UTF-16 units.
    const length = [...text].slice(0, characters - 1).join('').length
    return { offset: start + length, isExact: true }
  }
  const inBlock = offsetInBlock(text, where)
  return { offset: start + (inBlock ?? 0), isExact: false }
}

/** The line of a `do` block that failed: its first line is the one of the opening quote. */
function offsetInBlock(text: string, where: string | undefined): number | undefined {
  const [, line] = /inline_code_block line (\d+) at/.exec(where ?? '') ?? []
  const quote = /\$\w*\$/.exec(text)
  if (line === undefined || !quote || !/^do\b/i.test(text)) return undefined
  let offset = quote.index
  for (let rest = Number(line) - 1; rest > 0; rest--) {
    const end = text.indexOf('\n', offset)
    if (end === -1) return undefined
    offset = end + 1
  }
  return offset
}

/** Longest part of a line that is shown. */
const maxWidth = 160

const wide = /[\p{Emoji_Presentation}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/gu

/** The line with a caret below it. */
function excerpt(text: string, line: number, start: number, before: string | undefined): readonly string[] {
  const end = text.indexOf('\n', start)
  const whole = text.slice(start, end === -1 ? undefined : end).replace(/\r$/, '')
  const from = before !== undefined && before.length > maxWidth - 40 ? before.length - 60 : 0
  const shown = printable(whole.slice(from, from + maxWidth))
  const margin = ` ${line} | `
  const source = `${margin}${from > 0 ? '…' : ''}${shown}${from + maxWidth < whole.length ? '…' : ''}`
  if (before === undefined) return [source]
  // Tabs stay, and wide characters have two columns, so that the caret is below its character.
  const padding = printable(before.slice(from)).replace(wide, '  ').replace(/[^\t]/gu, ' ')
  return [source, `${' '.repeat(margin.length - 2)}| ${from > 0 ? ' ' : ''}${padding}^`]
}

/** Replaces characters that a terminal would interpret. */
const printable = (text: string): string => text.replace(/(?!\t)[\p{Cc}\p{Cf}]/gu, '\ufffd')
