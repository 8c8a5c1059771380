// The transaction of a request: the settings, the pre-request function and the checks that precede its statements.
import type { Identity } from '../identity/identity.ts'
import type { AnswerContext } from './extension.ts'
import type { PipelineStatement, RestTransaction } from './database.ts'
import type { CrudPlan } from './plan/plan.ts'
import type { PlannedRequest } from './request/api-request.ts'
import { rollsBack } from './request/preferences.ts'
import type { IsolationLevel } from '../catalogue/routine.ts'
import type { Snapshot } from './snapshot.ts'
import { render } from './sql/fragment.ts'
import { namedSession } from './sql/session.ts'
import { preRequestStatement } from './sql/settings.ts'

/** What distinguishes transactions of the same plan. */
export type OwnPart = Pick<RestTransaction, 'claim' | 'precheck' | 'receiver'> &
  Partial<Pick<RestTransaction, 'checkResult' | 'stats' | 'hasNoEffect' | 'keepsSession'>> & {
    /** Statements that fail when those of the plan must not run. */
    readonly checks?: readonly PipelineStatement[]
  }

/** What a transaction depends on of a plan. */
export type TransactionPlan = CrudPlan | { readonly kind: 'inspect'; readonly readOnly: boolean }

/**
 * The transaction that runs statements for a request: as its role, with its claims and data, after the pre-request
 * function. The texts of the statements are added to the trace.
 */
export function requestTransaction(
  plan: TransactionPlan,
  request: PlannedRequest,
  identity: Identity,
  { caller, snapshot, trace, consistency }: AnswerContext,
  statements: readonly PipelineStatement[],
  own: OwnPart = {},
): RestTransaction {
  const { config } = snapshot
  const { precheck, checks } = own
  const session = snapshot.checksSessions ? namedSession(identity) : undefined
  const settings = snapshot.settings.statement(identity, request, plan, session)
  const before: PipelineStatement[] = []
  if (config.dbPreRequest) before.push(render(preRequestStatement(config.dbPreRequest)))
  // The pre-request function may switch to another role, so it runs before the checks.
  if (checks) before.push(...checks)
  if (trace.statements) {
    const all = [settings, ...before, ...(precheck?.statements ?? []), ...statements]
    for (const { text } of all) trace.statements.push(text)
  }
  return {
    settings,
    before,
    statements,
    isolation: isolationOf(plan, identity, snapshot) ?? (config.dbTxBlock ? 'read committed' : null),
    readOnly: plan.readOnly,
    hasNoEffect: own.hasNoEffect === true && snapshot.mayRepeatPreRequest,
    keepsSession: own.keepsSession === true && snapshot.mayRepeatPreRequest,
    rollback: rollsBack(request.shape.preferences, config.dbTxEnd),
    checkResult: own.checkResult,
    claim: own.claim,
    precheck,
    stats: own.stats,
    receiver: own.receiver,
    caller,
    consistency,
    mayUseReplica:
      consistency !== undefined &&
      request.shape.preferences.read !== 'primary' &&
      !snapshot.roleSettings.readsFromPrimary.has(identity.role),
  }
}

/** The isolation level that a plan needs; null for read committed. */
export function isolationOf(
  plan: TransactionPlan,
  { role }: Identity,
  { roleSettings }: Pick<Snapshot, 'roleSettings'>,
): IsolationLevel | null {
  const level = plan.kind === 'call' ? plan.routine.isolationLevel : null
  const wanted = level ?? roleSettings.isolationLevels.get(role) ?? null
  return wanted === 'read committed' ? null : wanted
}
