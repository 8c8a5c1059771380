// Applies the numbered files of `sql/migrations` to a database.
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { loadMigrationFiles, migrate as applyMigrations } from 'postgres-migrations'
import { prepareForeignRoles } from './foreign-roles.ts'
import { isForServices, type ChosenServices } from './migration-services.ts'
import { requireFreeDatabase, requireUnchanged } from './occupied-database.ts'
import { foreignSchemas, withoutComments } from './schema-comments.ts'

export type MigrationOptions = {
  /** Folder of `000001_name.sql`, `000002_name.sql` …; by default the program's own migrations. */
  readonly directory?: string
  /** Folder of the embedded database, as the user wrote it; undefined for any other database. */
  readonly dataDir?: string | undefined
  /** Applies no migrations that are only for other services. */
  readonly services?: ChosenServices
  /** Receives the messages of the database (NOTICE, WARNING), one line each. */
  readonly onNotice?: (message: string) => void
}

const ownMigrations = fileURLToPath(new URL('../../sql/migrations', import.meta.url))

/** Key of the advisory lock: a random number, so that no other program uses it. */
const lock = '7386301952746110583'

/**
 * Applies the pending migrations, each in its own transaction. Waits while another process does so. Unqualified names
 * in the files resolve as they would in psql on the same connection.
 *
 * @param client a connected client of a role that owns the database, not behind a transaction pooler
 * @returns file names in the order of application. When a migration fails, those before it stay applied
 * @throws OccupiedDatabase before anything is changed, also when an applied file was changed since; Error that names the
 *   file that failed and the reason
 */
export async function migrate(client: pg.Client, options: MigrationOptions = {}): Promise<{ applied: string[] }> {
  const directory = options.directory ?? ownMigrations
  const files = await filesOf(directory)
  const searchPath = await setting(client, 'search_path')
  try {
    await client.query(`select pg_advisory_lock(${lock})`)
    if (directory === ownMigrations) await requireFreeDatabase(client, options)
    const isPending = (await requireUnapplied(client, files, options)).length > 0
    const prepare = async (keep: boolean): Promise<readonly string[]> =>
      isPending && directory === ownMigrations ? prepareForeignRoles(client, { services: options.services, keep }) : []
    // Whatever fails, fails before anything is changed.
    await prepare(false)
    await createRecord(client)
    for (const message of await prepare(true)) options.onNotice?.(message)
    await client.query('set search_path to rowhouse')
    const applied = await applyMigrations({ client: forMigrations(client, files, searchPath, options) }, directory)
    return { applied: applied.filter(({ id }) => id > 0).map(({ fileName }) => fileName) }
  } finally {
    await restore(client, searchPath)
  }
}

/** File names of all migrations for the services, in order. */
export async function allMigrations({ directory = ownMigrations, services }: MigrationOptions = {}): Promise<string[]> {
  return namesFor(await filesOf(directory), services)
}

const namesFor = (files: readonly MigrationFile[], services: ChosenServices): string[] =>
  files.filter(({ sql }) => isForServices(sql, services)).map(({ fileName }) => fileName)

type MigrationFile = Awaited<ReturnType<typeof loadMigrationFiles>>[number]

/** The files without that of postgres-migrations, which creates its table. */
const filesOf = async (directory: string): Promise<readonly MigrationFile[]> =>
  (await loadMigrationFiles(directory)).filter(({ id }) => id > 0)

/**
 * The names of the pending migrations, in order. Changes nothing.
 *
 * @throws OccupiedDatabase, as `migrate` would
 */
export async function pendingMigrations(client: pg.Client, options: MigrationOptions = {}): Promise<string[]> {
  const directory = options.directory ?? ownMigrations
  if (directory === ownMigrations) await requireFreeDatabase(client, options)
  const pending = await requireUnapplied(client, await filesOf(directory), options)
  if (directory === ownMigrations && pending.length > 0) {
    await prepareForeignRoles(client, { services: options.services, keep: false })
  }
  return pending
}

/**
 * The names of the files for the services that are not applied.
 *
 * @throws OccupiedDatabase when an applied one was changed
 */
async function requireUnapplied(
  client: pg.Client,
  files: readonly MigrationFile[],
  { dataDir, services }: MigrationOptions,
): Promise<string[]> {
  const { rows: found } = await client.query("select to_regclass('rowhouse.migrations') is not null as exists")
  if ((found as { exists: boolean }[])[0]?.exists !== true) return namesFor(files, services)
  const { rows } = await client.query<{ id: number; hash: string }>('select id, hash from rowhouse.migrations')
  const applied = new Map(rows.map(({ id, hash }) => [id, hash]))
  const changed = files.filter(({ id, hash }) => applied.has(id) && applied.get(id) !== hash)
  const names = changed.map(({ fileName }) => fileName)
  await requireUnchanged(client, names, dataDir)
  return namesFor(
    files.filter(({ id }) => !applied.has(id)),
    services,
  )
}

async function restore(client: pg.Client, searchPath: string): Promise<void> {
  try {
    await client.query("select set_config('search_path', $1, false)", [searchPath])
    await client.query(`select pg_advisory_unlock(${lock})`)
  } catch {
    // The connection is lost, and the lock with it. The caller's error already says so.
  }
}

async function setting(client: pg.Client, name: string): Promise<string> {
  const { rows } = await client.query<{ value: string }>('select current_setting($1) as value', [name])
  return rows[0]?.value ?? ''
}

/**
 * Creates the table of applied migrations, in a schema that is never exposed. postgres-migrations would create it
 * itself, but fails when any schema has a table of that name.
 */
async function createRecord(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ schema: boolean; record: boolean }>(
    "select to_regnamespace('rowhouse') is not null as schema, to_regclass('rowhouse.migrations') is not null as record",
  )
  // `if not exists` would require the privilege to create even when there is nothing to do.
  if (rows[0]?.schema !== true) await client.query('create schema rowhouse')
  if (rows[0]?.record !== true) {
    await client.query(
      `create table rowhouse.migrations (
        id integer constraint migrations_pkey primary key,
        name varchar(100) not null constraint migrations_name_key unique,
        hash varchar(40) not null,
        executed_at timestamp default current_timestamp
      );
      comment on table rowhouse.migrations is 'Applied migrations of the server; the columns are postgres-migrations''s.';
      comment on column rowhouse.migrations.id is 'Number of the file.';
      comment on column rowhouse.migrations.name is 'Name of the file, without the number.';
      comment on column rowhouse.migrations.hash is 'SHA-1 of name and text of the file.';
      comment on column rowhouse.migrations.executed_at is 'When the migration was applied, in the time zone of its session.'`,
    )
  }
}

/** SQLSTATEs of notices that an object exists already, which `if not exists` expects: schemas, tables, columns. */
const skipped: ReadonlySet<string> = new Set(['42P06', '42P07', '42701'])

/** How postgres-migrations reads its table. It takes the row with the index `id` for the migration of that number. */
const readRecord = 'SELECT * FROM migrations ORDER BY id'

/**
 * A client for postgres-migrations, which finds its own table by the search path. The migrations themselves run with
 * the original search path, so that their unqualified objects are not created in the schema of that table. Migrations
 * of other services look applied to it.
 */
function forMigrations(
  client: pg.Client,
  files: readonly MigrationFile[],
  searchPath: string,
  { onNotice, services }: MigrationOptions,
): pg.Client {
  const texts = new Set(files.map(({ sql }) => sql))
  const others = files.filter(({ sql }) => !isForServices(sql, services))
  const listener = ({ code, message }: { code?: string | undefined; message?: string | undefined }): void => {
    if (!skipped.has(code ?? '')) onNotice?.(message ?? '')
  }
  const query = async (statement: string | pg.QueryConfig): Promise<pg.QueryResult> => {
    if (statement === readRecord) return withOthers(await client.query<Recorded>(readRecord), others)
    if (typeof statement !== 'string' || !texts.has(statement)) return client.query(statement)
    const other = others.find(({ sql }) => sql === statement)
    if (other) throw new Error(`${other.fileName} is not for the chosen services`)
    await client.query("select set_config('search_path', $1, false)", [searchPath])
    client.on('notice', listener)
    try {
      return await client.query(withoutComments(statement, await foreignSchemas(client)))
    } finally {
      client.off('notice', listener)
      await client.query('set search_path to rowhouse').catch(() => undefined)
    }
  }
  // The library calls only `query`.
  return { query } as unknown as pg.Client
}

type Recorded = { id: number; name: string; hash: string }

function withOthers(result: pg.QueryResult<Recorded>, others: readonly MigrationFile[]): pg.QueryResult<Recorded> {
  const rows: Recorded[] = []
  for (const { id, name, hash } of others) rows[id] = { id, name, hash }
  for (const row of result.rows) rows[row.id] = row
  return { ...result, rows }
}
