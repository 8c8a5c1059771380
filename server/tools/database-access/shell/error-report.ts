// Messages of the server, as psql prints them: with the line of the statement, and a caret below the place.
import { displayWidth } from './result-table.ts'

/** An error or a notice of the server. */
type ServerMessage = {
  readonly severity?: string | undefined
  readonly message?: string | undefined
  readonly detail?: string | undefined
  readonly hint?: string | undefined
  readonly where?: string | undefined
  /** Number of the character in the statement, from 1. */
  readonly position?: string | undefined
  readonly schema?: string | undefined
  readonly code?: string | undefined
}

/** Columns of a terminal for the line of a statement. */
const maxWidth = 72

/** @returns lines, each with a line break */
export function describeError(error: unknown, statement: string): string {
  if (!(error instanceof Error)) return `ERROR:  ${String(error)}\n`
  const { severity, position, ...rest } = error as Error & ServerMessage
  const place = position === undefined || statement === '' ? [] : placeOf(statement, Number(position))
  return linesOf([`${severity ?? 'ERROR'}:  ${error.message}`, ...place, ...furtherOf(rest)])
}

/** Without its context, as in psql. Returns lines, each with a line break. */
export const describeNotice = ({ severity, message, ...rest }: ServerMessage): string =>
  linesOf([`${severity ?? 'NOTICE'}:  ${message ?? ''}`, ...furtherOf({ ...rest, where: undefined })])

const furtherOf = ({ detail, hint, where }: ServerMessage): readonly string[] => [
  ...(detail === undefined ? [] : [`DETAIL:  ${detail}`]),
  ...(hint === undefined ? [] : [`HINT:  ${hint}`]),
  ...(where === undefined ? [] : [`CONTEXT:  ${where}`]),
]

const linesOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')

/** The line with the character of that number, and a caret below it. */
function placeOf(statement: string, position: number): readonly string[] {
  // The server counts code points.
  const before = [...statement].slice(0, position - 1).join('')
  const number = before.split('\n').length
  const column = before.length - (before.lastIndexOf('\n') + 1)
  const text = (statement.split('\n')[number - 1] ?? '').replaceAll('\t', ' ')
  const start = Math.max(0, Math.min(column - Math.floor(maxWidth / 2), text.length - maxWidth))
  const prefix = `LINE ${number}: ${start > 0 ? '...' : ''}`
  const end = start + maxWidth < text.length ? '...' : ''
  const caret = ' '.repeat(prefix.length + displayWidth(text.slice(start, column)))
  return [`${prefix}${text.slice(start, start + maxWidth)}${end}`, `${caret}^`]
}
