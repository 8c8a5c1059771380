// The record of the files that were applied, in tables of the schema `rowhouse` that only files of the user's are in. They are
// created with the first file.
import type { Client } from '../../postgres/connection/client.ts'

/** What is known of a migration that was applied, or begun. */
export type AppliedMigration = {
  readonly version: string
  /** File name. */
  readonly name: string
  /** Of the first `done` statements. Null if another tool applied the file, which keeps no such sum. */
  readonly checksum: string | null
  /** Number of statements in the file when it ran. */
  readonly statements: number
  /** Number of statements that have taken effect. */
  readonly done: number
  /** Number of the statement, from 0, that runs outside of a transaction, or ran when its process ended; null if none. */
  readonly running: number | null
  /** Null while the file is not complete. */
  readonly appliedAt: Date | null
}

/** The state of a file to be recorded. */
export type Progress = Omit<AppliedMigration, 'appliedAt' | 'checksum'> & { readonly checksum: string }

type Row = Omit<AppliedMigration, 'appliedAt'> & { readonly appliedAt: number | null }

const migrationsTable = 'rowhouse.project_migrations'
const seedsTable = 'rowhouse.project_seeds'
/** The table of Supabase's command line. Its rows count as applied. */
const supabaseTable = 'supabase_migrations.schema_migrations'

/** The record, including what Supabase's command line applied. Does not create the tables. */
export async function readRecord(client: Client): Promise<ReadonlyMap<string, AppliedMigration>> {
  const own = (await exists(client, migrationsTable))
    ? await client.query<Row>(
        `select version, name, checksum, statements, done, running,
           extract(epoch from applied_at)::float8 * 1000 as "appliedAt"
         from ${migrationsTable}`,
      )
    : { rows: [] }
  const applied = new Map((await readSupabase(client)).map((row) => [row.version, row]))
  for (const row of own.rows) {
    applied.set(row.version, { ...row, appliedAt: row.appliedAt === null ? null : new Date(row.appliedAt) })
  }
  return applied
}

async function readSupabase(client: Client): Promise<readonly AppliedMigration[]> {
  if (!(await exists(client, supabaseTable))) return []
  // Old versions of the table have no names.
  const { rows } = await client.query<{ version: string; name: string | null }>(
    `select t.version, to_jsonb(t) ->> 'name' as name from ${supabaseTable} t where t.version ~ '^[0-9]+$'`,
  )
  return rows.map(({ version, name }) => ({
    version: version.replace(/^0+(?=\d)/, ''),
    name: `${version}${name ? `_${name}` : ''}.sql`,
    checksum: null,
    statements: 0,
    done: 0,
    running: null,
    appliedAt: new Date(0),
  }))
}

async function exists(client: Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean }>('select pg_catalog.to_regclass($1) is not null as exists', [
    table,
  ])
  return rows[0]?.exists === true
}

/** Creates the tables of the record, if they do not exist. */
export async function createRecord(client: Client): Promise<void> {
  // `if not exists` would require the privilege to create even when there is nothing to do.
  const { rows } = await client.query<{ exists: boolean }>("select to_regnamespace('rowhouse') is not null as exists")
  if (rows[0]?.exists !== true) await client.query('create schema rowhouse')
  if (!(await exists(client, migrationsTable))) {
    await client.query(
      `create table ${migrationsTable} (
        version text constraint project_migrations_pkey primary key,
        name text not null,
        checksum text not null,
        statements integer not null,
        done integer not null,
        running integer,
        begun_at timestamptz not null default now(),
        applied_at timestamptz
      );
      comment on table ${migrationsTable} is 'Migrations of the project, which are no part of the server.';
      comment on column ${migrationsTable}.version is 'Number of the file, without leading zeros.';
      comment on column ${migrationsTable}.name is 'Name of the file.';
      comment on column ${migrationsTable}.checksum is 'SHA-256 of the statements that have taken effect.';
      comment on column ${migrationsTable}.statements is 'Number of statements in the file.';
      comment on column ${migrationsTable}.done is 'Number of statements that have taken effect.';
      comment on column ${migrationsTable}.running is 'Number of a statement, from 0, that runs outside of a transaction.';
      comment on column ${migrationsTable}.begun_at is 'When the first statements took effect.';
      comment on column ${migrationsTable}.applied_at is 'When the last statement took effect; null while there are further ones.'`,
    )
  }
  if (!(await exists(client, seedsTable))) {
    await client.query(
      `create table ${seedsTable} (
        name text constraint project_seeds_pkey primary key,
        checksum text not null,
        applied_at timestamptz not null default now()
      );
      comment on table ${seedsTable} is 'Seeds of the project: files with rows for development.';
      comment on column ${seedsTable}.name is 'Name of the file.';
      comment on column ${seedsTable}.checksum is 'SHA-256 of its statements.';
      comment on column ${seedsTable}.applied_at is 'When the file was applied.'`,
    )
  }
}

/** Records how far a file is. In a transaction, the record takes effect with the statements. */
export async function saveProgress(
  client: Client,
  { version, name, checksum, statements, done, running }: Progress,
): Promise<void> {
  await client.query(
    `insert into ${migrationsTable} as m (version, name, checksum, statements, done, running, applied_at)
     values ($1, $2, $3, $4, $5, $6, case when $5::integer >= $4::integer then pg_catalog.now() end)
     on conflict (version) do update set name = excluded.name, checksum = excluded.checksum,
       statements = excluded.statements, done = excluded.done, running = excluded.running,
       applied_at = excluded.applied_at`,
    [version, name, checksum, statements, done, running],
  )
}

/** The checksum of a seed when it was applied last, or undefined. */
export async function readSeed(client: Client, name: string): Promise<string | undefined> {
  if (!(await exists(client, seedsTable))) return undefined
  const { rows } = await client.query<{ checksum: string }>(`select checksum from ${seedsTable} where name = $1`, [
    name,
  ])
  return rows[0]?.checksum
}

export async function saveSeed(client: Client, name: string, checksum: string): Promise<void> {
  await client.query(
    `insert into ${seedsTable} (name, checksum) values ($1, $2)
     on conflict (name) do update set checksum = excluded.checksum, applied_at = pg_catalog.now()`,
    [name, checksum],
  )
}
