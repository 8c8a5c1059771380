// A transaction that is always rolled back, on a connection that is reset afterwards: for statements whose effects must
// not remain.
import type { PipelineStatement, RestTransaction } from '../rest/database.ts'
import type { RawRow } from '../rest/row-transfer.ts'
import type { RunQuery } from './run-query.ts'
import { observed } from './observed-query.ts'
import { runPipeline } from './protocol/pipeline.ts'
import type { PipelineClient } from './protocol/pipeline-client.ts'

export type ScratchTransaction = {
  /** Runs one statement, and returns its rows as objects. */
  readonly query: RunQuery
  /** Runs one statement, and returns its rows in the server's encoding. */
  readonly run: (statement: PipelineStatement) => Promise<readonly RawRow[]>
}

/**
 * Runs `use` in a transaction that is rolled back in any case. What outlasts a rollback on the connection (session locks,
 * prepared statements) is discarded as well.
 *
 * @param isolation null for read committed
 * @throws the error of `use`; Error when a statement has ended the transaction, because its effects may remain
 */
export async function runScratch<T>(
  client: PipelineClient,
  isolation: RestTransaction['isolation'],
  use: (transaction: ScratchTransaction) => Promise<T>,
): Promise<T> {
  await client.query(`begin isolation level ${isolation ?? 'read committed'} read write`)
  let hasEnded = false
  const watch = async <R>(run: Promise<R>): Promise<R> => {
    try {
      return await run
    } finally {
      hasEnded ||= client.getTransactionStatus() === 'I'
    }
  }
  let result: T
  try {
    result = await use({
      query: async (text, values) =>
        (await watch(observed(client.observer, text, () => client.query<Record<string, unknown>>(text, values)))).rows,
      run: async (statement) => (await watch(runPipeline(client, [[statement]], false)))[0] ?? [],
    })
  } finally {
    // A lost connection has rolled back as well; the error of `use` says so.
    await client.query('rollback').catch(() => undefined)
    await client.query('discard all').catch(() => undefined)
    client.statements.clear()
  }
  if (hasEnded) throw new Error('a statement has ended the transaction that was to be rolled back')
  return result
}
