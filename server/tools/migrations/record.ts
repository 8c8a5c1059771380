// The record of the files that were applied, in tables of the schema `rowhouse` that only files of the user's are in. They are
// created with the first file.
import type { Client } from '../../postgres/connection/client.ts'
import { createHistory, digestOf, historyTable, readHistory, type Listed, type Listing } from './supabase-history.ts'

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
  /** Whether the history of Supabase's command line has it. */
  readonly isListed: boolean
}

/** The state of a file to be recorded. */
export type Progress = Omit<AppliedMigration, 'appliedAt' | 'checksum' | 'isListed'> & {
  readonly checksum: string
  /** What is listed in the history of Supabase's command line once the file is complete; undefined to list nothing. */
  readonly listing?: Listing | undefined
  /** Whether the history may have the file already. Otherwise, that is an error: another program has applied it. */
  readonly replaces?: boolean
}

type Row = Omit<AppliedMigration, 'appliedAt' | 'isListed'> & {
  readonly appliedAt: number | null
  /** Digest of the statements that were listed, null if none were. */
  readonly listed: string | null
}

const migrationsTable = 'rowhouse.project_migrations'
const seedsTable = 'rowhouse.project_seeds'

/**
 * The record, including what Supabase's command line applied. What was listed in its history and is no longer there, as after
 * `supabase migration repair --status reverted`, counts as not applied. Does not create the tables.
 */
export async function readRecord(client: Client): Promise<ReadonlyMap<string, AppliedMigration>> {
  const history = await readHistory(client)
  const listed = new Map((history ?? []).map((row) => [numberOf(row.version), row]))
  const applied = new Map([...listed].map(([version, row]) => [version, ofSupabase(version, row)]))
  for (const row of await readOwn(client)) {
    if (!isCurrent(row, listed.get(row.version), history !== undefined)) continue
    const { listed: digest, appliedAt, ...known } = row
    const isListed = digest !== null && history !== undefined
    applied.set(row.version, { ...known, isListed, appliedAt: appliedAt === null ? null : new Date(appliedAt) })
  }
  return applied
}

/** Whether a row of this record holds, and not what the history says since then: it is what people repair. */
function isCurrent(row: Row, listed: Listed | undefined, hasHistory: boolean): boolean {
  if (row.appliedAt === null) return listed === undefined
  return row.listed === null || !hasHistory || row.listed === listed?.digest
}

async function readOwn(client: Client): Promise<readonly Row[]> {
  if (!(await exists(client, migrationsTable))) return []
  // Tables of earlier versions of this program have no column `listed`.
  const { rows } = await client.query<Row>(
    `select version, name, checksum, statements, done, running,
       extract(epoch from applied_at)::float8 * 1000 as "appliedAt", pg_catalog.to_jsonb(m) ->> 'listed' as listed
     from ${migrationsTable} m`,
  )
  return rows
}

const numberOf = (version: string): string => version.replace(/^0+(?=\d)/, '')

const ofSupabase = (version: string, row: Listed): AppliedMigration => ({
  version,
  name: `${row.version}${row.name ? `_${row.name}` : ''}.sql`,
  checksum: null,
  statements: 0,
  done: 0,
  running: null,
  appliedAt: new Date(0),
  isListed: true,
})

async function exists(client: Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean }>('select pg_catalog.to_regclass($1) is not null as exists', [
    table,
  ])
  return rows[0]?.exists === true
}

/**
 * Creates the tables of the record, if they do not exist.
 *
 * @param withHistory also that of Supabase's command line, in which files will be listed
 */
export async function createRecord(client: Client, withHistory: boolean): Promise<void> {
  if (withHistory) await createHistory(client)
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
  const { rowCount } = await client.query(
    `select from pg_catalog.pg_attribute where attrelid = '${migrationsTable}'::regclass and attname = 'listed'`,
  )
  if (rowCount === 0) {
    await client.query(
      `alter table ${migrationsTable} add column if not exists listed text;
      comment on column ${migrationsTable}.listed is 'SHA-256 of the statements that were listed in ${historyTable}; null if none were.'`,
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

/**
 * Records how far a file is. In a transaction, the record takes effect with the statements. What is listed in the history of
 * Supabase's command line takes effect with it.
 */
export async function saveProgress(client: Client, progress: Progress): Promise<void> {
  const { version, name, checksum, statements, done, running, listing, replaces = false } = progress
  const values = [version, name, checksum, statements, done, running]
  if (listing === undefined || done < statements) {
    await client.query(saveText('values (null::text)'), values)
    return
  }
  const listed = `insert into ${historyTable} (version, name, statements) values ($7, $8, $9::text[])
    ${replaces ? 'on conflict (version) do update set name = excluded.name, statements = excluded.statements' : ''}
    returning ${digestOf('statements')}`
  await client.query(saveText(listed), [...values, listing.version, listing.name, listing.statements])
}

/** @param listed statement that returns the digest of what is listed */
const saveText = (listed: string): string =>
  `with listed (digest) as (${listed})
   insert into ${migrationsTable} as m (version, name, checksum, statements, done, running, applied_at, listed)
   select $1::text, $2::text, $3::text, $4::integer, $5::integer, $6::integer, case when $5::integer >= $4::integer then pg_catalog.now() end, digest from listed
   on conflict (version) do update set name = excluded.name, checksum = excluded.checksum,
     statements = excluded.statements, done = excluded.done, running = excluded.running,
     applied_at = excluded.applied_at, listed = excluded.listed`

/** Lists a file that was applied before, by an earlier version of this program. What is listed of it already stays. */
export async function listApplied(client: Client, version: string, listing: Listing): Promise<void> {
  await client.query(
    `with listed (digest) as (
       insert into ${historyTable} (version, name, statements) values ($2, $3, $4::text[])
       on conflict (version) do update set version = excluded.version returning ${digestOf('schema_migrations.statements')}
     )
     update ${migrationsTable} set listed = digest from listed where project_migrations.version = $1`,
    [version, listing.version, listing.name, listing.statements],
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
