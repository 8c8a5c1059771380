// Errors of nested writes. Their details begin with a JSON pointer to what is wrong in the body.
import { apiError, type ApiError, type ErrorCode } from '../../errors.ts'

/** One escaped reference token of a JSON pointer (RFC 6901). */
export const pointerToken = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Adds a pointer into the body to an error. The empty pointer, of the whole body, is left out. */
export function atPath(error: ApiError, path: string): ApiError {
  const { details } = error
  if (path === '' || (details !== null && typeof details !== 'string')) return error
  return error.with({ details: details === null ? path : `${path}: ${details}` })
}

const refused = (code: ErrorCode, message: string, path: string | undefined, hint?: string): ApiError =>
  apiError(code, message, { details: path === '' ? undefined : path, hint })

export const nestedErrors = {
  wrongKind: (key: string, wanted: 'an array of objects' | 'an object or null' | 'an object', path: string) =>
    refused('PGRSTX20', `The value of '${key}' must be ${wanted}`, path),
  onlyPost: (key: string, method: string) =>
    refused(
      'PGRSTX21',
      `Cannot write the related rows of '${key}' with ${method}`,
      undefined,
      'Related rows can be written with POST, which also updates existing rows with Prefer: resolution=merge-duplicates.',
    ),
  computed: (key: string, path: string) =>
    refused('PGRSTX22', `Cannot write to '${key}', because a function computes the relationship`, path),
  setTwice: (column: string, key: string, path: string) =>
    refused('PGRSTX23', `'${column}' is set by the relationship '${key}'`, path, `Leave out '${column}' or '${key}'.`),
  /** @param keys that name relationships with the same foreign key */
  setByTwo: (column: string, [one, other]: readonly [string, string], path: string) =>
    refused(
      'PGRSTX23',
      `'${column}' is set by the relationships '${one}' and '${other}'`,
      path,
      `Leave out '${one}' or '${other}'.`,
    ),
  tooDeep: (limit: number, path: string) =>
    refused('PGRSTX24', `Nested too deeply: at most ${limit} levels are allowed`, path),
  tooManySteps: (limit: number) =>
    refused(
      'PGRSTX24',
      `Too many different kinds of related rows: at most ${limit} statements are allowed`,
      undefined,
      'Rows with the same keys are written by one statement.',
    ),
  tooLarge: (length: number, signs: number) =>
    apiError('PGRSTX24', 'The body with related rows is too large', {
      status: 413,
      details: `It may have ${length} characters, and ${signs} commas, colons and opening brackets.`,
      hint: 'Write the rows of each table with a request of its own.',
    }),
  tooManyRows: (limit: number, path: string) =>
    refused(
      'PGRSTX24',
      `Too many rows: at most ${limit} are allowed together with their related rows`,
      path,
      'Write the rows of each table with a request of its own.',
    ),
  /** @param table whose written rows are not those of the body */
  unmatched: (table: string, path: string) =>
    apiError('PGRSTX25', `Could not match the written rows of '${table}' with the body`, {
      details: path === '' ? undefined : path,
      hint: 'A trigger may have left out or changed rows, or the rows may exist without being visible.',
    }),
  noPrimaryKey: (table: string) =>
    refused(
      'PGRSTX26',
      `Cannot return the nested rows of '${table}', because it has no primary key`,
      undefined,
      'Use Prefer: return=minimal.',
    ),
  explained: () => refused('PGRSTX26', 'Cannot explain a nested write, because it has several statements', undefined),
}
