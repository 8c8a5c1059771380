// The shape of a request is the parsed request without its values. Requests of the same shape have the same plan and
// statement, or the same rejection.
import { randomBytes } from 'node:crypto'
import type { PageCursor, WrongCursor } from '../extensions/keyset-pages/page-cursor.ts'
import type { HttpRequest } from '../request/api-request.ts'
import type { Filter, LogicTree, Operation } from '../request/filter.ts'
import type { QueryParams } from '../request/query-params.ts'
import { keyPart, partKind } from '../request/shape-key.ts'
import { operandText } from '../sql/filter.ts'
import { cutAtNul } from '../sql/identifier.ts'

/** The beginning of every marker. It is random, so that no request can contain it. */
const token = `v${randomBytes(16).toString('hex')}x`

/** What takes the place of a value in the request that a shape is planned from. */
export const marker = (index: number): string => `${token}${index}z`

/** Whether a text contains a marker. */
export const hasMarker = (text: string): boolean => text.includes(token)

/** The marker of an argument that the function must not take, because it is read as a parameter of an extension. */
const unexpected = marker(-1)
/** What takes the place of a body that is text: no value has the same marker. */
export const bodyMarker = marker(-2)

/** Headers that belong to the shape. */
const shapeHeaders = new Set([
  'accept',
  'accept-profile',
  'content-profile',
  'content-type',
  'prefer',
  'range',
  // Conditions on entity tags. Those of GET apply to the response.
  'if-match',
  'if-none-match',
])

/** The key of the shape of a request; undefined if its shape must not be cached. */
export function shapeKey(
  { method, path, headers, body }: HttpRequest,
  { key: parameters }: QueryParams,
  cursor: PageCursor | WrongCursor | undefined,
): string | undefined {
  let key = keyPart(partKind.method, method) + keyPart(partKind.path, path)
  // A request can be rejected for a missing body, so requests with and without one have different shapes.
  if (body.length > 0) key += keyPart(partKind.body, '')
  key += keyPart(partKind.parameters, parameters)
  if (cursor !== undefined) key += keyPart(partKind.cursor, cursorKey(cursor))
  for (const [name, text] of headers) {
    if (!shapeHeaders.has(name)) continue
    if (!name.startsWith('if-')) key += keyPart(partKind.header, name) + keyPart(partKind.headerValue, text)
    else if (method !== 'GET') return undefined
  }
  return key
}

/** Text that is not a cursor is an error of its own. Which values of a cursor are null determines the statement. */
function cursorKey(cursor: PageCursor | WrongCursor): string {
  if (typeof cursor === 'string') return cursor
  const { isBackward, isInclusive, values } = cursor
  const nulls = values.map((value) => (value === null ? 'n' : 'v')).join('')
  return `${isBackward ? 'b' : 'f'}${isInclusive ? 'i' : 'x'}${nulls}`
}

/** Whether an argument is read as a parameter of an extension. */
const isAmbiguous = (name: string, { ambiguousArguments }: QueryParams, cursor: PageCursor | undefined): boolean =>
  ambiguousArguments?.has(name) === true || (cursor !== undefined && name === 'cursor')

/** The operations of all conditions. */
function operationsOf({ filters, logic, groupings }: QueryParams): readonly Operation[] {
  const found: Operation[] = []
  for (const { value } of filters) found.push(value.operation)
  for (const { value } of logic) addOperations(value, found)
  if (groupings) for (const { value } of groupings.having) addOperations(value, found)
  return found
}

function addOperations<F extends Filter>(tree: LogicTree<F>, found: Operation[]): void {
  if (tree.kind === 'filter') found.push(tree.filter.operation)
  else for (const operand of tree.operands) addOperations(operand, found)
}

/** The values of a request, as the texts of the parameters that they are in its statement. */
export function valuesOf(params: QueryParams, cursor: PageCursor | undefined): readonly string[] {
  const values: string[] = []
  for (const operation of operationsOf(params)) {
    const text = operandText(operation)
    if (text !== undefined) values.push(text)
  }
  for (const [name, text] of params.routineArguments) {
    if (!isAmbiguous(name, params, cursor)) values.push(cutAtNul(text))
  }
  if (cursor) for (const value of cursor.values) if (value !== null) values.push(value)
  return values
}

/** Parsed parameters without values. */
export type MarkedParams = { readonly params: QueryParams; readonly cursor: PageCursor | undefined }

/** Copies parsed parameters, with a marker in place of each value. The copy shares no text with the request. */
export function withMarkers(given: QueryParams, cursor: PageCursor | undefined): MarkedParams {
  let count = 0
  const params = structuredClone(given)
  for (const operation of operationsOf(params)) {
    if (operandText(operation) !== undefined) setValue(operation, marker(count++))
  }
  const mark = (name: string): string => (isAmbiguous(name, params, cursor) ? unexpected : marker(count++))
  return {
    params: { ...params, routineArguments: params.routineArguments.map(([name]) => [name, mark(name)]) },
    cursor: cursor && {
      isBackward: cursor.isBackward,
      isInclusive: cursor.isInclusive,
      values: cursor.values.map((value) => (value === null ? null : marker(count++))),
    },
  }
}

type Writable<T> = T extends unknown ? { -readonly [K in keyof T]: T[K] } : never

function setValue(operation: Writable<Operation>, text: string): void {
  if (operation.kind === 'in') operation.values = [text]
  else if (operation.kind !== 'is') operation.value = text
}
