// The history that Supabase's command line keeps in a database: which migrations and seeds were applied. Files of this project are
// listed there as well, so that each program sees what the other has applied. Its columns are those that `supabase db push` creates.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, dirname, posix, resolve } from 'node:path'
import type { Client } from '../../postgres/connection/client.ts'
import { sqlState } from '../../postgres/database-error.ts'
import type { MigrationFile } from './migration-file.ts'
import { isOfSupabase } from './seed-files.ts'

export const historyTable = 'supabase_migrations.schema_migrations'
const seedsTable = 'supabase_migrations.seed_files'

/** A migration as it is listed in the history. */
export type Listing = {
  /** Digits at the beginning of the file name, with leading zeros. */
  readonly version: string
  /** File name without the version and `.sql`. */
  readonly name: string
  readonly statements: readonly string[]
}

/** A row of the history. */
export type Listed = {
  readonly version: string
  readonly name: string | null
  /** Of the statements: see `digestOf`. */
  readonly digest: string
}

/** SQL for the SHA-256, in hexadecimal, of a column of statements. */
export const digestOf = (statements: string): string =>
  `pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(coalesce(${statements}::text, ''), 'UTF8')), 'hex')`

/**
 * What is listed of a file, or undefined if Supabase's command line does not take its name for that of a migration: it reads
 * `1_tasks.sql`, but neither `1.sql` nor `1-tasks.sql`.
 */
export function listingOf({ name, statements }: Pick<MigrationFile, 'name' | 'statements'>): Listing | undefined {
  const [, version, rest] = /^(\d+)_(.*)\.sql$/s.exec(name) ?? []
  if (version === undefined || rest === undefined) return undefined
  const texts = statements.map(({ text, rows }) => (rows === undefined ? text : `${text};\n${rows}\\.`))
  return { version, name: rest, statements: texts }
}

/** Whether files of a folder are listed: those of a project of Supabase, and those of a database that has a history. */
export const isSharing = async (client: Client, folder: string): Promise<boolean> =>
  isOfSupabase(folder) || (await columnsOf(client, historyTable)).size > 0

/** The rows of the history whose versions are numbers, or undefined if the database has none. */
export async function readHistory(client: Client): Promise<readonly Listed[] | undefined> {
  const columns = await columnsOf(client, historyTable)
  if (columns.size === 0) return undefined
  // Old versions of the table have no names and statements.
  const name = columns.has('name') ? 'name' : 'null::text'
  const statements = columns.has('statements') ? 'statements' : 'null'
  const { rows } = await client.query<Listed>(
    `select version, ${name} as name, ${digestOf(statements)} as digest from ${historyTable} where version ~ '^[0-9]+$'`,
  )
  return rows
}

/** Whether a version is in the history now. */
export async function isListed(client: Client, { version }: Pick<Listing, 'version'>): Promise<boolean> {
  if ((await columnsOf(client, historyTable)).size === 0) return false
  const { rowCount } = await client.query(`select from ${historyTable} where version = $1`, [version])
  return rowCount !== 0
}

/** Creates the table of migrations, if it or a column of it does not exist. */
export async function createHistory(client: Client): Promise<void> {
  const columns = await columnsOf(client, historyTable)
  if (columns.size === 0) {
    await createTable(client, `${historyTable} (version text not null primary key, statements text[], name text)`)
  } else if (!columns.has('statements') || !columns.has('name')) {
    await client.query(
      `alter table ${historyTable} add column if not exists statements text[], add column if not exists name text`,
    )
  }
}

/** Creates the table of seeds, if it does not exist. */
export async function createSeedHistory(client: Client): Promise<void> {
  if ((await columnsOf(client, seedsTable)).size > 0) return
  await createTable(client, `${seedsTable} (path text not null primary key, hash text not null)`)
}

async function createTable(client: Client, table: string): Promise<void> {
  const create = (): Promise<unknown> =>
    client.query(`create schema if not exists supabase_migrations; create table if not exists ${table}`)
  try {
    await create()
  } catch (error) {
    // unique_violation: Supabase's command line has created the same at the same time.
    if (sqlState(error) !== '23505') throw error
    await create()
  }
}

/** Names of the columns of a table; none if it does not exist. */
async function columnsOf(client: Client, table: string): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name from pg_catalog.pg_attribute
     where attrelid = pg_catalog.to_regclass($1) and attnum > 0 and not attisdropped`,
    [table],
  )
  return new Set(rows.map(({ name }) => name))
}

/** A seed as it is listed in the history. */
export type ListedSeed = {
  /** Path from the folder in which `supabase` is. */
  readonly path: string
  /** SHA-256 of the bytes of the file, in hexadecimal. */
  readonly hash: string
}

/**
 * What is listed of a seed.
 *
 * @param folder of the migrations
 * @param name from `seedName`
 */
export async function seedListing(folder: string, name: string, path: string): Promise<ListedSeed> {
  const hash = createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
  return { path: posix.join(basename(dirname(resolve(folder))), name), hash }
}

/** The hash with which a seed is listed, or undefined. */
export async function readListedSeed(client: Client, { path }: ListedSeed): Promise<string | undefined> {
  if ((await columnsOf(client, seedsTable)).size === 0) return undefined
  const { rows } = await client.query<{ hash: string }>(`select hash from ${seedsTable} where path = $1`, [path])
  return rows[0]?.hash
}

/** Lists a seed. In a transaction, this takes effect with its statements. */
export async function listSeed(client: Client, { path, hash }: ListedSeed): Promise<void> {
  await client.query(
    `insert into ${seedsTable} (path, hash) values ($1, $2) on conflict (path) do update set hash = excluded.hash`,
    [path, hash],
  )
}
