// Finds the place in the body that an error of the database is about. PostgreSQL tells the statement, and mostly values
// or columns of the row, but not the row.
import { ApiError } from '../../errors.ts'
import { atPath, nestedErrors, pointerToken } from './nested-errors.ts'
import type { NestedRow, NestedStep, RowsStep } from './nested-write.ts'
import type { RawRow } from '../../row-transfer.ts'
import { jsonMembers } from '../../../text/json-members.ts'

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

/** A pointer to what an error is about: a member of a row, a row, or what all rows of the step have in common. */
function pathOf(error: ApiError, step: RowsStep): string {
  const row = rowOf(error, step)
  if (!row) return placeOf(step)
  const column = error.code.startsWith('22')
    ? columnOfValue(valuesIn(error), row, step)
    : columnOfConstraint(error, step)
  return column === undefined || !hasColumn(step, column) ? row.path : row.path + pointerToken(column)
}

const quotedIn = ({ message }: ApiError): readonly string[] =>
  Array.from(message.matchAll(quoted), ([, text = '']) => text.replaceAll('""', '"'))

/** The texts that may be the value in a message: what is quoted, and all from the first to the last quotation mark. */
function valuesIn(error: ApiError): ReadonlySet<string> {
  const [whole = ''] = /".*"/s.exec(error.message) ?? []
  return new Set([...quotedIn(error), whole.slice(1, -1)])
}

const hasColumn = ({ columns }: RowsStep, name: string): boolean => columns.some((column) => column.name === name)

/** The row that an error is about, if that can be determined: the first one to which the error applies. */
function rowOf(error: ApiError, step: RowsStep): NestedRow | undefined {
  const { rows } = step
  const [only] = rows
  if (rows.length === 1) return only
  const { code } = error
  if (code === '23502') {
    const column = columnOfConstraint(error, step)
    return column === undefined ? undefined : rows.find((row) => !writtenValues(row).has(column))
  }
  if (code === '23503' || code === '23505') {
    const key = keyOf(error)
    if (!key?.every(([name]) => hasColumn(step, name))) return undefined
    return rows.find((row) => {
      const written = writtenValues(row)
      return key.every(([name, value]) => written.get(name) === value)
    })
  }
  if (!code.startsWith('22')) return undefined
  const found = valuesIn(error)
  return rows.find((row) => columnOfValue(found, row, step) !== undefined)
}

/** Columns and values in the details `Key (a, b)=(1, 2) …`, in any language. */
function keyOf({ details }: ApiError): readonly (readonly [string, string])[] | undefined {
  const text = typeof details === 'string' ? details : ''
  const middle = text.indexOf(')=(')
  const end = text.lastIndexOf(')')
  if (middle < 0 || end < middle + 3) return undefined
  const names = text.slice(text.indexOf('(') + 1, middle).split(', ')
  const value = text.slice(middle + 3, end)
  const values = names.length === 1 ? [value] : value.split(', ')
  if (names.length !== values.length) return undefined
  return names.map((name, index) => [name.replaceAll('"', ''), values[index] ?? ''] as const)
}

/** The column of a value that the message quotes. */
function columnOfValue(found: ReadonlySet<string>, row: NestedRow, { columns }: RowsStep): string | undefined {
  const written = writtenValues(row)
  return columns.find(({ name }) => {
    const value = written.get(name)
    return value !== undefined && found.has(value)
  })?.name
}

/** The column of a constraint: named by the message, or by the name that PostgreSQL gives to constraints of a column. */
function columnOfConstraint(error: ApiError, { columns, level }: RowsStep): string | undefined {
  const names = quotedIn(error)
  if (namesColumn.has(error.code)) return names[0]
  const table = level.into.name
  return columns.find(({ name }) =>
    ['check', 'key', 'fkey'].some((suffix) => names.includes(`${table}_${name}_${suffix}`)),
  )?.name
}

/** Errors whose message begins with the name of the column: a missing value, a column that is always generated. */
const namesColumn = new Set(['23502', '428C9'])

/** The values of a row other than null, as a message of the database has them. */
function writtenValues({ text }: NestedRow): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const [name, value] of jsonMembers(text)) {
    if (value !== 'null') values.set(name, value.startsWith('"') ? (JSON.parse(value) as string) : value)
  }
  return values
}

/** The longest pointer that all rows have in common: `/lines` for `/lines/0` and `/lines/1`. */
function placeOf({ rows, place }: RowsStep): string {
  const parents = new Set(rows.map(({ path }) => path.slice(0, path.lastIndexOf('/'))))
  const [parent = ''] = parents
  return parents.size === 1 ? parent : place.replace(/\/\*$/, '')
}
