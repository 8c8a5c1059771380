// Keeps rows where they are written, for comparisons of two databases.
import pg from 'pg'
import type { TestDatabase } from './database.ts'

/**
 * Removes no old version of a row from now on, so a new one has its place in the same order in each database, however long
 * statements take: the order of rows may depend on it, and which of two errors comes first.
 */
export async function keepRowVersions({ adminUri, query }: TestDatabase): Promise<void> {
  await query(`do $$ declare name regclass; begin
    for name in
      select c.oid from pg_class c join pg_namespace n on n.oid = relnamespace
      where relkind = 'r' and nspname <> 'information_schema' and nspname !~ '^pg_'
    loop
      execute format('alter table %s set (autovacuum_enabled = off)', name);
    end loop;
  end $$`)
  const holder = new pg.Client({ connectionString: adminUri })
  holder.on('error', () => undefined) // The database is dropped with it.
  await holder.connect()
  await holder.query('begin isolation level repeatable read; select 1')
}
