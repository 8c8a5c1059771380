// Tells the database which trace a transaction belongs to, in the form of sqlcommenter, or as `application_name`.
// https://google.github.io/sqlcommenter/spec/
import type { PipelineStatement, RestTransaction, TraceNote } from '../rest/database.ts'

type Noted = Pick<RestTransaction, 'before' | 'statements'>

/**
 * A transaction with a note of its trace. Statements with a comment are unlike all others, so they are not prepared, and have no
 * part in the statistics of those without one.
 */
export function withTraceNote(transaction: RestTransaction, note: TraceNote | undefined): RestTransaction {
  if (!note) return transaction
  const noted = { ...transaction, ...withNote(transaction, note) }
  return note.place === 'comment' ? { ...noted, stats: undefined } : noted
}

/** What runs in the transaction, with a note of its trace. */
export function withNote({ before, statements }: Noted, { place, traceparent }: TraceNote): Noted {
  if (place === 'application-name') return { before: [applicationName(traceparent), ...before], statements }
  const comment = ` /*traceparent='${encodeURIComponent(traceparent)}'*/`
  return {
    before,
    statements: statements.map((statement) => ({
      ...statement,
      text: statement.text + comment,
      isUnprepared: true,
    })),
  }
}

/** Names of applications have at most 63 bytes, of which the trace takes 55. */
const applicationName = (traceparent: string): PipelineStatement => ({
  text: "select pg_catalog.set_config('application_name', $1, true)",
  values: [traceparent],
  hasNoEffect: true,
})
