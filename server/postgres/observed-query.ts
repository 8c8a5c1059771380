// Observes a statement that `pg` runs itself, instead of a pipeline.
import type { PipelineStatement, ServerError, StatementObserver } from '../rest/database.ts'
import { sqlState } from './database-error.ts'

/** Runs `query`, and reports it as a statement in a round trip of its own. */
export async function observed<T>(
  observer: StatementObserver | undefined,
  text: string,
  query: () => Promise<T>,
): Promise<T> {
  if (!observer) return query()
  const since = performance.now()
  const report = (error?: Error): void => {
    const statement: PipelineStatement = { text, values: [] }
    const until = performance.now()
    if (observer.timesStatements) observer.statementEnded(statement, since, until, error && serverErrorOf(error))
    observer.roundTripEnded([statement], since, until, error)
  }
  try {
    const result = await query()
    report()
    return result
  } catch (error) {
    report(error instanceof Error ? error : new Error(String(error)))
    throw error
  }
}

/** What `pg` says about an error of the server; a lost connection has SQLSTATE 08006. */
const serverErrorOf = (error: Error): ServerError => ({
  severity: 'ERROR',
  code: sqlState(error) ?? '08006',
  message: error.message,
})
