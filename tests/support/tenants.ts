// The schema of `tests/tenants`: organisations and their data, protected by policies of every kind.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import { readCluster, uriOf } from './cluster.ts'
import { createMigratedDatabase, withClient, type MigratedDatabase } from './database.ts'

/** The folder of the migrations and `seed.sql`. */
export const tenantsFolder = new URL('../tenants/', import.meta.url)

/** Ids of the users, whose addresses are `anna@example.org` and so on. */
export const tenantUsers = {
  anna: 'aaaaaaaa-0000-4000-8000-000000000001',
  ben: 'bbbbbbbb-0000-4000-8000-000000000002',
  cleo: 'cccccccc-0000-4000-8000-000000000003',
  dora: 'dddddddd-0000-4000-8000-000000000004',
  emil: 'eeeeeeee-0000-4000-8000-000000000005',
  fred: 'ffffffff-0000-4000-8000-000000000006',
  gina: '99999999-0000-4000-8000-000000000007',
} as const

/** Ids of the organisations. Cedar is suspended. */
export const tenantOrganisations = {
  acme: '00000000-0000-4000-8000-0000000000ac',
  birch: '00000000-0000-4000-8000-0000000000b1',
  cedar: '00000000-0000-4000-8000-0000000000ce',
} as const

/** The SQL of all migrations in their order, and of the seed. */
export async function readTenants(): Promise<{ readonly migrations: readonly string[]; readonly seed: string }> {
  const folder = new URL('migrations/', tenantsFolder)
  const names = (await readdir(folder)).sort()
  return {
    migrations: await Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8'))),
    seed: await readFile(new URL('seed.sql', tenantsFolder), 'utf8'),
  }
}

/** Creates a migrated database with the tenants and their data, as a copy of a template that is made once per cluster. */
export async function createTenantsDatabase(): Promise<MigratedDatabase> {
  const { port } = await readCluster()
  return createMigratedDatabase(await tenantsTemplate(port))
}

/** The template's name contains a hash of its SQL, because a cluster may outlive an edit. */
async function tenantsTemplate(port: number): Promise<(migrated: string) => Promise<string>> {
  const { migrations, seed } = await readTenants()
  const sql = [...migrations, seed].join('\n')
  const hash = createHash('sha256').update(sql).digest('hex').slice(0, 16)
  return (migrated) =>
    withClient(uriOf(port, 'postgres'), async (admin) => {
      const template = `tenants_${createHash('sha256').update(`${migrated} ${hash}`).digest('hex').slice(0, 16)}`
      // Test files run in parallel: one creates the template, the others wait.
      await admin.query("select pg_advisory_lock(hashtext('tenants template'))")
      const { rowCount } = await admin.query('select from pg_database where datname = $1 and datistemplate', [template])
      if (rowCount !== 0) return template
      await admin.query(`drop database if exists ${pg.escapeIdentifier(template)}`)
      await admin.query(`create database ${pg.escapeIdentifier(template)} template ${pg.escapeIdentifier(migrated)}`)
      await withClient(uriOf(port, template), (client) => client.query(sql))
      // Last, because it marks the template as complete.
      await admin.query(`alter database ${pg.escapeIdentifier(template)} is_template true`)
      return template
    })
}
