// Checks whether the caller of a repeated batch may still execute its requests, before the stored response is sent.
import type { Identity } from '../../../identity/identity.ts'
import { admissionStatements } from '../idempotency/answer-once.ts'
import { partRequest, type BatchFrame } from './batch-part-request.ts'
import { ofRequest } from './batch-errors.ts'
import type { BatchPart } from './batch-request.ts'
import { bodiesOf } from './batch-response.ts'
import { BatchResults } from './references.ts'
import { prepare } from '../../cache/prepare.ts'
import type { BatchDatabase, RestTransaction, RunSteps } from '../../database.ts'
import { ApiError } from '../../errors.ts'
import type { RoleColumns } from '../readable-columns/starred.ts'
import { requestTransaction } from '../../request-transaction.ts'
import { transactionError } from '../../sql-errors.ts'

type Frame = BatchFrame & { readonly context: { readonly database: BatchDatabase } }

/**
 * Plans the requests of a batch without executing them. References have the values of the stored response.
 *
 * @param stored the stored response
 * @throws ApiError the error of the first request that could not run, with its id
 */
export async function requireAdmission(
  parts: readonly BatchPart[],
  stored: string,
  identity: Identity,
  frame: Frame,
): Promise<void> {
  const { readableColumns, config } = frame.context.snapshot
  const check = (columns?: RoleColumns): Promise<void> => planAll(parts, stored, identity, frame, columns)
  if (!readableColumns) return check()
  const outcome = readableColumns.answer(identity.role, config.dbPreRequest === null, check)
  if (outcome instanceof ApiError) throw outcome
  await outcome
}

async function planAll(
  parts: readonly BatchPart[],
  stored: string,
  identity: Identity,
  frame: Frame,
  columns: RoleColumns | undefined,
): Promise<void> {
  const { context } = frame
  const { config } = context.snapshot
  const steps = stepsOf(parts, stored, identity, frame, columns)
  if (steps.length === 0) return
  const { caller, consistency } = context
  const transaction = {
    isolation: null,
    readOnly: false,
    rollback: true,
    caller,
    consistency,
    maxBytes: Infinity,
  }
  const options = { prepare: config.dbPreparedStatements, sharing: 'none' } as const
  const errorOf = (error: unknown): ApiError => transactionError(error, identity.role !== config.dbAnonRole)
  const plan = async (run: RunSteps): Promise<void> => {
    const results = await run(steps.map((step) => step.transaction))
    const last = results.at(-1)
    if (last && 'error' in last) throw ofRequest(errorOf(last.error), steps[results.length - 1]?.id ?? '')
  }
  await context.database.batch(transaction, plan, options).catch((error: unknown) => {
    throw error instanceof ApiError ? error : errorOf(error)
  })
}

type Step = { readonly id: string; readonly transaction: RestTransaction }

function stepsOf(
  parts: readonly BatchPart[],
  stored: string,
  identity: Identity,
  frame: Frame,
  columns: RoleColumns | undefined,
): readonly Step[] {
  const { http, context } = frame
  const results = new BatchResults(http.body.length, context.snapshot.config.batchMaxBytes)
  const bodies = bodiesOf(stored)
  const steps: Step[] = []
  for (const part of parts) {
    const prepared = prepare(partRequest(part, results.lookup, frame), context, () => undefined, columns)
    if (prepared instanceof ApiError) throw ofRequest(prepared, part.id)
    const { plan, request } = prepared
    if (plan.kind === 'read' || plan.kind === 'mutate' || plan.kind === 'call') {
      const statements = admissionStatements(prepared)
      steps.push({ id: part.id, transaction: requestTransaction(plan, request, identity, context, statements) })
    }
    results.add(part.id, bodies.get(part.id))
  }
  return steps
}
