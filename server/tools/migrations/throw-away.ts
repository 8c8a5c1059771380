// Statements of migrations that belong to the whole cluster, when they run in a database that is thrown away.
import type { Client } from '../../postgres/connection/client.ts'
import { sqlState } from '../../postgres/database-error.ts'
import type { SqlStatement } from '../../text/sql-statements.ts'

const clusterWide = /^(?:drop (?:role|user|group)|(?:create|drop|alter) (?:database|tablespace)|alter system)\b/
const createsRole = /^create (?:role|user|group)\b/

/** Whether a statement would change something outside of its database that is not undone with it. */
export const isSkippedInThrowAway = ({ words }: SqlStatement): boolean =>
  clusterWide.test(words.join(' ')) && words[2] !== 'mapping'

/**
 * Runs a statement. A role that it would create may exist: roles belong to all databases of the cluster.
 *
 * @param isInTransaction whether a failed statement would end a transaction around it
 */
export async function toleratingRoles(
  client: Client,
  { words }: SqlStatement,
  isInTransaction: boolean,
  run: () => Promise<void>,
): Promise<void> {
  if (!createsRole.test(words.join(' ')) || words[2] === 'mapping') return run()
  const control = (text: string): Promise<unknown> =>
    isInTransaction ? client.query(`${text} rowhouse_role`) : Promise.resolve()
  await control('savepoint')
  try {
    await run()
  } catch (error) {
    // duplicate_object
    if (sqlState(error) !== '42710') throw error
    await control('rollback to savepoint')
  }
  await control('release savepoint')
}
