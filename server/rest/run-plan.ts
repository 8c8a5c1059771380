// Runs the statements of a plan in the transaction of the request.
import type { AnswerContext } from './answer-context.ts'
import { refusalOf } from './extensions/idempotency/answer-once.ts'
import type { Claim, PipelineStatement, RawRow, TransactionResult } from './database.ts'
import type { Identity } from '../identity/identity.ts'
import { ApiError } from './errors.ts'
import type { CrudPlan, InspectPlan } from './plan/plan.ts'
import type { Prepared } from './cache/prepare.ts'
import type { NestedWrite } from './extensions/nested-writes/prepare-nested.ts'
import { starredRelations } from './extensions/readable-columns/starred.ts'
import { requestTransaction, type OwnPart } from './request-transaction.ts'
import { locateError, unmatchedError } from './extensions/nested-writes/nested-path.ts'
import { preconditionError, probeOf } from './extensions/conditional-requests/precondition.ts'
import { needsResultCheck, resultError } from './response/result-check.ts'
import { costCheck } from './extensions/limits/cost-check.ts'
import { explainBody, readResult, resultFormatsOf, returnsVersion } from './response/result-row.ts'
import { isStreamed, type Body, type ResultRow } from './response/result.ts'
import { plannedRows, tableTotal } from './response/total.ts'
import { failedCheck, failedStatement, transactionError } from './sql-errors.ts'
import { render } from './sql/fragment.ts'
import { explainCountStatement, needsPlannedCount } from './sql/statement.ts'

/** The row of the main statement, which follows the statements of a nested write. */
export function rowOf(plan: CrudPlan, { nested }: Prepared, results: readonly (readonly RawRow[])[]): ResultRow {
  return readResult(plan.kind, (nested ? results.at(-1) : results[0]) ?? [], undefined, returnsVersion(plan))
}

/** Discards a body that will not be sent, to free the connection that it is streamed from. */
export const drop = (body: Body): void => {
  if (isStreamed(body)) body.drop()
}

const noStatement = (): never => {
  throw new Error('a plan that reads or writes has no statement')
}

/** Whether the statement may share a connection. A volatile function may have effects outside its transaction. */
const mayShare = (plan: CrudPlan): boolean => plan.kind !== 'call' || plan.routine.volatility !== 'volatile'

/** Runs a plan that reads, writes or calls, and returns the row of its main statement. */
export async function runCrud(
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

type RunOptions = Omit<OwnPart, 'precheck' | 'hasNoEffect' | 'keepsSession' | 'starred'> & {
  /** The statement whose cost is limited, together with those of a nested write. */
  readonly main?: PipelineStatement
}

/** Runs the statements of a plan in the request's transaction. */
export async function run(
  plan: CrudPlan | InspectPlan,
  { request, hasNoEffect, keepsSession, nested }: Prepared,
  identity: Identity,
  context: AnswerContext,
  statements: readonly PipelineStatement[],
  own: RunOptions = {},
): Promise<TransactionResult> {
  const { config, readableColumns } = context.snapshot
  const { dbMaxCost } = config
  const { main } = own
  const limited = main && [...(nested?.statements ?? []), main]
  const precheck = dbMaxCost === null || limited === undefined ? undefined : costCheck(limited, dbMaxCost)
  const transaction = requestTransaction(plan, request, identity, context, statements, {
    checkResult: own.checkResult,
    stats: own.stats,
    claim: own.claim,
    receiver: own.receiver,
    hasNoEffect,
    keepsSession,
    precheck,
    starred: readableColumns ? starredRelations(plan) : [],
  })
  try {
    return await context.database.run(transaction, {
      prepare: config.dbPreparedStatements,
      sharing: config.dbPoolSharing,
    })
  } catch (error) {
    if (own.claim && refusalOf(error)) throw error
    const rejection = transactionError(error, identity.role !== config.dbAnonRole)
    const step = nested?.steps[failedCheck(error) ?? failedStatement(error) ?? -1]
    throw step ? locateError(rejection, step) : rejection
  }
}
