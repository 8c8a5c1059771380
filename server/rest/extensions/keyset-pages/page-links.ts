// The headers of a response that has only part of the rows: `Link` of keyset pages (RFC 8288), and `Rows-Truncated`.
import type { CrudPlan } from '../../plan/plan.ts'
import type { PageCursor, PageCursors, PageInput } from './page-cursor.ts'
import { pageErrors } from './page-errors.ts'
import { hasHeader, type Header } from '../../response/header.ts'
import type { RestResponse, ResultRow } from '../../response/result.ts'

/** What the statement says about the rows of a page (see `sql/page.ts`). */
export type PageEdges = {
  /** The values of the order in the row next to the cursor, and in that farthest from it. Undefined for an empty page. */
  readonly near: readonly (string | null)[] | undefined
  readonly far: readonly (string | null)[] | undefined
  /** Whether there are rows beyond the farthest one. */
  readonly hasMore: boolean
  /** Whether the first of these is equal to the farthest row, so that no cursor can be between them. */
  readonly isTied: boolean
  /** Whether there are rows on the other side of the cursor. */
  readonly hasOthers: boolean
}

function edgesOf(pairs: ResultRow['location']): PageEdges {
  const found = new Map(pairs)
  const values = (name: string): readonly (string | null)[] | undefined => {
    const text = found.get(name)
    return text === undefined ? undefined : (JSON.parse(text) as readonly (string | null)[])
  }
  return {
    near: values('near'),
    far: values('far'),
    hasMore: found.has('more'),
    isTied: found.has('tied'),
    hasOthers: found.has('others'),
  }
}

/** The cursors of the pages before and after a page; undefined where there are no rows. */
export type Neighbours = { readonly previous: PageCursor | undefined; readonly next: PageCursor | undefined }

/** The neighbours of a page. An empty page is continued from its own cursor, whose row may exist again. */
function neighboursOf({ near, far, hasMore, hasOthers }: PageEdges, cursor: PageCursor | undefined): Neighbours {
  const isBackward = cursor?.isBackward ?? false
  const start = near ?? cursor?.values
  const onward = hasMore && far ? { isBackward, isInclusive: false, values: far } : undefined
  const back =
    hasOthers && start
      ? { isBackward: !isBackward, isInclusive: near === undefined && cursor?.isInclusive !== true, values: start }
      : undefined
  return isBackward ? { previous: onward, next: back } : { previous: back, next: onward }
}

/**
 * The value of `Link`: references that consist of a query only, so that they resolve against the URL of the request,
 * behind any proxy. Undefined without neighbours.
 *
 * @throws ApiError PGRSTX45 and PGRSTX46
 */
function linkOf(
  edges: PageEdges,
  { cursor, scope, query }: PageInput,
  cursors: PageCursors,
  relation: string,
): string | undefined {
  if (edges.hasMore && edges.isTied) throw pageErrors.notUnique(relation)
  const { previous, next } = neighboursOf(edges, cursor)
  const link = (name: string, position: PageCursor | undefined): string[] => {
    if (!position) return []
    const text = cursors.seal({ ...position, scope })
    if (text === undefined) throw pageErrors.longCursor()
    return [`<?${query === '' ? '' : `${query}&`}cursor=${text}>; rel="${name}"`]
  }
  const links = [...link('next', next), ...link('prev', previous)]
  return links.length === 0 ? undefined : links.join(', ')
}

/**
 * Adds the headers about rows that are not in the response.
 *
 * @param row its `location` has the data of the statement
 * @throws ApiError PGRSTX45 when the order is not unique, PGRSTX46 when a cursor is too long
 */
export function withPageHeaders(
  response: RestResponse,
  plan: Extract<CrudPlan, { kind: 'read' | 'call' }>,
  row: Pick<ResultRow, 'location'>,
  page: PageInput | undefined,
  cursors: PageCursors,
): RestResponse {
  const edges = edgesOf(row.location)
  const added: Header[] = []
  const link = plan.page && page ? linkOf(edges, page, cursors, plan.relation.name) : undefined
  if (link !== undefined) added.push(['Link', link])
  if (plan.cutAt !== undefined && edges.hasMore) added.push(['Rows-Truncated', `max-rows=${plan.cutAt}`])
  const headers = added.filter(([name]) => !hasHeader(response.headers, name))
  return headers.length === 0 ? response : { ...response, headers: [...response.headers, ...headers] }
}
