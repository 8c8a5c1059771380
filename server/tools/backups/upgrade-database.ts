// `rowhouse upgrade-database`: a dump of the old server is restored by the new one while it is being written.
import { PassThrough } from 'node:stream'
import type { Config } from '../../config/config.ts'
import { withClient, type Client } from '../../postgres/connection/client.ts'
import { EmbeddedDatabaseError } from '../../postgres/embedded/embedded-error.ts'
import { upgradeCluster, type Upgraded } from '../../postgres/embedded/upgrade-cluster.ts'
import { toPoolConfig } from '../../running/connection-setting.ts'
import { dumpDatabase } from '../database-access/dump.ts'
import { pgDumpFor } from '../database-access/pg-dump.ts'
import { restoreDatabase } from '../database-access/restore.ts'
import { withOldBinaries } from './old-binaries.ts'

export type UpgradeOptions = {
  /** Folder of the PostgreSQL that created the database; undefined to install it with npm. */
  readonly oldBinaries: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: (message: string) => void
}

export type UpgradeCounts = { readonly tables: number; readonly rows: number }

/**
 * @returns null when there is nothing to upgrade
 * @throws EmbeddedDatabaseError, RestoreError, the errors of the servers. Then the database is as before
 */
export async function upgradeDatabase(
  { dataDir }: Pick<Config, 'dataDir'>,
  { oldBinaries, env, log }: UpgradeOptions,
): Promise<(Upgraded & UpgradeCounts) | null> {
  let counts: UpgradeCounts = { tables: 0, rows: 0 }
  const upgraded = await withOldBinaries(oldBinaries, log, (find) =>
    upgradeCluster({
      dataDir,
      log,
      oldBinaries: find,
      move: async (from, to) => {
        await copyDatabase(from, to, env)
        counts = await compareDatabases(from, to)
      },
    }),
  )
  return upgraded && { ...upgraded, ...counts }
}

const connected = <T>(uri: string, use: (client: Client) => Promise<T>): Promise<T> =>
  withClient(toPoolConfig(uri, {}), use)

async function copyDatabase(from: string, to: string, env: UpgradeOptions['env']): Promise<void> {
  const dump = new PassThrough({ highWaterMark: 1024 * 1024 })
  const writing = connected(from, async (client) => {
    const { rows } = await client.query<{ version: string }>("select current_setting('server_version') as version")
    const address = { uri: from, env: {} }
    const pgDump = await pgDumpFor(rows[0]?.version ?? '', address, (use) => connected(from, use), env)
    await dumpDatabase(client, dump, pgDump)
    dump.end()
  })
  const reading = connected(to, (client) =>
    restoreDatabase(client, { input: dump, file: 'the dump of the old database', replace: false }),
  )
  // Each ends the other when it fails; the first error is the reason.
  const failed = (error: unknown): never => {
    dump.destroy(error instanceof Error ? error : new Error(String(error)))
    throw error
  }
  await Promise.all([writing.catch(failed), reading.catch(failed)])
}

/** What a database contains: rows by table, and the number of its other objects by kind. */
async function describeContents(client: Client): Promise<ReadonlyMap<string, number>> {
  const contents = new Map<string, number>()
  const own = "not like all (array['pg\\_%', 'information\\_schema'])"
  const { rows: tables } = await client.query<{ name: string }>(
    `select format('%I.%I', nspname, relname) as name from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where relkind in ('r', 'm') and nspname ${own} order by 1`,
  )
  for (const { name } of tables) {
    const { rows } = await client.query<{ count: string }>(`select count(*) from ${name}`)
    contents.set(name, Number(rows[0]?.count))
  }
  const { rows: kinds } = await client.query<{ kind: string; count: string }>(
    `select 'functions' as kind, count(*) from pg_proc join pg_namespace on pg_namespace.oid = pronamespace where nspname ${own}
     union all select 'relations ' || relkind::text, count(*) from pg_class join pg_namespace on pg_namespace.oid = relnamespace
       where nspname ${own} group by relkind
     union all select 'policies', count(*) from pg_policy
     union all select 'triggers', count(*) from pg_trigger where not tgisinternal
     union all select 'roles', count(*) from pg_roles where rolname not like 'pg\\_%'`,
  )
  for (const { kind, count } of kinds) contents.set(kind, Number(count))
  return contents
}

/** @throws EmbeddedDatabaseError that names the first difference */
async function compareDatabases(from: string, to: string): Promise<UpgradeCounts> {
  const before = await connected(from, describeContents)
  const after = await connected(to, describeContents)
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [old, new_] = [before.get(name) ?? 0, after.get(name) ?? 0]
    if (old === new_) continue
    throw new EmbeddedDatabaseError(
      `The copy is not complete: ${name} has ${new_} instead of ${old}. The database was left as it is.`,
    )
  }
  const tables = [...before].filter(([name]) => name.includes('.'))
  return { tables: tables.length, rows: tables.reduce((sum, [, rows]) => sum + rows, 0) }
}
