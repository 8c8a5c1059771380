// A cluster of its own with the roles, schemas, owners and privileges of Supabase's image, and a project in it.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import type { Test } from 'tap'
import { startEmbedded } from '../../server/postgres/embedded/embedded.ts'
import { uriOf } from './cluster.ts'
import { withClient } from './database.ts'

const fixture = (name: string): Promise<string> => readFile(new URL(`../fixtures/${name}.sql`, import.meta.url), 'utf8')

export type SupabaseDatabase = {
  readonly port: number
  /** Connection string of a role whose password is its name, by default to the project's database, `postgres`. */
  readonly uri: (role: string, name?: string) => string
  /** Runs statements as `supabase_admin`, and returns the rows of the last one. */
  readonly query: (text: string) => Promise<Record<string, unknown>[]>
}

/** Starts the cluster for the duration of a test. As in the image, its first superuser is `supabase_admin`. */
export async function startSupabaseDatabase(t: Pick<Test, 'teardown'>): Promise<SupabaseDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-supabase-'))
  const cluster = await startEmbedded({ dataDir: join(folder, 'data'), log: () => undefined })
  t.teardown(async () => {
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  })
  await withClient(cluster.adminUri, (client) => client.query('drop role authenticator'))
  return prepareSupabase(cluster.port, cluster.adminUri)
}

/**
 * Makes the database `postgres` of a new cluster that of a project.
 *
 * @param adminUri connection string of its first superuser, `postgres`, who becomes `supabase_admin`
 */
export async function prepareSupabase(port: number, adminUri: string): Promise<SupabaseDatabase> {
  const uri = (role: string, name = 'postgres'): string => uriOf(port, name, `${role}:${role}`)
  const query = (text: string): Promise<Record<string, unknown>[]> => run(uri('supabase_admin'), text)
  // A session cannot rename its own role.
  await run(adminUri, `create role helper superuser login password 'helper'`)
  await run(
    uri('helper'),
    `alter role postgres rename to supabase_admin; alter role supabase_admin password 'supabase_admin'`,
  )
  await query('drop role helper')
  await query(await fixture('supabase-image'))
  await query((await fixture('supabase-auth')).replace(/^create schema auth .*$/m, ''))
  await query(await fixture('supabase-project'))
  return { port, uri, query }
}

/** Runs statements, and returns the rows of the last one. */
const run = (uri: string, text: string): Promise<Record<string, unknown>[]> =>
  withClient(uri, async (client) => {
    const results: unknown = await client.query(text)
    const last = (Array.isArray(results) ? results.at(-1) : results) as pg.QueryResult<Record<string, unknown>>
    return last.rows
  })
