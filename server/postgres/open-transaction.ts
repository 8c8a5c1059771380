// Runs the transactions of requests inside a transaction that is already open, and that its owner rolls back.
import type { BatchDatabase, BatchTransaction, RestTransaction, RunSteps, TransactionResult } from '../rest/database.ts'
import { runSteps } from './batch-transaction.ts'
import type { PipelineClient } from './protocol/pipeline-client.ts'
import { runPipeline, StatementError } from './protocol/pipeline.ts'
import { RowBudget } from './row-budget.ts'
import { checkConstraints } from './transaction-commands.ts'

/**
 * A database of one connection, on which the caller has begun a transaction. Requests run with the isolation level of
 * that transaction. Their settings, such as the role, stay until the caller rolls back: to a savepoint, or the whole
 * transaction. After an error only that is possible.
 */
export class OpenTransaction implements BatchDatabase {
  readonly #client: PipelineClient

  constructor(client: PipelineClient) {
    this.#client = client
  }

  async run(transaction: RestTransaction): Promise<TransactionResult> {
    const { statements, readOnly, checkResult } = transaction
    const before = [transaction.settings, ...transaction.before]
    const after = readOnly ? [] : [checkConstraints]
    const results = await runPipeline(this.#client, [[...before, ...statements, ...after]], false).catch(
      (error: unknown) => {
        if (error instanceof StatementError) error.numberIn({ statements })
        throw error
      },
    )
    const rows = results.slice(before.length, before.length + statements.length)
    const error = checkResult?.(rows)
    if (error) throw error
    return { rows }
  }

  async batch<T>({ readOnly, maxBytes }: BatchTransaction, use: (run: RunSteps) => Promise<T>): Promise<T> {
    const rows = new RowBudget(maxBytes)
    const result = await use((steps) =>
      runSteps(this.#client, steps, { before: [], claimed: -1, isReadOnly: readOnly, prepare: false, rows }),
    )
    if (!readOnly) await runPipeline(this.#client, [[checkConstraints]], false)
    return result
  }
}
