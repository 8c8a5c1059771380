// Answers imports: reads the rows of a body one after the other, and writes them in one transaction.
import { setImmediate } from 'node:timers/promises'
import { legacyText } from '../../answer.ts'
import { firstOf, type AnswerContext, type Answered } from '../../extension.ts'
import { requestTransaction } from '../../request-transaction.ts'
import { checksOf } from '../../run-plan.ts'
import type { PipelineStatement, RestTransaction, StagedRows } from '../../database.ts'
import type { RawRow } from '../../row-transfer.ts'
import { ApiError, errors, withLine } from '../../errors.ts'
import type { Identity } from '../../../identity/identity.ts'
import { ImportProgress, type ImportEvent } from './import-progress.ts'
import { ImportSlots, type ImportSlot, type ImportSlotsOptions } from './import-slots.ts'
import type { ImportBody } from './import-body.ts'
import { legacyTargetNames, planRequest } from '../../plan/planner.ts'
import type { CrudPlan } from '../../plan/plan.ts'
import type { RoleColumns } from '../readable-columns/starred.ts'
import type { ApiRequest, HttpRequest } from '../../request/api-request.ts'
import { jsonColumnsOf } from '../../request/csv-json.ts'
import { CsvReader } from './csv-rows.ts'
import { readHeaders } from '../../request/headers.ts'
import type { ImportRow, RowReader, RowReaderOptions } from './import-rows.ts'
import { NdjsonReader } from './ndjson.ts'
import { parseApiRequest, parseRequestHead } from '../../request/parse-api-request.ts'
import { rowCheck, type RowCheck } from '../../request/payload-check.ts'
import { needsResultCheck, resultError } from '../../response/result-check.ts'
import { explainBody, readResult, resultFormatsOf, returnsVersion } from '../../response/result-row.ts'
import { respond } from '../../response/respond.ts'
import type { ResultRow } from '../../response/result.ts'
import { serverError, transactionError } from '../../sql-errors.ts'
import { CopyData } from './copy-data.ts'
import { render } from '../../sql/fragment.ts'
import { analyzeStaging, copyStaging, createStaging, stagedSql, stagingTable } from './staging.ts'
import { mainStatement } from '../../sql/statement.ts'

type MutatePlan = CrudPlan & { readonly kind: 'mutate' }
type Written = { readonly plan: MutatePlan; readonly rows: readonly RawRow[] }

/** The imports of the process. */
export class Imports {
  readonly #slots: ImportSlots
  readonly #report: (event: ImportEvent) => void

  constructor(options: ImportSlotsOptions & { readonly report: ((event: ImportEvent) => void) | undefined }) {
    this.#slots = new ImportSlots(options)
    this.#report = options.report ?? (() => undefined)
  }

  /**
   * Answers an import that acts as an identity.
   *
   * @param http the request without its body
   * @throws ApiError for any fault of the request, the body or the database, with the line of the body if it has one
   */
  async answer(body: ImportBody, http: HttpRequest, identity: Identity, context: AnswerContext): Promise<Answered> {
    let slot: ImportSlot | undefined
    try {
      // Without its tables the key has no effect on any request.
      if (context.idempotencyKey !== undefined && context.schemaCache.keepsResponses) throw errors.importKey()
      slot = await this.#slots.take(context.caller, userOf(identity))
      return await new Import(body, slot, http, identity, context, this.#report).run()
    } finally {
      body.stop()
      slot?.release()
    }
  }
}

/** A text that is different for each user. Callers without one are users by their role. */
const userOf = ({ role, claims, key }: Identity): string =>
  JSON.stringify([role, claims.sub ?? null, key?.keyId ?? null])

/** insufficient_privilege */
const insufficientPrivilege = '42501'
const emptyArray = Buffer.from('[]')

const resultOf = (plan: MutatePlan, rows: readonly RawRow[]): ResultRow =>
  readResult(plan.kind, rows, undefined, returnsVersion(plan))

/** Parses everything but the body. Its type is that of JSON, because the rows are inserted as those of a JSON array. */
function parseHead(http: HttpRequest, context: AnswerContext): ApiRequest {
  const headers = http.headers.filter(([name]) => name !== 'content-type')
  const { config } = context.snapshot
  const bodied = { ...http, headers, body: emptyArray }
  const { request } = parseApiRequest(bodied, config, parseRequestHead(bodied, config, context.extensions.parameter))
  return { ...request, input: { ...request.input, headers: readHeaders(http.headers).others } }
}

class Import {
  readonly #body: ImportBody
  readonly #slot: ImportSlot
  readonly #identity: Identity
  readonly #context: AnswerContext
  readonly #request: ApiRequest
  readonly #progress: ImportProgress
  readonly #reader: RowReader
  readonly #check: RowCheck | undefined
  readonly #data = new CopyData()
  readonly #table = stagingTable()
  #rows = 0
  #isRead = false
  #firstKeys: readonly string[] = []

  constructor(
    body: ImportBody,
    slot: ImportSlot,
    http: HttpRequest,
    identity: Identity,
    context: AnswerContext,
    report: (event: ImportEvent) => void,
  ) {
    this.#body = body
    this.#slot = slot
    this.#identity = identity
    this.#context = context
    const request = (this.#request = parseHead(http, context))
    const { action } = request.shape
    const relation = action.kind === 'mutate' ? action.relation : { schema: '', name: '' }
    this.#progress = new ImportProgress(`${relation.schema}.${relation.name}`, report)
    const keysAreNamed = body.format === 'ndjson' && request.shape.namedColumns !== undefined
    this.#check = rowCheck(
      context.validator.forTable(relation.schema, relation.name),
      keysAreNamed ? request.shape.columns : undefined,
      body.format === 'csv',
    )
    const { restBodyLimit } = context.snapshot.config
    const options: RowReaderOptions = {
      rowLimit: restBodyLimit,
      keysAreNamed,
      onRow: (row) => this.#addRow(row),
      tooLarge: (line) => errors.importRow(restBodyLimit, line),
    }
    this.#reader =
      body.format === 'csv'
        ? new CsvReader(options, jsonColumnsOf(action, context.schemaCache))
        : new NdjsonReader(options)
  }

  async run(): Promise<Answered> {
    const start = performance.now()
    try {
      // The keys of the first row are the columns of the statement.
      while (this.#rows === 0 && !this.#isRead) await this.#readPiece()
      const parsed = performance.now()
      let planned = parsed
      const write = async (columns?: RoleColumns): Promise<Written> => {
        const plan = this.#plan(columns)
        this.#context.trace.route = plan.relation.name
        planned = performance.now()
        return { plan, rows: await this.#write(plan) }
      }
      const { plan, rows } = await this.#withReadableColumns(write)
      const written = performance.now()
      const answered = this.#respond(plan, rows)
      const { authenticationTime: jwt } = this.#context
      const timing =
        jwt === undefined
          ? undefined
          : {
              jwt,
              parse: parsed - start,
              plan: planned - parsed,
              transaction: written - planned,
              response: performance.now() - written,
            }
      this.#progress.end('done')
      return { ...answered, notices: { ...answered.notices, timing } }
    } catch (error) {
      this.#progress.end('failed')
      throw error
    }
  }

  /** Reads a piece of the body, or its end. */
  async #readPiece(): Promise<void> {
    const { representation } = this.#request.shape.preferences
    const piece = await this.#slot.receive(() => this.#body.next())
    if (piece) {
      await this.#reader.push(piece)
      // Pieces that have arrived follow each other at once.
      await setImmediate()
    } else {
      await this.#reader.end()
      this.#isRead = true
    }
    const { restBodyLimit } = this.#context.snapshot.config
    // The database would have the whole representation in memory.
    if (representation === 'representation' && this.#body.bytes > restBodyLimit) {
      throw errors.importRepresentation(restBodyLimit)
    }
    this.#progress.record(this.#rows, this.#body.bytes)
  }

  #addRow(row: ImportRow): void {
    if (this.#rows === 0) this.#firstKeys = row.keys()
    this.#check?.(row.value())
    this.#data.add(row.line, row.json)
    this.#rows++
  }

  /** Plans with the columns that the role may read, if `*` depends on them. They are checked before the COPY begins. */
  async #withReadableColumns(write: (columns?: RoleColumns) => Promise<Written>): Promise<Written> {
    const { readableColumns, config } = this.#context.snapshot
    if (!readableColumns) return write()
    const outcome = await readableColumns.answer(this.#identity.role, config.dbPreRequest === null, write)
    if (outcome instanceof ApiError) throw outcome
    return outcome
  }

  #plan(columns: RoleColumns | undefined): MutatePlan {
    const { schemaCache: cache, snapshot, extensions } = this.#context
    const { shape } = this.#request
    const isNamed = this.#body.format === 'ndjson' && shape.namedColumns !== undefined
    const request = { ...this.#request, shape: { ...shape, columns: isNamed ? shape.columns : this.#firstKeys } }
    const plan = planRequest(
      request,
      cache,
      columns ? { ...snapshot.config, readableColumns: columns } : snapshot.config,
      extensions,
    )
    if (plan.kind !== 'mutate') throw new Error('an import is planned as a write')
    return plan
  }

  async *#copyData(): AsyncGenerator<Buffer> {
    while (!this.#isRead) {
      if (this.#data.length > 0) yield this.#data.take()
      await this.#readPiece()
    }
    this.#data.finish()
    yield this.#data.take()
  }

  /** The statement that writes the rows of some lines. */
  #statement(plan: MutatePlan, after: number, last: number): PipelineStatement {
    const { config } = this.#context.snapshot
    const { mutate } = plan
    if (mutate.kind !== 'insert') throw new Error('an import inserts')
    const staged = { ...plan, mutate: { ...mutate, staged: { table: this.#table, after, last, sql: stagedSql } } }
    const { text, values } = render(mainStatement(staged, this.#request.shape, config))
    return { text, values, isUnprepared: true, ...(plan.explain ? {} : { resultFormats: resultFormatsOf(plan) }) }
  }

  async #write(plan: MutatePlan): Promise<readonly RawRow[]> {
    const { database, extensions, snapshot } = this.#context
    const { config } = snapshot
    const rows: StagedRows = {
      create: createStaging(this.#table).map((text) => ({ text, values: [], isUnprepared: true })),
      copy: copyStaging(this.#table),
      data: this.#copyData(),
      lastLine: () => this.#reader.line,
      write: (after, last) => this.#statement(plan, after, last),
      analyze: { text: analyzeStaging(this.#table), values: [], isUnprepared: true },
      precheck: (write) => firstOf(extensions.precheck, write, undefined, config),
    }
    try {
      if (!database.importRows) throw new Error('the database cannot import')
      const result = await database.importRows(this.#transaction(plan), rows)
      return result.rows[0] ?? []
    } catch (error) {
      const server = serverError(error)
      if (server?.isOfStaging && server.code === insufficientPrivilege) throw errors.importPrivilege(error)
      const failure: ApiError = transactionError(error, this.#identity.role !== config.dbAnonRole)
      throw withLine(failure, failure.line ?? server?.bodyLine)
    }
  }

  #transaction(plan: MutatePlan): RestTransaction {
    const request = this.#request
    const { shape } = request
    const checkResult = needsResultCheck(plan, shape)
      ? ([rows = []]: readonly (readonly RawRow[])[]) => resultError(plan, resultOf(plan, rows), shape)
      : undefined
    const written = [this.#statement(plan, 0, 0)]
    const checks = checksOf(plan, this.#context)
    return requestTransaction(plan, request, this.#identity, this.#context, written, { checkResult, checks })
  }

  #respond(plan: MutatePlan, rows: readonly RawRow[]): Answered {
    const { snapshot, basePath, trace } = this.#context
    const { config } = snapshot
    const row = plan.explain ? { ...readResult(plan.kind, []), body: explainBody(rows) } : resultOf(plan, rows)
    const response = respond(plan, row, this.#request, config, basePath)
    const legacy = config.urlUseLegacyTargetNames ? legacyTargetNames(plan) : []
    if (legacy.length > 0) trace.warning = legacyText(legacy)
    return { response, notices: { timing: undefined, legacy } }
  }
}
