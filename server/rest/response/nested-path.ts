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
    if (step.kind === 'junction' || !wanted || !found) continue
    const { level, place } = step.kind === 'existing' ? step.of : step
    // The keys of existing rows are found by the next step.
    if (wanted.toString() !== found.toString()) return nestedErrors.unmatched(level.into.name, place)
  }
  return undefined
}

const quoted = /"((?:[^"]|"")*)"/g
/** `Key (a, b)=(1, 2) …`, in any language. */
const keyDetail = /\((.+?)\)=\((.*?)\)[^()]*$/s
/** `… (1, null, x).` */
const rowDetail = /\((.*)\)\.?$/s

/** What an error says about the row: which rows it may be, and the column if it is one. */
function pathOf(error: ApiError, step: RowsStep): string {
  const { message, code } = error
  const details = typeof error.details === 'string' ? error.details : ''
  const names = [...message.matchAll(quoted)].map(([, text = '']) => text.replaceAll('""', '"'))
  const columns = step.columns.map(({ name }) => name)
  const row = rowFinder(step)
  switch (code) {
    case '23502': {
      // not_null_violation names the column. The first row without a value fails first.
      const column =
        names.find(
          (name) => step.links.some((link) => link.columns.some((it) => it.name === name)) || columns.includes(name),
        ) ?? names[0]
      return row((members) => column !== undefined && (members[column] ?? null) === null, column)
    }
    case '23505':
    case '23503': {
      const [, listed = '', values = ''] = keyDetail.exec(details) ?? []
      const keys = listed.split(', ').map((name) => name.replaceAll('"', ''))
      const texts = values.split(', ')
      const known = keys.filter((name) => columns.includes(name))
      const matches = (members: Members): boolean =>
        known.length > 0 &&
        keys.length === texts.length &&
        known.every((name) => sameText(members[name], texts[keys.indexOf(name)]))
      return row(matches, keys.length === 1 && known.length === 1 ? known[0] : undefined)
    }
    case '23514': {
      const texts = rowDetail.exec(details)?.[1]?.split(', ') ?? []
      return row((members) => {
        const own = Object.values(members).filter((value) => typeof value !== 'object' && typeof value !== 'boolean')
        return texts.length > 0 && own.length > 0 && own.every((value) => texts.some((text) => sameText(value, text)))
      })
    }
    case '22001':
      return row(() => false)
    default:
      break
  }
  if (!code.startsWith('22')) return row(() => false)
  // Errors of values quote the value.
  for (const value of names.toReversed()) {
    for (const column of columns) {
      const found = findRow(step, (members) => sameText(members[column], value))
      if (found) return found.path + pointerToken(column)
    }
  }
  return row(() => false)
}

const sameText = (value: unknown, text: string | undefined): boolean =>
  value !== undefined && text !== undefined && (value === null ? text === 'null' : textOf(value) === text)

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const findRow = ({ rows }: RowsStep, matches: (members: Members) => boolean): NestedRow | undefined =>
  rows.find(({ text }) => matches(JSON.parse(text) as Members))

/** Finds the first row that matches: its path, with the column if it is known. Otherwise the place of all rows. */
const rowFinder =
  (step: RowsStep) =>
  (matches: (members: Members) => boolean, column?: string): string => {
    const [only] = step.rows
    const found = step.rows.length === 1 ? only : findRow(step, matches)
    if (!found) return placeOf(step)
    return (
      found.path +
      (column !== undefined && step.columns.some(({ name }) => name === column) ? pointerToken(column) : '')
    )
  }

/** The longest pointer that all rows have in common: `/lines` for `/lines/0` and `/lines/1`. */
function placeOf({ rows, place }: RowsStep): string {
  const parents = new Set(rows.map(({ path }) => path.slice(0, path.lastIndexOf('/'))))
  const [parent = ''] = parents
  return parents.size === 1 ? parent : place.replace(/\/\*$/, '')
}
