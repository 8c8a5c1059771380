// Before a batch begins: which columns its role may read (`db-select-readable-columns`). Within the batch, other columns than
// those that were planned would end its transaction, which may not run twice once something with an effect has run.
import type { Identity } from '../../../identity/identity.ts'
import type { AnswerContext, Prepared } from '../../extension.ts'
import { preparedParts, type BatchFrame } from './batch-part-request.ts'
import type { BatchPart } from './batch-request.ts'
import { ApiError } from '../../errors.ts'
import { readableColumnsStatement } from '../readable-columns/readable-columns-sql.ts'
import { starredRelations } from '../readable-columns/starred.ts'
import { requestTransaction } from '../../request-transaction.ts'
import { transactionError } from '../../sql-errors.ts'

async function check(parts: readonly Prepared[], identity: Identity, context: AnswerContext): Promise<void> {
  const { config } = context.snapshot
  const starred = parts.flatMap(({ plan }) => starredRelations(plan))
  const [first] = parts
  if (!first || starred.length === 0) return
  const plan = { kind: 'inspect', readOnly: true } as const
  const checks = [readableColumnsStatement(starred)]
  const transaction = requestTransaction(plan, first.request, identity, context, [], { checks, hasNoEffect: true })
  try {
    await context.database.run(
      { ...transaction, mayUseReplica: false, isolation: null, rollback: false },
      { prepare: false, sharing: 'none' },
    )
  } catch (error) {
    throw transactionError(error, identity.role !== config.dbAnonRole)
  }
}

/**
 * Learns the columns that a role may read of the relations of a batch, in one round trip, or two if they have changed. Does
 * nothing with a pre-request function, which may switch to another role and must not run twice.
 */
export async function learnColumns(parts: readonly BatchPart[], frame: BatchFrame, identity: Identity): Promise<void> {
  const { context } = frame
  const { readableColumns, config } = context.snapshot
  if (!readableColumns || config.dbPreRequest !== null) return
  try {
    const outcome = readableColumns.answer(identity.role, true, (columns) =>
      check(preparedParts(parts, frame, columns), identity, context),
    )
    if (!(outcome instanceof ApiError)) await outcome
  } catch (error) {
    // The batch gets the same error, or succeeds.
    if (!(error instanceof ApiError)) throw error
  }
}
