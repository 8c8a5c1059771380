// A request's way through the stages: parse, plan, build SQL, run, respond. Only composition; each stage has its room.
import type pg from 'pg'
import { StatementError, type PipelineStatement, type Row } from '../database/pipeline.ts'
import type { Identity } from '../identity/identity.ts'
import type { Snapshot } from '../runtime.ts'
import type { IsolationLevel } from '../schema-cache/routine.ts'
import type { SchemaCache } from '../schema-cache/schema-cache.ts'
import type { Validator } from '../validation/validator.ts'
import { answerAddressed, planAddressed } from './addressed-row.ts'
import { ApiError } from './errors.ts'
import { inspectDocument, inspectStatements } from './openapi/inspect.ts'
import { bodyTypeFault, checkPayload } from './payload-check.ts'
import { legacyTargetNames, planRequest } from './plan/planner.ts'
import type { LegacyName } from './plan/embed-path.ts'
import type { CrudPlan, InspectPlan } from './plan/plan.ts'
import type { ApiRequest, HttpRequest } from './request/api-request.ts'
import { parseApiRequest } from './request/parse-api-request.ts'
import { addressRow, parseRowAddress } from './request/row-address.ts'
import { complete } from './response/complete.ts'
import { mayFault, resultFault } from './response/fault.ts'
import { respondInfo } from './response/info.ts'
import { explainBody, readResult, resultFormats } from './response/result-row.ts'
import { respond, respondInspect } from './response/respond.ts'
import type { RestResponse, ResultRow } from './response/result.ts'
import { plannedRows, tableTotal } from './response/total.ts'
import { toApiError } from './sql-errors.ts'
import { render } from './sql/fragment.ts'
import { preRequestStatement, settingsStatement } from './sql/settings.ts'
import { explainCountStatement, mainStatement, needsPlannedCount } from './sql/statement.ts'
import { runTransaction } from './transaction.ts'

export type AnswerContext = {
  readonly pool: pg.Pool
  readonly snapshot: Snapshot
  readonly cache: SchemaCache
  readonly validator: Validator
  /** Mount path without a slash at its end. */
  readonly basePath: string
  /** What authenticating took, in milliseconds; undefined when stages are not timed. */
  readonly authenticationTime: number | undefined
  readonly trace: AnswerTrace
}

/** What is noted on the way for logs and metrics. */
export type AnswerTrace = {
  /** Name of the relation or function, once it is known to exist. */
  route: string | undefined
  /** Statements are noted when there is a list for them. */
  readonly statements: string[] | undefined
  /** What is deprecated in the request, in words. */
  warning: string | undefined
}

/** Measures the stages of a request one after the other, in milliseconds. */
function stopwatch(): () => number {
  let last = performance.now()
  return () => {
    const now = performance.now()
    const elapsed = now - last
    last = now
    return elapsed
  }
}

const noTime = (): number => 0

/**
 * Answers a request of an identity.
 *
 * @throws ApiError for everything that is wrong with it, or that the database refuses
 */
export async function answer(http: HttpRequest, identity: Identity, context: AnswerContext): Promise<RestResponse> {
  const { snapshot, cache, basePath, authenticationTime } = context
  const { config } = snapshot
  const lap = authenticationTime === undefined ? noTime : stopwatch()

  const address = parseRowAddress(http)
  const parsed = parse(address?.http ?? http, context)
  const request = address ? addressRow(parsed, address.id, cache) : parsed
  const parsing = lap()
  checkPayload(request, context.validator)
  const planned = planRequest(request, cache, config)
  const plan = address ? planAddressed(planned) : planned
  if (plan.kind === 'call') context.trace.route = `rpc/${plan.relation.name}`
  else if (plan.kind === 'read' || plan.kind === 'mutate') context.trace.route = plan.relation.name
  const planTime = lap()

  let response: RestResponse
  let transaction = 0
  switch (plan.kind) {
    case 'relation-info':
    case 'routine-info':
    case 'schema-info':
      response = respondInfo(plan, cache)
      break
    case 'inspect': {
      const results = await run(plan, request, identity, context, inspectStatements(plan, config))
      transaction = lap()
      response = respondInspect(plan, inspectDocument(plan, results, cache, config, config.restBasePath), request)
      break
    }
    default: {
      const row = await runCrud(plan, request, identity, context)
      transaction = lap()
      response = respond(plan, row, request, config, basePath)
      if (address) response = answerAddressed(response, plan, row, parsed)
    }
  }
  const timing =
    authenticationTime === undefined
      ? undefined
      : { jwt: authenticationTime, parse: parsing, plan: planTime, transaction, response: lap() }
  const legacy = config.urlUseLegacyTargetNames ? legacyTargetNames(plan) : []
  if (legacy.length > 0) context.trace.warning = legacyText(legacy)
  return complete(response, timing, legacy)
}

const legacyText = (names: readonly LegacyName[]): string =>
  `an embed that has an alias is addressed by the name of its relation, which is deprecated; instead of ${names
    .map(({ name, alias }) => `${name}, use ${alias}`)
    .join('; instead of ')
    .slice(0, 1000)}`

function parse(http: HttpRequest, { snapshot, validator }: AnswerContext): ApiRequest {
  try {
    return parseApiRequest(http, snapshot.config)
  } catch (error) {
    throw bodyTypeFault(error, http, snapshot.config.dbSchemas, validator)
  }
}

async function runCrud(
  plan: CrudPlan,
  request: ApiRequest,
  identity: Identity,
  context: AnswerContext,
): Promise<ResultRow> {
  const { config } = context.snapshot
  const main = render(mainStatement(plan, request, config))
  if (plan.explain) {
    const [lines] = await run(plan, request, identity, context, [main])
    return { ...readResult(plan.kind, []), body: explainBody(lines ?? []) }
  }
  const statements: PipelineStatement[] = [{ ...main, resultFormats: resultFormats }]
  const planned = needsPlannedCount(plan, request)
  if (planned) statements.push(render(explainCountStatement(plan.read)))
  const read = (results: readonly (readonly Row[])[]): ResultRow => readResult(plan.kind, results[0] ?? [])
  const judge = (results: readonly (readonly Row[])[]): ApiError | undefined =>
    resultFault(plan, read(results), request)
  // Only a write has anything to be undone for a result that may not stand.
  const undoes = !plan.readOnly && mayFault(plan, request)
  const results = await run(plan, request, identity, context, statements, undoes ? judge : undefined)
  const row = read(results)
  const fault = undoes ? undefined : resultFault(plan, row, request)
  if (fault) throw fault
  if (!planned) return row
  const estimate = plannedRows(results[1]?.[0]?.[0]?.toString() ?? 'null')
  return { ...row, tableTotal: tableTotal(request.preferences.count, row.tableTotal, estimate, config.dbMaxRows) }
}

function isolationOf(plan: CrudPlan | InspectPlan, { role }: Identity, snapshot: Snapshot): IsolationLevel | null {
  const level = plan.kind === 'call' ? plan.routine.isolationLevel : null
  const wanted = level ?? snapshot.roleSettings.isolationLevels.get(role) ?? null
  return wanted === 'read committed' ? null : wanted
}

/** Runs the statements of a plan in the request's transaction. */
async function run(
  plan: CrudPlan | InspectPlan,
  request: ApiRequest,
  identity: Identity,
  { pool, snapshot, trace }: AnswerContext,
  statements: readonly PipelineStatement[],
  judge?: (results: readonly (readonly Row[])[]) => ApiError | undefined,
): Promise<Row[][]> {
  const { config, roleSettings } = snapshot
  const before: PipelineStatement[] = [render(settingsStatement(identity, request, plan, config, roleSettings))]
  if (config.dbPreRequest) before.push(render(preRequestStatement(config.dbPreRequest)))
  if (trace.statements) for (const { text } of [...before, ...statements]) trace.statements.push(text)
  const { transaction } = request.preferences
  try {
    return await runTransaction(
      pool,
      {
        before,
        statements,
        isolation: isolationOf(plan, identity, snapshot),
        readOnly: plan.readOnly,
        rollback: transaction === 'rollback' || (config.dbTxEnd.startsWith('rollback') && transaction !== 'commit'),
        judge,
      },
      config.dbPreparedStatements,
    )
  } catch (error) {
    if (error instanceof ApiError) throw error
    const cause = error instanceof StatementError ? error.server : (error as Error)
    throw toApiError(cause, identity.role !== config.dbAnonRole)
  }
}
