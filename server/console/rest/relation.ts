// Requests to one relation of the REST API, as any client sends them.
import type { RelationDetails } from '../../services/console/schema-protocol.ts'
import { fetchAs, type Viewer } from '../api.ts'
import { equals, listItem, queryText, quotedName, type Parameter } from './filter.ts'
import { isNull, textOf, type Row } from './cells.ts'
import type { Place, Sent } from './snippets.ts'

export type { Place, Sent }

export const restPathOf = (restPath: string, rest: string): string =>
  `${restPath.replace(/^\/|\/$/g, '')}/${rest}`.replace(/^\//, '')

export const relationPath = ({ restPath, name }: Place, parameters: readonly Parameter[] = []): string => {
  const query = queryText(parameters)
  return `${restPathOf(restPath, encodeURIComponent(name))}${query === '' ? '' : `?${query}`}`
}

/** The header that chooses the schema; none for the default one. */
export const profile = ({ schema, isDefault }: Place, isWrite: boolean): Sent['headers'] =>
  isDefault ? [] : [[isWrite ? 'Content-Profile' : 'Accept-Profile', schema]]

type Key = Pick<RelationDetails, 'primaryKey'>

const valueOf = (row: Row, column: string): string | null => {
  const json = row.get(column)
  return isNull(json) ? null : textOf(json)
}

/** Whether rows can be addressed: the relation has a key, and the row has all of its columns. */
export const hasKey = ({ primaryKey }: Key, row: Row): boolean =>
  primaryKey.length > 0 && primaryKey.every((column) => !isNull(row.get(column)))

/** The filters that match one row only. */
export const keyFilters = ({ primaryKey }: Key, row: Row): readonly Parameter[] =>
  primaryKey.map((column) => equals(column, valueOf(row, column)))

/** A text that is the same for the same row. */
export const keyText = ({ primaryKey }: Key, row: Row): string =>
  JSON.stringify(primaryKey.map((column) => row.get(column) ?? null))

/** The filter that matches some rows. */
export function keysFilter({ primaryKey }: Key, rows: readonly Row[]): Parameter {
  const [first, ...others] = primaryKey
  if (first === undefined) throw new TypeError('The relation has no key')
  const item = (row: Row, column: string): string => listItem(valueOf(row, column) ?? '')
  if (others.length === 0) return [quotedName(first), `in.(${rows.map((row) => item(row, first)).join(',')})`]
  const conditions = rows.map(
    (row) => `and(${primaryKey.map((column) => `${quotedName(column)}.eq.${item(row, column)}`).join(',')})`,
  )
  return ['or', `(${conditions.join(',')})`]
}

/** The address of the next page in a `Link` header, a query string; undefined on the last page. */
export const nextPage = (link: string | null): string | undefined => /<\?([^>]*)>; rel="next"/.exec(link ?? '')?.[1]

/** The number of all rows in a `Content-Range`; undefined if it is not known. */
export function totalOf(range: string | null): number | undefined {
  const [, total] = /\/(\d+)$/.exec(range ?? '') ?? []
  return total === undefined ? undefined : Number(total)
}

/**
 * Sends a request as the viewer.
 *
 * @throws ApiProblem
 */
export const sendAs = (
  viewer: Viewer,
  { method, path, headers, body }: Sent,
  more: Sent['headers'] = [],
): Promise<Response> =>
  fetchAs(viewer, path, {
    method,
    headers: {
      ...Object.fromEntries([...headers, ...more]),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  })

/** A read of the relation, or of rows of it. */
export const readOf = (place: Place, parameters: readonly Parameter[], prefer?: string): Sent => ({
  method: 'GET',
  path: relationPath(place, parameters),
  headers: [...profile(place, false), ...(prefer === undefined ? [] : [['Prefer', prefer] as const])],
})
