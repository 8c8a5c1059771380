// The commands that begin and end transactions. They have no effect outside of the transaction, apart from ending it.
import type { PipelineStatement, RestTransaction } from '../rest/database.ts'
import { command, type PipelinePart } from './protocol/pipeline.ts'

const noEffect = { hasNoEffect: true } as const

/** BEGIN with the isolation level and the access of a transaction. */
export const begin = ({ isolation, readOnly }: Pick<RestTransaction, 'isolation' | 'readOnly'>): PipelineStatement =>
  command(`BEGIN ISOLATION LEVEL ${isolation ?? 'read committed'} READ ${readOnly ? 'ONLY' : 'WRITE'}`, noEffect)

export const commit = command('COMMIT', noEffect)
export const rollback = command('ROLLBACK', noEffect)

/** Checks deferred constraints as a commit would, so that a transaction that is rolled back fails like a committed one. */
export const checkConstraints = command('SET CONSTRAINTS ALL IMMEDIATE')

/** Ends a transaction that its caller rolls back. */
export const undo = [[checkConstraints], [rollback]] as const

/**
 * Ends what functions may have left in the session instead of their transaction, like `DISCARD ALL`, but keeps the prepared
 * statements: the role and all settings, such as `default_transaction_read_only`, which apply before the first statement of the
 * next transaction; cursors, channels, locks and temporary tables. Prepared statements of SQL and `lastval()` remain.
 *
 * The commands are prepared, because parsing takes half of their time.
 */
export const cleanSession: PipelinePart = [
  'RESET ROLE',
  'RESET ALL',
  'CLOSE ALL',
  'UNLISTEN *',
  'SELECT pg_catalog.pg_advisory_unlock_all()',
  'DISCARD TEMP',
].map((text): PipelineStatement => ({ text, values: [], hasNoEffect: true }))

/** What runs after the end of a transaction: see `QueuedTransaction`. */
export type Cleanup = { readonly cleanup?: PipelinePart }

/**
 * What cleans the session after a transaction that may have an effect outside of it.
 *
 * @param prepare whether statements are prepared. If not, there may be a pooler in transaction mode in front of the database:
 *   nothing is cleaned then, because the next transaction may run in another session, and because PgBouncer 1.18 fails when
 *   two transactions are sent at once.
 */
export const cleanupAfter = (prepare: boolean): Cleanup => (prepare ? { cleanup: cleanSession } : {})

/** Returns to the role that may set the settings of a role, check sessions, and claim. */
export const loginRole = command('RESET ROLE', noEffect)

const ofCaller = 'rowhouse.role_of_caller'
/** Keeps the current role, which may be another one than in the settings of the request: its functions may switch, too. */
const keepRole = command(
  `select pg_catalog.set_config('${ofCaller}', pg_catalog.current_setting('role'), true)`,
  noEffect,
)
const restoreRole = command(
  `select pg_catalog.set_config('role', pg_catalog.current_setting('${ofCaller}'), true)`,
  noEffect,
)

/**
 * Statements as the login role amid those of a caller. Afterwards the transaction has the role of the caller again: deferred
 * triggers run at its end, and must not run as another role than the statements that they belong to.
 */
export const asLoginRole = (statements: readonly PipelineStatement[]): readonly PipelineStatement[] => [
  keepRole,
  loginRole,
  ...statements,
  restoreRole,
]
