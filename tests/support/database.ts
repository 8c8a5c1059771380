// A database of its own for a test file.
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { readCluster, uriOf } from './cluster.ts'

export type TestDatabase = {
  readonly name: string
  readonly port: number
  /** Connection string of the superuser. */
  readonly adminUri: string
  /** Connection string for a login role of this database: `uri('authenticator', 'password')`. */
  readonly uri: (role: string, password: string) => string
  /** Runs SQL as the superuser; several statements are allowed when there are no values. */
  readonly query: (text: string, values?: unknown[]) => Promise<pg.QueryResult<Record<string, unknown>>>
  readonly drop: () => Promise<void>
}

async function asAdmin(port: number, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: uriOf(port, 'postgres') })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

/** Creates a database, empty or as a copy of another one. */
export async function createDatabase(template = 'template1'): Promise<TestDatabase> {
  const { port } = await readCluster()
  const name = `test_${randomBytes(6).toString('hex')}`
  await asAdmin(port, `create database ${name} template ${pg.escapeIdentifier(template)}`)
  const adminUri = uriOf(port, name)
  const pool = new pg.Pool({ connectionString: adminUri, max: 2 })
  return {
    name,
    port,
    adminUri,
    uri: (role, password) => uriOf(port, name, `${role}:${password}`),
    query: (text, values) => pool.query<Record<string, unknown>>(text, values),
    drop: async () => {
      await pool.end()
      await asAdmin(port, `drop database if exists ${name} with (force)`)
    },
  }
}
