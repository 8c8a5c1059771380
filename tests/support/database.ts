// Creates a database for a test file.
import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import { sqlState } from '../../server/postgres/database-error.ts'
import { migrate } from '../../server/postgres/migrate.ts'
import { readCluster, uriOf } from './cluster.ts'
import { until } from './until.ts'

export type TestDatabase = {
  readonly name: string
  readonly port: number
  /** Of PostgreSQL, such as 18. */
  readonly majorVersion: number
  /** Connection string of the superuser. */
  readonly adminUri: string
  /** Connection string for a login role of this database: `uri('authenticator', 'password')`. */
  readonly uri: (role: string, password: string) => string
  /** Runs SQL as the superuser; several statements are allowed when there are no values. */
  readonly query: (text: string, values?: unknown[]) => Promise<pg.QueryResult<Record<string, unknown>>>
  readonly drop: () => Promise<void>
}

/** Lends a new connection to `use`. */
export async function withClient<T>(uri: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: uri })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

const asAdmin = (port: number, text: string): Promise<unknown> =>
  withClient(uriOf(port, 'postgres'), (client) => client.query(text))

/** Creates a database, empty or as a copy of another one. */
export async function createDatabase(template = 'template1'): Promise<TestDatabase> {
  const { port, majorVersion } = await readCluster()
  const name = `test_${randomBytes(6).toString('hex')}`
  // Faster than the default strategy, which writes the copy to the log, too. PostgreSQL 14 has no other.
  const strategy = majorVersion >= 15 ? 'strategy file_copy' : ''
  await asAdmin(port, `create database ${name} template ${pg.escapeIdentifier(template)} ${strategy}`)
  const adminUri = uriOf(port, name)
  const pool = new pg.Pool({ connectionString: adminUri, max: 2 })
  // `drop` may terminate a connection that is being closed.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return {
    name,
    port,
    majorVersion,
    adminUri,
    uri: (role, password) => uriOf(port, name, `${role}:${password}`),
    query: (text, values) => pool.query<Record<string, unknown>>(text, values),
    drop: async () => {
      await pool.end()
      // A slot is released a moment after its connection has ended.
      const isDropped = await until(() =>
        asAdmin(port, `drop database if exists ${name} with (force)`).then(
          () => true,
          (error: unknown) => {
            if (sqlState(error) !== '55006') throw error
            return false
          },
        ),
      )
      if (!isDropped) throw new Error(`${name} is still in use`)
    },
  }
}

export type MigratedDatabase = TestDatabase & {
  /** Connection string of `authenticator`, the role the program connects as. */
  readonly authenticatorUri: string
}

const authenticatorPassword = 'authenticator'
const migrations = new URL('../../sql/migrations/', import.meta.url)

/**
 * Creates a migrated database, as a copy of a template that is migrated once per cluster.
 *
 * @param extend returns the name of a template that was made from the given one
 */
export async function createMigratedDatabase(
  extend: (template: string) => Promise<string> = (template) => Promise.resolve(template),
): Promise<MigratedDatabase> {
  const { port } = await readCluster()
  const template = await extend(await migratedTemplate(port))
  const database = await createDatabase(template)
  return { ...database, authenticatorUri: database.uri('authenticator', authenticatorPassword) }
}

/** The template's name contains a hash of its migrations, because a cluster may outlive an edit of them. */
async function migratedTemplate(port: number): Promise<string> {
  const hash = createHash('sha256')
  for (const file of (await readdir(migrations)).sort()) hash.update(await readFile(new URL(file, migrations)))
  const template = `migrated_${hash.digest('hex').slice(0, 16)}`
  return withClient(uriOf(port, 'postgres'), async (admin) => {
    // Test files run in parallel: one creates the template, the others wait.
    await admin.query("select pg_advisory_lock(hashtext('migrated template'))")
    const { rowCount } = await admin.query('select from pg_database where datname = $1 and datistemplate', [template])
    if (rowCount === 0) {
      await admin.query(`drop database if exists ${template}`)
      await admin.query(`create database ${template}`)
      await withClient(uriOf(port, template), (client) => migrate(client))
      await admin.query(`alter role authenticator password '${authenticatorPassword}'`)
      // Last, because it marks the template as complete.
      await admin.query(`alter database ${template} is_template true`)
    }
    return template
  })
}
