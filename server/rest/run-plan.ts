// Runs the statements of a plan in the transaction of the request.
import { firstOf, type AnswerContext, type NestedStatements, type Prepared, type Results } from './extension.ts'
import type { Claim, PipelineStatement, TransactionResult } from './database.ts'
import type { Identity } from '../identity/identity.ts'
import { ApiError } from './errors.ts'
import type { CrudPlan, InspectPlan } from './plan/plan.ts'
import { requestTransaction, type OwnPart } from './request-transaction.ts'
import { needsResultCheck, resultError } from './response/result-check.ts'
import { explainBody, readResult, resultFormatsOf, returnsVersion, withSettings } from './response/result-row.ts'
import { isStreamed, type Body, type ResultRow } from './response/result.ts'
import { plannedRows, tableTotal } from './response/total.ts'
import { failedCheck, failedStatement, refusalOf, transactionError } from './sql-errors.ts'
import { settingsStatement } from './sql/current-setting.ts'
import { render } from './sql/fragment.ts'
import { explainCountStatement, needsPlannedCount } from './sql/statement.ts'

/** The row of the main statement, which follows the statements of a nested write. */
export function rowOf(plan: CrudPlan, { nested, rows }: Prepared, results: Results): ResultRow {
  const row = readResult(plan.kind, (nested ? results.at(-1) : results[0]) ?? [], undefined, returnsVersion(plan))
  return rows?.plan.isLoud === true ? withSettings(row, results.at(-1)) : row
}

/** The rows that run as the main statement, or may run in its place, unless the log wants that itself. */
const rowsToRun = ({ rows }: Prepared, { trace }: AnswerContext): Prepared['rows'] =>
  rows?.plan.isOnlyForm === true || !trace.statements ? rows : undefined

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
  const rowsRun = rowsToRun(prepared, context)
  const statements: PipelineStatement[] = [
    { text: main.text, values: main.values, resultFormats: resultFormatsOf(plan), rows: rowsRun },
  ]
  const planned = needsPlannedCount(plan, request.shape)
  if (planned) statements.push({ ...render(explainCountStatement(plan.read)), isUnprepared: true })
  const requirement = plan.readOnly ? undefined : firstOf(context.extensions.requirement, plan, request)
  if (requirement?.statement) statements.push(requirement.statement)
  const isLoud = rowsRun?.plan.isLoud === true
  if (isLoud) statements.push(settingsStatement)
  const hasVersion = returnsVersion(plan)
  const checkResult = (results: Results): ApiError | undefined => {
    const row = rowOf(plan, prepared, results)
    return requirement?.errorOf(row, results[1]) ?? resultError(plan, row, request.shape)
  }
  // Only a rejected write needs a rollback, so only writes are checked before the transaction ends.
  const checksInTransaction = !plan.readOnly && (requirement !== undefined || needsResultCheck(plan, request.shape))
  const { rows, arriving } = await run(plan, prepared, identity, context, statements, {
    checkResult: checksInTransaction ? checkResult : undefined,
    stats: mayShare(plan) && !claim ? stats : undefined,
    claim,
    main,
  })
  const result = readResult(plan.kind, rows[0] ?? [], arriving, hasVersion)
  // The statement itself reads them.
  const row = isLoud && rows.length === statements.length ? withSettings(result, rows.at(-1)) : result
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
  nested: NestedStatements,
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
    [...nested.statements, { ...main, resultFormats: resultFormatsOf(plan) }],
    {
      checkResult: (results) =>
        nested.errorOf(results) ?? resultError(plan, rowOf(plan, prepared, results), request.shape),
      claim,
      main,
    },
  )
  return rowOf(plan, prepared, rows)
}

type RunOptions = Omit<OwnPart, 'precheck' | 'hasNoEffect' | 'keepsSession' | 'checks'> & {
  /** The statement that is checked before it runs, together with those of a nested write. */
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
  const { snapshot, extensions } = context
  const { config } = snapshot
  const { main } = own
  const precheck = main && firstOf(extensions.precheck, main, nested?.statements, config)
  const transaction = requestTransaction(plan, request, identity, context, statements, {
    checkResult: own.checkResult,
    stats: own.stats,
    claim: own.claim,
    receiver: own.receiver,
    hasNoEffect,
    keepsSession,
    precheck,
    checks: checksOf(plan, context),
  })
  try {
    return await context.database.run(transaction, {
      prepare: config.dbPreparedStatements,
      sharing: config.dbPoolSharing,
    })
  } catch (error) {
    if (own.claim && refusalOf(error)) throw error
    const rejection = transactionError(error, identity.role !== config.dbAnonRole)
    throw nested?.locate(rejection, failedCheck(error) ?? failedStatement(error) ?? -1) ?? rejection
  }
}

const noChecks: readonly PipelineStatement[] = []

/** The checks that precede the statements of a plan. */
export function checksOf(
  plan: CrudPlan | InspectPlan,
  { extensions, snapshot }: AnswerContext,
): readonly PipelineStatement[] {
  let checks = noChecks
  for (const check of extensions.check) {
    const statement = check(plan, snapshot)
    if (statement) checks = [...checks, statement]
  }
  return checks
}
