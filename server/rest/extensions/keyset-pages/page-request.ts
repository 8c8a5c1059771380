// The part of a request that asks for a keyset page: `Prefer: pagination=keyset`, or the parameter `cursor`, which is in
// the links of such pages. `cursor` is a parameter of its own only where PostgREST rejects it: its value is no filter,
// and the function has no parameter of that name.
import { qualifiedKey } from '../../../catalogue/identifier.ts'
import type { SchemaCache } from '../../../catalogue/schema-cache.ts'
import type { ApiRequest, HttpRequest, RequestShape } from '../../request/api-request.ts'
import type { FurtherParameter } from '../../request/further-parameters.ts'
import type { QueryParams } from '../../request/query-params.ts'
import {
  hasCursorForm,
  scopeOf,
  type PageCursors,
  type PageInput,
  type ScopedCursor,
  type WrongCursor,
} from './page-cursor.ts'
import { pageErrors } from './page-errors.ts'
import { parseQueryString, type BytePair } from '../../request/query-string.ts'

const isCursor = ([name, value]: BytePair): boolean => name === 'cursor' && value !== undefined && hasCursorForm(value)

/** Reads the cursors of reads. Those of calls are arguments until the function is known. */
export const cursorParameter: FurtherParameter = {
  read: (name, text, into) => {
    if (!into.cursorsAllowed || name !== 'cursor' || !hasCursorForm(text)) return undefined
    into.cursors ??= []
    into.cursors.push(text)
    return ''
  },
}

/** The cursor of a request that may ask for a page; undefined without one. */
export function cursorOf(params: QueryParams, cursors: PageCursors): ScopedCursor | WrongCursor | undefined {
  const [text, second] = params.cursors ?? params.routineArguments.filter(isCursor).map(([, value]) => value)
  if (text === undefined) return undefined
  return second === undefined ? (cursors.open(text) ?? 'invalid') : 'several'
}

/** The parameters but the cursor, sorted by name. Parameters of the same name keep their order. */
const parametersOf = (query: string): readonly BytePair[] =>
  parseQueryString(query)
    .filter((pair) => !isCursor(pair))
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))

/** Everything that must not be written as it is in a query, or that ends a URL in a Link header. */
const special = /[^\w\-.~,:*()!/@$]/g

const encode = (bytes: string): string =>
  bytes.replace(special, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)

const written = ([name, value]: BytePair): string =>
  value === undefined ? encode(name) : `${encode(name)}=${encode(value)}`

function nameOf({ action }: RequestShape): string {
  if (action.kind === 'call') return `rpc/${action.routine.name}`
  return action.kind === 'read' ? action.relation.name : ''
}

/**
 * The page that a request asks for.
 *
 * @throws ApiError PGRSTX42 when the cursor is of another request
 */
export function pageInput(shape: RequestShape, query: string, cursor: ScopedCursor | undefined): PageInput {
  const parameters = parametersOf(query)
  const scope = scopeOf([
    shape.schema,
    nameOf(shape),
    // The size of pages may change.
    ...parameters.filter(([name]) => name !== 'limit').flatMap(([name, value]) => [name, value ?? '']),
  ])
  if (cursor && !cursor.scope.equals(scope)) throw pageErrors.otherRequest()
  return { cursor, scope, query: parameters.map(written).join('&') }
}

/** Adds a page to a request. Its cursor is not an argument of the function. */
export function withPage(request: ApiRequest, page: PageInput): ApiRequest {
  const { queryParams, input } = request
  const routineArguments = queryParams.routineArguments.filter((argument) => !isCursor(argument))
  return { ...request, queryParams: { ...queryParams, routineArguments }, input: { ...input, page } }
}

/** The texts of the cursors in a request; empty if the parameter is an argument of the function. */
function cursorsOf({ shape: { action }, queryParams }: ApiRequest, isArgument: boolean): readonly string[] {
  if (action.kind === 'read') return queryParams.cursors ?? []
  if (action.kind !== 'call' || action.method === 'post' || isArgument) return []
  return queryParams.routineArguments.filter(isCursor).map(([, value]) => value)
}

const rangeHeader = /^\d+-\d*$/

/** @throws ApiError PGRSTX43 */
function rejectRanges({ shape, input }: ApiRequest): void {
  const range = shape.method === 'GET' ? input.headers.find(([name]) => name === 'range')?.[1] : undefined
  if (range !== undefined && rangeHeader.test(range)) throw pageErrors.range('Range')
  if (shape.topLevelRange.offset !== 0) throw pageErrors.range('offset')
}

/** Whether a request may ask for a page. Writes, and functions called with POST, ignore the preference. */
const mayAsk = ({ action }: RequestShape): boolean =>
  action.kind === 'read' || (action.kind === 'call' && action.method !== 'post')

/** Whether an overload of the function that a request calls has a parameter `cursor`. */
function takesCursor({ shape: { action } }: ApiRequest, cache: SchemaCache): boolean {
  if (action.kind !== 'call') return false
  const overloads = cache.routines.get(qualifiedKey(action.routine.schema, action.routine.name)) ?? []
  return overloads.some(({ parameters }) => parameters.some(({ name }) => name === 'cursor'))
}

/**
 * Adds the page that a request asks for; returns the request itself if it asks for none.
 *
 * @throws ApiError PGRSTX41 for an invalid cursor, PGRSTX42 for that of another request, PGRSTX43 for an offset, PGRSTX44
 */
export function readPage(
  request: ApiRequest,
  { query }: Pick<HttpRequest, 'query'>,
  cursors: PageCursors,
  cache: SchemaCache,
): ApiRequest {
  const { shape, queryParams } = request
  const isAsked = shape.preferences.pagination !== undefined
  const mayHaveCursor = queryParams.cursors !== undefined || queryParams.routineArguments.some(isCursor)
  if (!mayAsk(shape) || (!isAsked && !mayHaveCursor)) return request
  const isArgument = takesCursor(request, cache)
  const [text, second] = cursorsOf(request, isArgument)
  if (text === undefined && !isAsked) return request
  if (isArgument) {
    throw pageErrors.unpageable(
      'a function with a parameter cursor',
      'Rename the parameter, or call the function with limit and offset.',
    )
  }
  if (second !== undefined) throw pageErrors.invalidCursor('There are several.')
  const cursor = text === undefined ? undefined : cursors.open(text)
  if (text !== undefined && !cursor) throw pageErrors.invalidCursor()
  rejectRanges(request)
  return withPage(request, pageInput(shape, query, cursor))
}
