// Loads the files of `tests/fixtures`.
import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { createDatabase, withClient, type TestDatabase } from './database.ts'
import { readCluster, uriOf } from './cluster.ts'

/** The text of `tests/fixtures/<fixture>.sql`. */
export const readFixture = (fixture: string): Promise<string> =>
  readFile(new URL(`../fixtures/${fixture}.sql`, import.meta.url), 'utf8')

/** Runs a fixture, as the superuser. */
export async function loadFixture(database: TestDatabase, fixture: string): Promise<void> {
  await database.query(await readFixture(fixture))
}

/**
 * Creates a database as a copy of a template, into which a fixture is loaded once per cluster: the file may create
 * roles, which all databases of the cluster share.
 */
export async function createFixtureDatabase(fixture: string): Promise<TestDatabase> {
  const { port } = await readCluster()
  const template = `fixture_${fixture}`
  await withClient(uriOf(port, 'postgres'), async (admin) => {
    // Test files run in parallel: one creates the template, the others wait.
    await admin.query("select pg_advisory_lock(hashtext('fixture template'))")
    const { rowCount } = await admin.query('select from pg_database where datname = $1 and datistemplate', [template])
    if (rowCount !== 0) return
    await admin.query(`create database ${pg.escapeIdentifier(template)}`)
    const sql = await readFixture(fixture)
    await withClient(uriOf(port, template), (client) => client.query(sql))
    // Last, because it marks the template as complete.
    await admin.query(`alter database ${pg.escapeIdentifier(template)} is_template true`)
  })
  return createDatabase(template)
}
