// `/console/api/sql` and `/console/api/migrations`: statements as a chosen caller, and new files of migrations.
import { defineEnvelopeRoute, type Access } from '../../http/envelope-dialect.ts'
import type { Route } from '../../http/route.ts'
import { dto, failure, success } from '../../http/service-response.ts'
import { goneSignal } from '../client-gone.ts'
import type { ConsoleCaller, ConsoleParts } from './console-settings.ts'
import type { SqlIdentity } from './database-tools.ts'
import { requireDevelopment } from './development.ts'
import type { NewMigration, SqlCaller, SqlRequest } from './sql-protocol.ts'
import { viewerIdentity } from './viewer.ts'

/** Characters of SQL in the log of changes. */
const maxLogged = 10_000

export function sqlRoutes(parts: ConsoleParts, access: Access<ConsoleCaller>): readonly Route[] {
  const identityOf = (caller: SqlCaller): Promise<SqlIdentity> =>
    'owner' in caller ? Promise.resolve('owner') : viewerIdentity(parts, caller)
  return [
    defineEnvelopeRoute({
      method: 'post',
      path: '/console/api/sql',
      id: 'consoleSql',
      tag: 'console',
      summary: 'Run statements in one transaction',
      access,
      body: dto<SqlRequest>('ConsoleSqlDto'),
      success: success(200, 'The results, and the error that ended the run.', { type: 'object' }),
      errors: { 404: failure('There is no such role or user.') },
      handler: async ({ caller, body, response }) => {
        const { runSql } = await parts.tools()
        let recorded: string | null | undefined
        // On a connection of the server, which the statements cannot reach, and before the commit: a server that ends
        // between the two leaves an entry without a commit, never a commit without an entry.
        const record = async (transaction: string | null): Promise<void> => {
          await parts.record(caller, 'commit sql', { sql: body.sql.slice(0, maxLogged), as: body.caller, transaction })
          recorded = transaction
        }
        const details = await runSql(body, await identityOf(body.caller), goneSignal(response), record)
        if (recorded !== undefined && details.outcome !== 'committed') {
          await parts.record(caller, 'sql not committed', { transaction: recorded })
        }
        return { details }
      },
    }),
    defineEnvelopeRoute({
      method: 'post',
      path: '/console/api/migrations',
      id: 'consoleNewMigration',
      tag: 'console',
      summary: 'Create a file in the folder of migrations',
      access,
      body: dto<NewMigration>('ConsoleMigrationDto'),
      success: success(201, 'The path of the file.', { type: 'object' }),
      errors: { 403: failure('This is possible during development only.'), 422: failure('The name has no letters.') },
      handler: async ({ caller, body }) => {
        requireDevelopment(parts)
        const path = await (await parts.tools()).writeMigration(body)
        await parts.record(caller, 'write migration', { path })
        return { details: { path } }
      },
    }),
  ]
}
