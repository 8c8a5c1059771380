// A backup that is restored sends no call that waited in it.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import t from 'tap'
import { startEmbedded } from '../../server/postgres/embedded/embedded.ts'
import { migrate } from '../../server/postgres/migrate.ts'
import { runBackup } from '../../server/tools/backups/run-backup.ts'
import { runRestore } from '../../server/tools/backups/run-restore.ts'

const root = await mkdtemp(join(tmpdir(), 'rowhouse-restored-calls-'))
t.teardown(() => rm(root, { recursive: true, force: true, maxRetries: 5 }))
await chmod(root, 0o711)
const [dataDir, folder] = [join(root, 'data'), join(root, 'backups')]
const settings = { dataDir, backupDir: null, storageBackend: 'file', storageFileBackendPath: null } as const
const log = (): void => undefined

/** Runs statements on the embedded database. Returns the rows of the last one. */
async function onDatabase(...statements: readonly string[]): Promise<readonly Record<string, unknown>[]> {
  const embedded = await startEmbedded({ dataDir, log })
  const client = new pg.Client(embedded.adminUri)
  try {
    await client.connect()
    await migrate(client)
    let rows: readonly Record<string, unknown>[] = []
    for (const text of statements) rows = (await client.query<Record<string, unknown>>(text)).rows
    return rows
  } finally {
    await client.end()
    await embedded.stop()
  }
}

const claim = "select url from rowhouse.claim_calls('one', 10, 1000, 10, '{}')"

t.test('calls of a backup are put aside, and can be sent again', { timeout: 240_000 }, async (t) => {
  await onDatabase(
    "insert into rowhouse.leases values ('calls', 'one', now() + interval '1 day')",
    claim,
    "select net.http_get('https://example.com/')",
  )
  await runBackup(settings, { folder, keep: undefined, log })
  t.strictSame(await onDatabase(claim), [{ url: 'https://example.com/' }], 'the original sends it after a restart')
  await runRestore(settings, { folder, to: 'latest', log })
  t.strictSame(await onDatabase(claim), [])
  const again = 'select rowhouse.resend_call(id), last_error from rowhouse.calls'
  t.match(await onDatabase(again), [{ resend_call: true, last_error: /^not sent: this database is a copy or was res/ }])
  t.strictSame(await onDatabase(claim), [{ url: 'https://example.com/' }])
})
