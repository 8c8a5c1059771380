// Cursors of `POST /object/list-v2`: where the next page begins, and how the pages are sorted. Clients send them back
// unchanged; their format is that of Supabase's storage, so a list continues after a change of the server.
import { storageErrors } from './storage-error.ts'

export type SortColumn = 'name' | 'updated_at' | 'created_at'
export type SortOrder = 'asc' | 'desc'

export type ListCursor = {
  /** The last entry of the page. A folder ends with the delimiter. */
  readonly after: string
  readonly order?: SortOrder | undefined
  readonly column?: SortColumn | undefined
  /** The time of the last entry, if the list is sorted by one. */
  readonly moment?: string | undefined
}

const fields = { l: 'after', o: 'order', c: 'column', a: 'moment' } as const satisfies Readonly<
  Record<string, keyof ListCursor>
>

const orders: ReadonlySet<string | undefined> = new Set<SortOrder | undefined>(['asc', 'desc', undefined])
const columns: ReadonlySet<string | undefined> = new Set<SortColumn | undefined>([
  'name',
  'updated_at',
  'created_at',
  undefined,
])
const time = /^\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z$/

const isField = (letter: string): letter is keyof typeof fields => Object.hasOwn(fields, letter)

/** The text of a cursor. */
export function encodeCursor(cursor: ListCursor): string {
  const lines = Object.entries(fields).flatMap(([letter, field]) => {
    const value = cursor[field]
    return value === undefined || value === '' ? [] : [`${letter}:${value}`]
  })
  return Buffer.from(lines.join('\n')).toString('base64')
}

/**
 * Reads a cursor.
 *
 * @throws StorageError 400 `InvalidParameter` for any other text
 */
export function decodeCursor(text: string): ListCursor {
  const found = new Map<keyof ListCursor, string>()
  for (const line of Buffer.from(text, 'base64').toString().split('\n')) {
    const [, letter = '', value = ''] = /^(\S):(.*)$/.exec(line) ?? []
    if (!isField(letter)) throw invalidCursor()
    found.set(fields[letter], value)
  }
  const [order, column, moment] = [found.get('order'), found.get('column'), found.get('moment')]
  if (!orders.has(order) || !columns.has(column)) throw invalidCursor()
  if (moment !== undefined && (!time.test(moment) || Number.isNaN(Date.parse(moment)))) throw invalidCursor()
  return {
    after: found.get('after') ?? '',
    // A cursor without an order continues an ascending list.
    order: (order ?? 'asc') as SortOrder,
    column: column as SortColumn | undefined,
    moment,
  }
}

const invalidCursor = (): Error => storageErrors.invalidParameter('continuation token')
