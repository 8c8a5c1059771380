// Which errors of a replica make a read run again on the primary.
import { ConnectionError } from '../connection-error.ts'
import { isUnreachable, sqlState } from '../database-error.ts'
import { RowsRefused } from '../protocol/rows-run.ts'

/** query_canceled: also of `statement_timeout`, after which the same time on the primary would be too much. */
const cancelled = '57014'

/**
 * Whether a read without effects runs again on the primary. Almost every error may be one of the replica: it may lack
 * relations, roles or rows that the primary has, or cancel a query that its replay conflicts with.
 */
export const runsAgain = (error: unknown): boolean =>
  !(error instanceof ConnectionError && error.kind === 'caller gone') &&
  // The rows of the primary have the same types.
  !(error instanceof RowsRefused) &&
  sqlState(error) !== cancelled

/** Recovery conflicts, read-only server, functions that do not work during recovery, conditions of the server. */
const ofReplica = /^(?:08|25|40|53|55|57|58|XX)/

/** Whether the error of a replica would certainly not occur on the primary, or says nothing about the request. */
export const isOfReplica = (error: unknown): boolean => isUnreachable(error) || ofReplica.test(sqlState(error) ?? 'XX')
