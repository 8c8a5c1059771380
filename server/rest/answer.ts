// Runs the stages of a request in order: parse, plan, build SQL, run, respond. Each stage has its own folder.
import { refusalOf, repeatedResponse, requestOnce, ResponseOnce } from './answer-once.ts'
import type {
  Caller,
  Claim,
  Database,
  PipelineStatement,
  RestTransaction,
  RawRow,
  TransactionResult,
} from './database.ts'
import type { Identity } from '../identity/identity.ts'
import type { Snapshot } from './snapshot.ts'
import type { IsolationLevel } from '../schema-cache/routine.ts'
import type { SchemaCache } from '../schema-cache/schema-cache.ts'
import type { BodyValidator } from './validation.ts'
import { respondRowByKey } from './response/row-by-key.ts'
import { ApiError } from './errors.ts'
import type { ExportSlots } from './export/export-slots.ts'
import type { RowBody } from './export/row-body.ts'
import { streamRows } from './export/stream-rows.ts'
import { inspectDocument, inspectStatements } from './openapi/inspect.ts'
import type { LegacyName } from './plan/embed-path.ts'
import { legacyTargetNames } from './plan/planner.ts'
import type { CrudPlan, InspectPlan } from './plan/plan.ts'
import { prepare, prepareWithoutVersion, type Prepared } from './cache/prepare.ts'
import type { NestedWrite } from './cache/prepare-nested.ts'
import { isStreamable } from './plan/streamable.ts'
import { starredRelations, type RoleColumns } from './plan/starred.ts'
import type { HttpRequest } from './request/api-request.ts'
import type { IdempotentRequest } from './request/idempotency-key.ts'
import type { Notices } from './response/finish.ts'
import { locateError, unmatchedError } from './response/nested-path.ts'
import { preconditionError, probeOf } from './response/precondition.ts'
import { needsResultCheck, resultError } from './response/result-check.ts'
import { costCheck } from './response/cost-check.ts'
import { respondInfo } from './response/info.ts'
import { explainBody, readResult, resultFormatsOf, returnsVersion } from './response/result-row.ts'
import { withPageHeaders } from './response/page-links.ts'
import { respond, respondInspect } from './response/respond.ts'
import { isStreamed, type Body, type RestResponse, type ResultRow } from './response/result.ts'
import { plannedRows, tableTotal } from './response/total.ts'
import { addDocumentValidator, addValidator } from './response/validator.ts'
import { failedStatement, transactionError } from './sql-errors.ts'
import { render } from './sql/fragment.ts'
import { readableColumnsStatement } from './sql/readable-columns.ts'
import { namedSession } from './sql/session.ts'
import { preRequestStatement } from './sql/settings.ts'
import { storedStatements } from './sql/stored-response.ts'
import { explainCountStatement, needsPlannedCount } from './sql/statement.ts'

export type AnswerContext = {
  readonly database: Database
  /** Who waits for the response. */
  readonly caller: Caller
  readonly snapshot: Snapshot
  readonly schemaCache: SchemaCache
  readonly validator: BodyValidator
  /** Mount path without a slash at its end. */
  readonly basePath: string
  /** Duration of the authentication in milliseconds; undefined when stages are not timed. */
  readonly authenticationTime: number | undefined
  /** The header `Idempotency-Key` of a POST or PATCH request. */
  readonly idempotencyKey: string | undefined
  /**
   * Counts further requests against the limits of the caller; undefined without limits.
   *
   * @throws ApiError PGRSTX80, as a rejection
   */
  readonly countRequests?: ((count: number) => Promise<void>) | undefined
  readonly trace: AnswerTrace
  /** Places for responses that are streamed row by row; undefined when no response may be. */
  readonly exports: ExportSlots | undefined
}

/** Collects data for logs and metrics while a request runs. */
export type AnswerTrace = {
  /** Name of the relation or function, once it is known to exist. */
  route: string | undefined
  /** Texts of the statements; undefined when they are not logged. */
  readonly statements: string[] | undefined
  /** Describes deprecated features that the request uses. */
  warning: string | undefined
}

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
  if (prepared.plan.kind !== 'read' || !prepared.plan.version) return answered
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

/** The row of the main statement, which follows the statements of a nested write. */
function rowOf(plan: CrudPlan, { nested }: Prepared, results: readonly (readonly RawRow[])[]): ResultRow {
  return readResult(plan.kind, (nested ? results.at(-1) : results[0]) ?? [], undefined, returnsVersion(plan))
}

/** Answers a request with an Idempotency-Key. */
async function answerOnce(
  request: IdempotentRequest,
  plan: CrudPlan,
  prepared: Prepared,
  identity: Identity,
  context: AnswerContext,
): Promise<RestResponse> {
  const once = new ResponseOnce(request, (results) =>
    respondTo(plan, rowOf(plan, prepared, results), prepared, context),
  )
  try {
    const row = await runCrud(plan, prepared, identity, context, once.claim)
    return once.response ?? respondTo(plan, row, prepared, context)
  } catch (error) {
    const reason = refusalOf(error)
    if (!reason) throw error
    const statements = storedStatements(request)
    return repeatedResponse(
      request,
      reason,
      async () => (await run(plan, prepared, identity, context, statements)).rows,
    )
  }
}

/** Discards a body that will not be sent, to free the connection that it is streamed from. */
const drop = (body: Body): void => {
  if (isStreamed(body)) body.drop()
}

const noStatement = (): never => {
  throw new Error('a plan that reads or writes has no statement')
}

export const legacyText = (names: readonly LegacyName[]): string =>
  `parameters refer to embeds by the names of their relations, which is deprecated for embeds with an alias: use ${names
    .map(({ name, alias }) => `${alias} instead of ${name}`)
    .join(', ')
    .slice(0, 1000)}`

/** Whether the statement may share a connection. A volatile function may have effects outside its transaction. */
const mayShare = (plan: CrudPlan): boolean => plan.kind !== 'call' || plan.routine.volatility !== 'volatile'

async function runCrud(
  plan: CrudPlan,
  prepared: Prepared,
  identity: Identity,
  context: AnswerContext,
  claim?: Claim,
): Promise<ResultRow> {
  const { config } = context.snapshot
  const { request, main = noStatement(), stats } = prepared
  if (plan.explain) {
    const { rows, arriving } = await run(plan, prepared, identity, context, [main], { main })
    // A large plan in JSON is one field, which is streamed.
    return { ...readResult(plan.kind, []), body: arriving ?? explainBody(rows[0] ?? []) }
  }
  if (prepared.nested) return runNested(prepared.nested, plan, prepared, identity, context, claim)
  const statements: PipelineStatement[] = [
    { text: main.text, values: main.values, resultFormats: resultFormatsOf(plan) },
  ]
  const planned = needsPlannedCount(plan, request.shape)
  if (planned) statements.push({ ...render(explainCountStatement(plan.read)), isUnprepared: true })
  const probe = probeOf(plan)
  if (probe) statements.push(probe)
  const hasVersion = returnsVersion(plan)
  const checkResult = (results: readonly (readonly RawRow[])[]): ApiError | undefined => {
    const row = rowOf(plan, prepared, results)
    return preconditionError(plan, row, results[1], prepared) ?? resultError(plan, row, request.shape)
  }
  // Only a rejected write needs a rollback, so only writes are checked before the transaction ends.
  const checksInTransaction = !plan.readOnly && needsResultCheck(plan, request.shape)
  const { rows, arriving } = await run(plan, prepared, identity, context, statements, {
    checkResult: checksInTransaction ? checkResult : undefined,
    stats: mayShare(plan) && !claim ? stats : undefined,
    claim,
    main,
  })
  const row = readResult(plan.kind, rows[0] ?? [], arriving, hasVersion)
  const error = checksInTransaction ? undefined : resultError(plan, row, request.shape)
  if (error) {
    drop(row.body)
    throw error
  }
  if (!planned) return row
  const estimate = plannedRows(rows[1]?.[0]?.[0]?.toString() ?? 'null')
  return { ...row, tableTotal: tableTotal(request.shape.preferences.count, row.tableTotal, estimate, config.dbMaxRows) }
}

/** Runs the statements of a nested write before the main statement, which reads the written rows. */
async function runNested(
  { steps, statements }: NestedWrite,
  plan: CrudPlan,
  prepared: Prepared,
  identity: Identity,
  context: AnswerContext,
  claim: Claim | undefined,
): Promise<ResultRow> {
  const { request, main = noStatement() } = prepared
  const { rows } = await run(
    plan,
    prepared,
    identity,
    context,
    [...statements, { ...main, resultFormats: resultFormatsOf(plan) }],
    {
      checkResult: (results) =>
        unmatchedError(results, steps) ?? resultError(plan, rowOf(plan, prepared, results), request.shape),
      claim,
      main,
    },
  )
  return rowOf(plan, prepared, rows)
}

/** The isolation level that a plan needs; null for read committed. */
export function isolationOf(
  plan: CrudPlan | InspectPlan,
  { role }: Identity,
  snapshot: Snapshot,
): IsolationLevel | null {
  const level = plan.kind === 'call' ? plan.routine.isolationLevel : null
  const wanted = level ?? snapshot.roleSettings.isolationLevels.get(role) ?? null
  return wanted === 'read committed' ? null : wanted
}

type RunOptions = { -readonly [K in 'checkResult' | 'stats' | 'claim' | 'receiver']?: RestTransaction[K] } & {
  /** The statement whose cost is limited. */
  main?: PipelineStatement | undefined
}

/** Runs the statements of a plan in the request's transaction. */
async function run(
  plan: CrudPlan | InspectPlan,
  { request, hasNoEffect, nested }: Prepared,
  identity: Identity,
  { database, caller, snapshot, schemaCache: cache, trace }: AnswerContext,
  statements: readonly PipelineStatement[],
  { checkResult, stats, claim, receiver, main }: RunOptions = {},
): Promise<TransactionResult> {
  const { config } = snapshot
  const session = cache.checksSessions ? namedSession(identity) : undefined
  const settings = snapshot.settings.statement(identity, request, plan, session)
  const called = config.dbPreRequest ? render(preRequestStatement(config.dbPreRequest)) : undefined
  const starred = snapshot.readableColumns ? starredRelations(plan) : []
  const columnsCheck = starred.length === 0 ? undefined : readableColumnsStatement(starred)
  // The function may switch to another role, so it runs before the check.
  const preRequest = called ?? columnsCheck
  const checks = called && columnsCheck ? [columnsCheck] : []
  const { dbMaxCost } = config
  const precheck = dbMaxCost === null || main === undefined ? undefined : costCheck(main, dbMaxCost)
  if (trace.statements) {
    const before = [settings, ...(preRequest ? [preRequest] : []), ...(precheck ? [precheck.statement] : [])]
    for (const { text } of [...before, ...checks, ...statements]) trace.statements.push(text)
  }
  const { transaction } = request.shape.preferences
  try {
    const result = await database.run(
      {
        settings,
        preRequest,
        statements: checks.length === 0 ? statements : [...checks, ...statements],
        isolation: isolationOf(plan, identity, snapshot),
        readOnly: plan.readOnly,
        hasNoEffect: called === undefined && hasNoEffect,
        rollback: transaction === 'rollback' || (config.dbTxEnd.startsWith('rollback') && transaction !== 'commit'),
        checkResult: checkResult && ((results) => checkResult(results.slice(checks.length))),
        claim: claim && { ...claim, record: (results) => claim.record(results.slice(checks.length)) },
        precheck,
        stats,
        receiver,
        caller,
      },
      { prepare: config.dbPreparedStatements, sharing: config.dbPoolSharing },
    )
    return checks.length === 0 ? result : { ...result, rows: result.rows.slice(checks.length) }
  } catch (error) {
    if (claim && refusalOf(error)) throw error
    const rejection = transactionError(error, identity.role !== config.dbAnonRole)
    const step = nested?.steps[(failedStatement(error) ?? -1) - checks.length]
    throw step ? locateError(rejection, step) : rejection
  }
}
