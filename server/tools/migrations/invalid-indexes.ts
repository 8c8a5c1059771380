// Indexes that a concurrent build left behind when it failed. PostgreSQL maintains them, but never uses them.
import type { Client } from '../../postgres/connection/client.ts'

/** Names of the invalid indexes, quoted and qualified, apart from those that are being built. */
export async function invalidIndexes(client: Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
     from pg_catalog.pg_index i
     join pg_catalog.pg_class c on c.oid = i.indexrelid
     join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where not i.indisvalid and c.relkind = 'i'
       and not exists (select from pg_catalog.pg_stat_progress_create_index p where p.index_relid = i.indexrelid)
     order by 1`,
  )
  return rows.map(({ name }) => name)
}

/** Drops the invalid indexes that were not there before. Returns their names. */
export async function dropNewInvalid(client: Client, before: readonly string[]): Promise<readonly string[]> {
  const dropped: string[] = []
  try {
    for (const name of await invalidIndexes(client)) {
      if (before.includes(name)) continue
      await client.query(`drop index concurrently if exists ${name}`)
      dropped.push(name)
    }
  } catch {
    // The connection is lost, or the index belongs to another role. The error of the statement is reported.
  }
  return dropped
}

/** What to do with indexes that an earlier process left behind. */
export const describeInvalid = (names: readonly string[]): readonly string[] =>
  names.map((name) => `The index ${name} is invalid: if it is of this statement, run drop index concurrently ${name}.`)
