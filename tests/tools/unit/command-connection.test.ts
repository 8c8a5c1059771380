// The database that a command uses, and the error if no setting names one.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { withConnection } from '../../../server/tools/command-line/connection.ts'
import type { ConnectionWish } from '../../../server/tools/command-line/dependencies.ts'

const folder = await mkdtemp(join(tmpdir(), 'rowhouse-connection-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const dataDir = join(folder, 'none')
// A port without a listener.
const owner = 'postgresql://owner:hunter2@127.0.0.1:1/d'
const serving = 'postgresql://serving:hunter2@127.0.0.1:2/d'

const asOwner: ConnectionWish = { role: 'owner', creates: false }
const asServing: ConnectionWish = { role: 'authenticator', creates: false }

t.test('commands use the connection that the settings name', async (t) => {
  const missing = (setting: string) =>
    `No database is configured, and there is no embedded database in ${dataDir}. Set ${setting} to a connection string`
  const onlyMigrations = 'Error in config\n  MIGRATION_DATABASE_URL: is only used for migrations; set DATABASE_URL'
  const rows: readonly (readonly [string | null, string | null, ConnectionWish, string])[] = [
    [null, null, asOwner, missing('MIGRATION_DATABASE_URL')],
    [null, null, asServing, missing('DATABASE_URL (or PGRST_DB_URI)')],
    [null, owner, asOwner, 'connect ECONNREFUSED 127.0.0.1:1'],
    [null, owner, { ...asOwner, creates: true }, 'connect ECONNREFUSED 127.0.0.1:1'],
    [null, owner, asServing, onlyMigrations],
    [null, owner, { ...asServing, creates: true }, onlyMigrations],
    [serving, owner, asOwner, 'connect ECONNREFUSED 127.0.0.1:1'],
    [serving, owner, asServing, 'connect ECONNREFUSED 127.0.0.1:2'],
    [serving, null, asOwner, 'connect ECONNREFUSED 127.0.0.1:2'],
  ]
  for (const [dbUri, migrationDatabaseUrl, wish, expected] of rows) {
    const error = await withConnection(
      { dataDir, dbUri, migrationDatabaseUrl },
      {},
      wish,
      () => undefined,
      () => Promise.resolve(undefined),
    ).catch((error: unknown) => error as Error)
    const name = `${dbUri === null ? 'no' : 'a'} serving URL, ${migrationDatabaseUrl === null ? 'no' : 'a'} migration URL`
    t.ok(error?.message.startsWith(expected), `${name}, ${wish.role}: ${error?.message ?? 'no error'}`)
    t.notMatch(error?.message, /hunter2/)
  }
  t.strictSame(await readdir(folder), [], 'no folder and no database are created')
})
