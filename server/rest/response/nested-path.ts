// Finds the place in the body that an error of the database is about. PostgreSQL tells the statement, and mostly values
// or columns of the row, but not the row.
import { ApiError } from '../errors.ts'
import { atPath, nestedErrors, pointerToken } from '../plan/nested-errors.ts'
import type { NestedRow, NestedStep, RowsStep } from '../plan/nested-write.ts'
import type { RawRow } from '../database.ts'

type Members = Readonly<Record<string, unknown>>

/** Adds a pointer into the body to the error of a step. */
export function locateError(error: ApiError, step: NestedStep): ApiError {
  // What a function raises as a whole response stays as it is.
  if (error.code === 'PGRST') return error
  if (step.kind === 'junction') return atPath(error, step.place)
  return atPath(error, pathOf(error, step.kind === 'existing' ? step.of : step))
}

/** The error if the keys of written rows were not matched with the body; see `nestedStatement`. */
export function unmatchedError(results: readonly (readonly RawRow[])[], steps: readonly NestedStep[]) {
  for (const [index, step] of steps.entries()) {
    const [, wanted, found] = results[index]?.[0] ?? []
    if (step.kind === 'junction' || !wanted || !found || (step.kind === 'existing' && !step.isLast)) continue
    const written = step.kind === 'existing' ? step.of : step
    if (wanted.toString() === found.toString()) continue
    const path = written.rows.length === 1 ? written.rows[0]?.path : placeOf(written)
    return nestedErrors.unmatched(written.level.into.name, path ?? '')
  }
  return undefined
}

const quoted = /"((?:[^"]|"")*)"/g
/** `Key (a, b)=(1, 2) …`, in any language. */
const keyDetail = /\((.+?)\)=\((.*?)\)[^()]*$/s

/** A pointer to what an error is about: a member of a row, a row, or what all rows of the step have in common. */
function pathOf(error: ApiError, step: RowsStep): string {
  const { code } = error
  const row = rowOf(error, step)
  if (!row) return placeOf(step)
  const column = code.startsWith('22') ? columnOfValue(quotedIn(error), row, step) : columnOfConstraint(error, step)
  return column === undefined || !hasColumn(step, column) ? row.path : row.path + pointerToken(column)
}

const quotedIn = ({ message }: ApiError): readonly string[] =>
  Array.from(message.matchAll(quoted), ([, text = '']) => text.replaceAll('""', '"'))

const detailsOf = ({ details }: ApiError): string => (typeof details === 'string' ? details : '')

const hasColumn = ({ columns }: RowsStep, name: string): boolean => columns.some((column) => column.name === name)

/** The row that an error is about, if it can be told: the first one to which the error applies. */
function rowOf(error: ApiError, step: RowsStep): NestedRow | undefined {
  const [only] = step.rows
  if (step.rows.length === 1) return only
  const { code } = error
  if (code === '23502') {
    const column = columnOfConstraint(error, step)
    return column === undefined ? undefined : findRow(step, (members) => (members[column] ?? null) === null)
  }
  if (code === '23503' || code === '23505') {
    const [, listed = '', values = ''] = keyDetail.exec(detailsOf(error)) ?? []
    const names = listed.split(', ').map((name) => name.replaceAll('"', ''))
    const texts = values.split(', ')
    if (names.length !== texts.length || !names.every((name) => hasColumn(step, name))) return undefined
    return findRow(step, (members) => names.every((name, index) => isWritten(members[name], texts[index])))
  }
  if (!code.startsWith('22')) return undefined
  const found = quotedIn(error).toReversed()
  return findRow(step, (members) =>
    found.some((value) => step.columns.some(({ name }) => isWritten(members[name], value))),
  )
}

/** The column of a value that the message quotes. */
function columnOfValue(found: readonly string[], { text }: NestedRow, { columns }: RowsStep): string | undefined {
  const members = JSON.parse(text) as Members
  return columns.find(({ name }) => found.some((value) => isWritten(members[name], value)))?.name
}

/** The column of a constraint: named by the message, or by the name that PostgreSQL gives to constraints of a column. */
function columnOfConstraint(error: ApiError, { columns, level }: RowsStep): string | undefined {
  const names = quotedIn(error)
  if (error.code === '23502') return names[0]
  const table = level.into.name
  return columns.find(({ name }) =>
    ['check', 'key', 'fkey'].some((suffix) => names.includes(`${table}_${name}_${suffix}`)),
  )?.name
}

/** Whether a value of the body is written like this in a message. */
const isWritten = (value: unknown, text: string | undefined): boolean =>
  value !== undefined && value !== null && (typeof value === 'string' ? value : JSON.stringify(value)) === text

const findRow = ({ rows }: RowsStep, matches: (members: Members) => boolean): NestedRow | undefined =>
  rows.find(({ text }) => matches(JSON.parse(text) as Members))

/** The longest pointer that all rows have in common: `/lines` for `/lines/0` and `/lines/1`. */
function placeOf({ rows, place }: RowsStep): string {
  const parents = new Set(rows.map(({ path }) => path.slice(0, path.lastIndexOf('/'))))
  const [parent = ''] = parents
  return parents.size === 1 ? parent : place.replace(/\/\*$/, '')
}
