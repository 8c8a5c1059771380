// The rows of a relation as the viewer sees them, page by page, and on request those that are hidden from the viewer.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { RelationDetails } from '../../../services/console/schema-protocol.ts'
import { ApiProblem, serviceRole, type Viewer } from '../../api.ts'
import { parseRows, type Row } from '../../rest/cells.ts'
import type { Parameter } from '../../rest/filter.ts'
import {
  keysFilter,
  keyText,
  nextPage,
  readOf,
  relationPath,
  sendAs,
  totalOf,
  type Place,
} from '../../rest/relation.ts'

export type GridRow = {
  readonly cells: Row
  /** Whether the viewer does not see the row. */
  readonly isHidden: boolean
}

const pageSize = 100
/** The filter that finds out which rows of a page the viewer sees is part of a URL. */
const hiddenPageSize = 50
/** Maximum number of rows that are kept; further ones are found with filters. */
export const maxRows = 20_000

type Next = { readonly query: string } | { readonly offset: number }

export type Rows = {
  readonly rows: readonly GridRow[]
  readonly error: unknown
  /** Why the viewer sees no row at all, such as a missing privilege; only with hidden rows. */
  readonly refusal: unknown
  readonly isLoading: boolean
  readonly hasMore: boolean
  /** Milliseconds that the first page took. */
  readonly time: number | undefined
  readonly loadMore: () => void
  readonly reload: () => void
  readonly replace: (index: number, cells: Row) => void
  readonly remove: (isRemoved: (row: GridRow) => boolean) => void
}

type State = Pick<Rows, 'rows' | 'error' | 'refusal' | 'isLoading' | 'time'> & { readonly next: Next | undefined }

const begin: State = {
  rows: [],
  error: undefined,
  refusal: undefined,
  isLoading: true,
  time: undefined,
  next: undefined,
}

type Source = {
  readonly place: Place
  readonly viewer: Viewer
  /** The query string of the page. */
  readonly parameters: readonly Parameter[]
  /** Set to also read the rows that are hidden from the viewer. */
  readonly hiddenIn: Pick<RelationDetails, 'primaryKey'> | undefined
}

/** The parameters of a page, as they are sent. */
export const pageParameters = (parameters: readonly Parameter[], limit = pageSize): readonly Parameter[] => [
  ...(parameters.some(([name]) => name === 'select') ? [] : [['select', '*'] as const]),
  ...parameters,
  ...(parameters.some(([name]) => name === 'limit') ? [] : [['limit', String(limit)] as const]),
]

type Page = { readonly rows: readonly Row[]; readonly next: Next | undefined }

/** Reads a page with a cursor, or by offset where the relation has no key. */
async function readPage(
  viewer: Viewer,
  { place, parameters }: Source,
  next: Next | undefined,
  limit: number,
): Promise<Page> {
  const all = pageParameters(parameters, limit)
  if (next && 'offset' in next) return readOffset(viewer, place, all, next.offset)
  const first = readOf(place, all, 'pagination=keyset')
  try {
    const response = await sendAs(viewer, next ? { ...first, path: `${relationPath(place)}?${next.query}` } : first)
    const query = nextPage(response.headers.get('link'))
    return { rows: parseRows(await response.text()), next: query === undefined ? undefined : { query } }
  } catch (error) {
    // Views and the like, whose order cannot be made unique.
    const isUnpageable = error instanceof ApiProblem && /^PGRSTX4[0-9]$/.test(error.code ?? '')
    if (!isUnpageable || next) throw error
    return readOffset(viewer, place, all, 0)
  }
}

async function readOffset(
  viewer: Viewer,
  place: Place,
  parameters: readonly Parameter[],
  offset: number,
): Promise<Page> {
  const others = parameters.filter(([name]) => name !== 'offset')
  const limit = Number(others.find(([name]) => name === 'limit')?.[1])
  const response = await sendAs(viewer, readOf(place, [...others, ['offset', String(offset)]]))
  const rows = parseRows(await response.text())
  return { rows, next: rows.length < limit ? undefined : { offset: offset + rows.length } }
}

type SeenPage = { readonly rows: readonly GridRow[]; readonly next: Next | undefined; readonly refusal?: unknown }

async function readSeen(source: Source, next: Next | undefined): Promise<SeenPage> {
  const { viewer, hiddenIn, place } = source
  if (!hiddenIn) {
    const page = await readPage(viewer, source, next, pageSize)
    return { rows: page.rows.map((cells) => ({ cells, isHidden: false })), next: page.next }
  }
  const page = await readPage(serviceRole, source, next, hiddenPageSize)
  if (page.rows.length === 0) return { rows: [], next: undefined }
  const select = hiddenIn.primaryKey.map((name) => `"${name.replace(/["\\]/g, '\\$&')}"`).join(',')
  let refusal: unknown
  const seen = await sendAs(viewer, readOf(place, [['select', select], keysFilter(hiddenIn, page.rows)]))
    .then((response) => response.text())
    .then((text) => new Set(parseRows(text).map((row) => keyText(hiddenIn, row))))
    .catch((error: unknown) => {
      refusal = error
      return new Set<string>()
    })
  const rows = page.rows.map((cells) => ({ cells, isHidden: !seen.has(keyText(hiddenIn, cells)) }))
  return { rows, next: page.next, refusal }
}

/** Reads the rows again whenever the source changes. */
export function useRows(source: Source): Rows {
  const [state, setState] = useState(begin)
  const [round, setRound] = useState(0)
  const { viewer, place, parameters, hiddenIn } = source
  const key = JSON.stringify([viewer, place, parameters, hiddenIn?.primaryKey])
  const current = useRef(key)
  const isReading = useRef(false)
  const read = (next: Next | undefined): void => {
    const of = `${key} ${round}`
    current.current = of
    isReading.current = true
    const start = performance.now()
    setState((last) => ({ ...last, error: undefined, isLoading: true }))
    readSeen(source, next)
      .then(
        (page) => {
          if (current.current !== of) return
          setState((last) => ({
            rows: next ? [...last.rows, ...page.rows] : page.rows,
            next: page.next,
            error: undefined,
            refusal: page.refusal,
            isLoading: false,
            time: next ? last.time : performance.now() - start,
          }))
        },
        (error: unknown) => {
          if (current.current !== of) return
          setState((last) => ({ ...last, rows: next ? last.rows : [], error, isLoading: false, next: undefined }))
        },
      )
      .finally(() => {
        if (current.current === of) isReading.current = false
      })
  }
  useEffect(() => read(undefined), [key, round])
  const { next, ...shown } = state
  return {
    ...shown,
    hasMore: next !== undefined && state.rows.length < maxRows,
    loadMore: () => {
      if (next && !isReading.current) read(next)
    },
    reload: () => setRound((count) => count + 1),
    replace: (index, cells) =>
      setState((last) => ({ ...last, rows: last.rows.map((row, at) => (at === index ? { ...row, cells } : row)) })),
    remove: (isRemoved) => setState((last) => ({ ...last, rows: last.rows.filter((row) => !isRemoved(row)) })),
  }
}

/** The exact number of rows that the viewer sees. */
export async function countRows(viewer: Viewer, place: Place, parameters: readonly Parameter[]): Promise<number> {
  const filters = parameters.filter(([name]) => !['select', 'order', 'limit', 'offset'].includes(name))
  const response = await sendAs(viewer, {
    ...readOf(place, [...filters, ['limit', '0']], 'count=exact'),
    method: 'HEAD',
  })
  const total = totalOf(response.headers.get('content-range'))
  if (total === undefined) throw new Error('The response has no total')
  return total
}
