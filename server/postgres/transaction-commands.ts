// The commands that begin and end transactions. They have no effect outside of the transaction, apart from ending it.
import type { PipelineStatement, RestTransaction } from '../rest/database.ts'
import { command } from './protocol/pipeline.ts'

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

/** Returns to the role that may set the settings of a role, check sessions, and claim. */
export const loginRole = command('RESET ROLE', noEffect)
