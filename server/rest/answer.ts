// Runs the stages of a request in order: parse, plan, build SQL, run, respond. Each stage has its own folder.
import type { Identity } from '../identity/identity.ts'
import { ApiError } from './errors.ts'
import { firstOf, type Answered, type AnswerContext, type Prepared } from './extension.ts'
import { inspectDocument, inspectStatements } from './openapi/inspect.ts'
import type { LegacyName } from './plan/embed-path.ts'
import { legacyTargetNames } from './plan/planner.ts'
import type { CrudPlan } from './plan/plan.ts'
import { prepare, prepareWithoutVersion } from './cache/prepare.ts'
import type { RoleColumns } from './extensions/readable-columns/starred.ts'
import type { HttpRequest } from './request/api-request.ts'
import { respondInfo } from './response/info.ts'
import { respond, respondInspect } from './response/respond.ts'
import type { RestResponse, ResultRow } from './response/result.ts'
import { drop, run, runCrud } from './run-plan.ts'

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
  const answered = execute(prepared, http, identity, context, timer, parseTime)
  const { plan } = prepared
  // A function that runs before or within the read may have effects that a rollback does not undo.
  const mayRepeat = prepared.hasNoEffect && context.snapshot.mayRepeatPreRequest
  if (plan.kind !== 'read' || !plan.version || !mayRepeat) return answered
  return answered.catch((error: unknown) => {
    // Privileges may have changed since the schema cache was loaded: reading the version requires one on the table.
    if (!(error instanceof ApiError) || error.code !== '42501') throw error
    const again = prepareWithoutVersion(http, columns ? { ...context, readableColumns: columns } : context)
    if (again instanceof ApiError) throw again
    return execute(again, http, identity, context, timer, parseTime).catch((second: unknown) => {
      // In a transaction of several requests, nothing can follow an error.
      if (second instanceof ApiError && second.code !== inFailedTransaction) throw second
      throw error
    })
  })
}

async function execute(
  prepared: Prepared,
  http: HttpRequest,
  identity: Identity,
  context: AnswerContext,
  timer: StageTimer,
  parseTime: number,
): Promise<Answered> {
  const { snapshot, schemaCache: cache, extensions, basePath, authenticationTime } = context
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
      const mountPath = basePath === '' ? '/' : basePath
      const isRated = snapshot.isRated(identity)
      const document = inspectDocument(plan, rows, cache, config, mountPath, isRated)
      response = respondInspect(plan, document, request.shape)
      for (const change of extensions.respondDocument) response = change(response, request)
      break
    }
    default: {
      const executed = firstOf(extensions.execute, plan, prepared, http, identity, context)
      if (executed) {
        response = await executed
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

/** The response to a plan that was run. */
export function respondTo(plan: CrudPlan, row: ResultRow, prepared: Prepared, context: AnswerContext): RestResponse {
  let response = respond(plan, row, prepared.request, context.snapshot.config, context.basePath)
  for (const change of context.extensions.respond) response = change(response, plan, row, prepared, context)
  return response
}

export const legacyText = (names: readonly LegacyName[]): string =>
  `parameters refer to embeds by the names of their relations, which is deprecated for embeds with an alias: use ${names
    .map(({ name, alias }) => `${alias} instead of ${name}`)
    .join(', ')
    .slice(0, 1000)}`
