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
import { jsonRows, type JsonRows } from './json-rows.ts'
import { parseRequestHead, type RequestHead, type RequestSettings } from './parse-api-request.ts'
import { bodyIsRead, invalidJson, noObjects, unequalKeys } from './payload.ts'
import { pick } from './payload-check.ts'

/** Rows that are parsed and checked at a time, and their bytes: less than `mostSigns`, so that only a single row has too many. */
const rowsAtOnce = 200
const bytesAtOnce = 64 * 1024
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
  const checked = table && new CheckedRows(body, table, head)
  const rows = yield* scannedRows(body, checked)
  if (!rows) throw invalidJson()
  const { kind, keys, count, areAlike } = rows
  const isEmpty = kind === 'scalar' || count === 0
  if (!head.namedColumns && !isEmpty && !areAlike) throw unequalKeys()
  // A value that is no row stands for no rows, unless the `columns` parameter has the keys.
  const found = checked ? { problems: kind === 'scalar' && !head.namedColumns ? [] : checked.problems() } : {}
  const text = body.toString('utf8')
  yield body.length
  if (head.namedColumns) {
    return { payload: { kind: 'raw-json', text }, columns: head.namedColumns, value: undefined, ...found }
  }
  if (isEmpty) return { payload: noObjects, columns: [], value: undefined, ...found }
  return { payload: { kind: 'json', text, keys }, columns: keys, value: undefined, ...found }
}

/** The problems of the first rows of a valid body that have some. */
function* rowProblems(body: Buffer, table: TableBodies, head: RequestHead): Generator<number, readonly BodyProblem[]> {
  const rows = new CheckedRows(body, table, head)
  yield* scannedRows(body, rows)
  return rows.problems()
}

/** Scans a body, and checks its rows on the way. */
function* scannedRows(body: Buffer, checked: CheckedRows | undefined): Generator<number, JsonRows | undefined> {
  const scanning = jsonRows(body, checked?.add)
  for (;;) {
    const { done, value } = scanning.next()
    if (checked) yield* checked.check()
    if (done === true) return value
    yield body.length
  }
}

/** Neighbouring rows of a body, which are parsed together. */
type RowGroup = { readonly start: number; end: number; count: number }

/** Checks rows while the body is scanned: until its end, the body may still turn out not to be JSON. */
class CheckedRows {
  readonly #body: Buffer
  readonly #validate: (row: unknown) => readonly BodyProblem[]
  readonly #isArray: boolean
  #waiting: RowGroup[] = []
  #index = 0
  readonly #found: BodyProblem[] = []
  #hasTooManyValues = false

  constructor(body: Buffer, table: TableBodies, { action, contentType, namedColumns }: RequestHead) {
    const isUpdate = action.kind === 'mutate' && action.mutation === 'update'
    const isText = contentType.kind !== 'json'
    this.#body = body
    this.#isArray = body[firstSign(body)] === 0x5b
    this.#validate = (row) =>
      (isUpdate ? table.validateUpdate : table.validateInsert)(namedColumns ? pick(row, namedColumns) : row, isText)
  }

  /** Call it with the position of each row. */
  readonly add = (start: number, end: number): void => {
    const last = this.#waiting.at(-1)
    if (last && last.count < rowsAtOnce && end - last.start <= bytesAtOnce) {
      last.end = end
      last.count += 1
    } else this.#waiting.push({ start, end, count: 1 })
  };

  /** Checks the rows that were added. Yields the memory of the body after each group. */
  *check(): Generator<number, void> {
    for (const group of this.#waiting.splice(0)) {
      if (this.#isDone) return
      this.#checkGroup(group)
      yield this.#body.length
    }
  }

  get #isDone(): boolean {
    return this.#hasTooManyValues || this.#found.length >= mostProblems
  }

  #checkGroup({ start, end }: RowGroup): void {
    // A value has a sign, so that a group with too many is a long row.
    this.#hasTooManyValues = end - start > mostSigns && hasMoreSigns(this.#body.subarray(start, end), mostSigns)
    if (this.#hasTooManyValues) return
    for (const row of JSON.parse(`[${this.#body.toString('utf8', start, end)}]`) as unknown[]) {
      const at = this.#isArray ? `/${this.#index}` : ''
      for (const { pointer, message } of this.#validate(row)) this.#found.push({ pointer: at + pointer, message })
      this.#index += 1
      if (this.#isDone) return
    }
  }

  /**
   * The problems of the first rows that have some.
   *
   * @throws ApiError PGRST102 for a row with too many values
   */
  problems(): readonly BodyProblem[] {
    if (this.#hasTooManyValues) throw errors.tooManyValues(mostSigns)
    const isCut = this.#found.length >= mostProblems
    return isCut ? [...this.#found, { pointer: '', message: 'may have more faults' }] : this.#found
  }
}

/** Position of the first sign that is no space. */
function firstSign(body: Buffer): number {
  let at = 0
  while (body[at] === 0x20 || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at += 1
  return at
}
