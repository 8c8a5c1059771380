// Reads large bodies in parts of some milliseconds, between which other requests are served. The result is that of
// `payload.ts` and `payload-check.ts`, which read small bodies at once.
import { isUtf8 } from 'node:buffer'
import { errors } from '../errors.ts'
import { hasMoreSigns, mostSigns } from '../../text/json-text.ts'
import type { TableBodies, BodyProblem, BodyValidator } from '../validation.ts'
import type { HttpRequest, ReadPayload } from './api-request.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import { csvParts } from './csv.ts'
import type { FurtherParameter } from './further-parameters.ts'
import { jsonColumnsOf } from './csv-json.ts'
import { jsonRows } from './json-rows.ts'
import { parseRequestHead, type RequestHead, type RequestSettings } from './parse-api-request.ts'
import { bodyIsRead, invalidJson, noObjects, unequalKeys } from './payload.ts'
import { pick } from './payload-check.ts'

/** Rows that are checked at a time. */
const rowsAtOnce = 200
/** Problems of rows after which no further row is checked. */
const mostProblems = 100

export type LargePayloadOptions = {
  /** The request that the path stands for, if it is another one. */
  readonly addressed: HttpRequest | undefined
  readonly settings: RequestSettings
  readonly further: readonly FurtherParameter[]
  readonly validator: BodyValidator
  readonly cache: SchemaCache | undefined
  /** Maximum length of the JSON that CSV becomes. */
  readonly limit: number
}

/**
 * Reads the body of a request.
 *
 * @yields the memory that it takes beside the body, in bytes
 * @returns the request with its payload in place of its body; the request itself if reading the body takes no considerable time
 * @throws ApiError for the first error as `parseApiRequest` does
 */
export function* readLargePayload(http: HttpRequest, options: LargePayloadOptions): Generator<number, HttpRequest> {
  const head = parseRequestHead(options.addressed ?? http, options.settings, options.further)
  const { action, contentType } = head
  if (!bodyIsRead(action)) return http
  const table =
    action.kind === 'mutate' ? options.validator.forTable(action.relation.schema, action.relation.name) : undefined
  switch (contentType.kind) {
    case 'csv': {
      if (!isUtf8(http.body)) throw errors.invalidBody('The CSV is not valid UTF-8')
      const payload = yield* csvParts(http.body, options.limit, jsonColumnsOf(action, options.cache))
      if (payload.kind !== 'json') return http
      const columns = { payload, columns: payload.keys, value: undefined }
      if (!table) return withPayload(http, columns)
      const problems = yield* rowProblems(Buffer.from(payload.text), table, head)
      return withPayload(http, { ...columns, problems })
    }
    case 'json': {
      // The `columns` parameter has the keys: the text is not looked at.
      if (head.namedColumns && !table) return http
      const payload = yield* readJson(http.body, head, table)
      return withPayload(http, payload)
    }
    default:
      return http
  }
}

const noBody = Buffer.alloc(0)

/** A request waits for the database with its payload alone, unless its body is compared with that of an earlier one. */
const withPayload = (http: HttpRequest, payload: ReadPayload): HttpRequest => ({
  ...http,
  payload,
  body: http.headers.some(([name]) => name === 'idempotency-key') ? http.body : noBody,
})

function* readJson(body: Buffer, head: RequestHead, table: TableBodies | undefined): Generator<number, ReadPayload> {
  if (!isUtf8(body)) throw invalidJson()
  const scanning = jsonRows(body)
  let scanned = scanning.next()
  for (; !scanned.done; scanned = scanning.next()) yield body.length
  const rows = scanned.value
  if (!rows) throw invalidJson()
  const { kind, keys, count, areAlike } = rows
  const isEmpty = kind === 'scalar' || count === 0
  if (!head.namedColumns && !isEmpty && !areAlike) throw unequalKeys()
  const checked = table ? { problems: kind === 'scalar' ? [] : yield* rowProblems(body, table, head) } : {}
  const text = body.toString('utf8')
  yield body.length
  if (head.namedColumns) {
    return { payload: { kind: 'raw-json', text }, columns: head.namedColumns, value: undefined, ...checked }
  }
  if (isEmpty) return { payload: noObjects, columns: [], value: undefined, ...checked }
  return { payload: { kind: 'json', text, keys }, columns: keys, value: undefined, ...checked }
}

/** The problems of the first rows that have some. */
function* rowProblems(body: Buffer, table: TableBodies, head: RequestHead): Generator<number, readonly BodyProblem[]> {
  const { action, contentType, namedColumns } = head
  const isUpdate = action.kind === 'mutate' && action.mutation === 'update'
  const validate = isUpdate ? table.validateUpdate : table.validateInsert
  const found: BodyProblem[] = []
  let waiting: [start: number, end: number][] = []
  let index = 0
  const scanning = jsonRows(body, (start, end) => waiting.push([start, end]))
  for (let scanned = scanning.next(); ; scanned = scanning.next()) {
    const isArray = body[firstSign(body)] === 0x5b
    for (const [start, end] of waiting) {
      if (index % rowsAtOnce === 0) yield body.length
      if (hasMoreSigns(body.subarray(start, end), mostSigns)) throw errors.tooManyValues(mostSigns)
      const row: unknown = JSON.parse(body.toString('utf8', start, end))
      const at = isArray ? `/${index}` : ''
      const problems = validate(namedColumns ? pick(row, namedColumns) : row, contentType.kind !== 'json')
      for (const { pointer, message } of problems) found.push({ pointer: at + pointer, message })
      index += 1
      if (found.length >= mostProblems) return [...found, { pointer: '', message: 'may have more faults' }]
    }
    waiting = []
    if (scanned.done) return found
    yield body.length
  }
}

/** Position of the first sign that is no space. */
function firstSign(body: Buffer): number {
  let at = 0
  while (body[at] === 0x20 || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at += 1
  return at
}
