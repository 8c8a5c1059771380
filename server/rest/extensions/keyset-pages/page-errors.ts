// Errors of keyset pages: PGRSTX40 to PGRSTX46. PostgREST has no such codes.
import { apiError, type ApiError, type ErrorCode } from '../../errors.ts'
import { longestCursor } from './page-cursor.ts'

const invalid = (code: ErrorCode, message: string, details: string, hint: string): ApiError =>
  apiError(code, message, { details, hint })

export const pageErrors = {
  noKey: (relation: string) =>
    invalid(
      'PGRSTX40',
      `The rows of '${relation}' have no known key, so they have no total order`,
      'Keyset pages need the primary key of a table or view, a unique constraint without nullable columns, or an order.',
      `Order by columns of '${relation}' that together are unique.`,
    ),
  invalidCursor: (details = 'It was not created by this server, or is not complete.') =>
    invalid('PGRSTX41', 'Invalid cursor', details, 'Use the links of a response as they are.'),
  otherRequest: () =>
    invalid(
      'PGRSTX42',
      'The cursor belongs to another request',
      'A cursor is valid for the path, schema, arguments, filters, select and order of the request that it was created for.',
      'Only limit may change between pages. Use the links of a response as they are.',
    ),
  range: (problem: 'offset' | 'Range' | 'limit=0') =>
    invalid(
      'PGRSTX43',
      `Keyset pages cannot be combined with ${problem}`,
      problem === 'limit=0'
        ? 'A page has at least one row.'
        : 'A page begins at its cursor, and the number of rows before it is unknown.',
      problem === 'limit=0' ? 'Use a greater limit.' : 'Use limit for the size of a page, and follow its links.',
    ),
  unpageable: (what: string, hint: string) =>
    invalid('PGRSTX44', `Keyset pages of ${what} are not possible`, 'There is no row to continue from.', hint),
  notUnique: (relation: string) =>
    invalid(
      'PGRSTX45',
      `The order of '${relation}' is not unique`,
      'The last row of the page and the row after it are equal in all columns of the order, so a link would skip rows.',
      `Order by more columns of '${relation}', so that no two rows are equal.`,
    ),
  longCursor: () =>
    invalid(
      'PGRSTX46',
      'The values to order by are too long for a link',
      `A cursor has at most ${longestCursor} characters.`,
      'Order by shorter columns.',
    ),
}
