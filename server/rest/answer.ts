// Runs the stages of a request in order: parse, plan, build SQL, run, respond. Each stage has its own folder.
import {
  admissionStatements,
  refusalOf,
  repeatedResponse,
  requestOnce,
  ResponseOnce,
} from './extensions/idempotency/answer-once.ts'
import type { PipelineStatement, TransactionResult } from './database.ts'
import type { Identity } from '../identity/identity.ts'
import { respondRowByKey } from './extensions/rows-by-key/row-by-key-response.ts'
import { ApiError } from './errors.ts'
import type { RowBody } from './extensions/exports/row-body.ts'
import { streamRows } from './extensions/exports/stream-rows.ts'
import { inspectDocument, inspectStatements } from './openapi/inspect.ts'
import type { LegacyName } from './plan/embed-path.ts'
import { legacyTargetNames } from './plan/planner.ts'
import type { CrudPlan } from './plan/plan.ts'
import { prepare, prepareWithoutVersion, type Prepared } from './cache/prepare.ts'
import { isStreamable } from './extensions/exports/streamable.ts'
import type { RoleColumns } from './extensions/readable-columns/starred.ts'
import type { HttpRequest } from './request/api-request.ts'
import type { IdempotentRequest } from './extensions/idempotency/idempotency-key.ts'
import type { Notices } from './response/finish.ts'
import { respondInfo } from './response/info.ts'
import { withPageHeaders } from './extensions/keyset-pages/page-links.ts'
import { respond, respondInspect } from './response/respond.ts'
import type { RestResponse, ResultRow } from './response/result.ts'
import { addDocumentValidator, addValidator } from './extensions/conditional-requests/validator.ts'
import { drop, rowOf, run, runCrud } from './run-plan.ts'
import { storedStatements } from './extensions/idempotency/stored-response.ts'
import type { AnswerContext } from './answer-context.ts'

/** Returns the milliseconds since its previous call. */
type StageTimer = () => number

function startTimer(): StageTimer {
  let last = performance.now()
  return () => {
    const now = performance.now()
    const elapsed = now - last
    last = now
    return elapsed
  }
}

const noTimer: StageTimer = () => 0

const inFailedTransaction = '25P02'

export type Answered = { readonly response: RestResponse; readonly notices: Notices }

/**
 * Answers a request that acts as an identity. Errors found before a database round trip are returned synchronously.
 *
 * @throws ApiError as a rejection, for errors of the database and of its result
 */
export function answer(http: HttpRequest, identity: Identity, context: AnswerContext): Promise<Answered> | ApiError {
  const { readableColumns, config } = context.snapshot
  if (!readableColumns) return answerWith(undefined, http, identity, context)
  const attempt = (columns: RoleColumns) => answerWith(columns, http, identity, context)
  return readableColumns.answer(identity.role, config.dbPreRequest === null, attempt)
}

/** @param columns the columns that the role may read, if `*` depends on them */
function answerWith(
  columns: RoleColumns | undefined,
  http: HttpRequest,
  identity: Identity,
  context: AnswerContext,
): Promise<Answered> | ApiError {
  const timer = context.authenticationTime === undefined ? noTimer : startTimer()
  let parseTime = 0
  const prepared = prepare(http, context, () => (parseTime = timer()), columns)
  if (prepared instanceof ApiError) return prepared
  const once = context.idempotencyKey === undefined ? undefined : requestOnce(http, prepared.plan, identity, context)
  const answered = execute(prepared, once, identity, context, timer, parseTime)
  const { plan } = prepared
  // A function that runs before or within the read may have effects that a rollback does not undo.
  const mayRepeat = prepared.hasNoEffect && context.snapshot.mayRepeatPreRequest
  if (plan.kind !== 'read' || !plan.version || !mayRepeat) return answered
  return answered.catch((error: unknown) => {
    // Privileges may have changed since the schema cache was loaded: reading the version requires one on the table.
    if (!(error instanceof ApiError) || error.code !== '42501') throw error
    const again = prepareWithoutVersion(http, columns ? { ...context, readableColumns: columns } : context)
    if (again instanceof ApiError) throw again
    return execute(again, once, identity, context, timer, parseTime).catch((second: unknown) => {
      // In a transaction of several requests, nothing can follow an error.
      if (second instanceof ApiError && second.code !== inFailedTransaction) throw second
      throw error
    })
  })
}

async function execute(
  prepared: Prepared,
  once: IdempotentRequest | undefined,
  identity: Identity,
  context: AnswerContext,
  timer: StageTimer,
  parseTime: number,
): Promise<Answered> {
  const { snapshot, schemaCache: cache, basePath, authenticationTime } = context
  const { config } = snapshot
  const { request, plan } = prepared
  if (plan.kind === 'call') context.trace.route = `rpc/${plan.relation.name}`
  else if (plan.kind === 'read' || plan.kind === 'mutate') context.trace.route = plan.relation.name
  const planTime = timer()

  let response: RestResponse
  let transaction = 0
  switch (plan.kind) {
    case 'relation-info':
    case 'routine-info':
    case 'schema-info':
      response = respondInfo(plan, cache)
      break
    case 'inspect': {
      const { rows } = await run(plan, prepared, identity, context, inspectStatements(plan, config))
      transaction = timer()
      response = addDocumentValidator(
        respondInspect(
          plan,
          inspectDocument(plan, rows, cache, config, basePath === '' ? '/' : basePath, snapshot.isRated(identity)),
          request.shape,
        ),
        request,
      )
      break
    }
    default: {
      if (once) {
        response = await answerOnce(once, plan, prepared, identity, context)
        transaction = timer()
        break
      }
      const { exports: slots } = context
      if (slots && config.restExportLimit > 0 && !prepared.tableShape && isStreamable(plan, request.shape)) {
        const runRows = (statements: readonly PipelineStatement[], receiver: RowBody): Promise<TransactionResult> =>
          run(plan, prepared, identity, { ...context, caller: receiver }, statements, { receiver, main: statements[0] })
        const { caller } = context
        response = await streamRows(plan, request, { config, basePath, slots, caller, run: runRows })
        transaction = timer()
        break
      }
      const row = await runCrud(plan, prepared, identity, context)
      transaction = timer()
      try {
        response = respondTo(plan, row, prepared, context)
      } catch (error) {
        drop(row.body)
        throw error
      }
      if (response.body !== row.body) drop(row.body)
    }
  }
  const timing =
    authenticationTime === undefined
      ? undefined
      : { jwt: authenticationTime, parse: parseTime, plan: planTime, transaction, response: timer() }
  const legacy = config.urlUseLegacyTargetNames ? legacyTargetNames(plan) : []
  if (legacy.length > 0) context.trace.warning = legacyText(legacy)
  return { response, notices: { timing, legacy } }
}

function respondTo(
  plan: CrudPlan,
  row: ResultRow,
  { request, tableShape }: Prepared,
  { basePath, snapshot }: AnswerContext,
): RestResponse {
  let response = respond(plan, row, request, snapshot.config, basePath)
  if (row.location.length > 0 && plan.kind !== 'mutate') {
    response = withPageHeaders(response, plan, row, request.input.page, snapshot.cursors)
  }
  if (tableShape) response = respondRowByKey(response, plan, row, tableShape)
  return addValidator(response, plan, row, request, snapshot.config)
}

/** Answers a request with an Idempotency-Key. */
async function answerOnce(
  request: IdempotentRequest,
  plan: CrudPlan,
  prepared: Prepared,
  identity: Identity,
  context: AnswerContext,
): Promise<RestResponse> {
  const { config } = context.snapshot
  const once = new ResponseOnce(request, config, (results) =>
    respondTo(plan, rowOf(plan, prepared, results), prepared, context),
  )
  try {
    const row = await runCrud(plan, prepared, identity, context, once.claim)
    return once.response ?? respondTo(plan, row, prepared, context)
  } catch (error) {
    const reason = refusalOf(error)
    if (!reason) throw error
    // Who may not execute the request any more gets no response of it.
    const statements = [...admissionStatements(prepared), ...storedStatements(request)]
    return repeatedResponse(
      request,
      reason,
      config,
      async () => (await run(plan, prepared, identity, context, statements)).rows,
    )
  }
}

export const legacyText = (names: readonly LegacyName[]): string =>
  `parameters refer to embeds by the names of their relations, which is deprecated for embeds with an alias: use ${names
    .map(({ name, alias }) => `${alias} instead of ${name}`)
    .join(', ')
    .slice(0, 1000)}`
