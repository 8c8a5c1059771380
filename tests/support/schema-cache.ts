// Loads the schema cache of a test database, as the server does.
import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { loadSchemaCache, type SchemaCacheOptions } from '../../server/schema-cache/load.ts'
import type { SchemaCache } from '../../server/schema-cache/schema-cache.ts'
import { createDatabase, type TestDatabase } from './database.ts'

const defaults: SchemaCacheOptions = {
  schemas: ['api'],
  extraSearchPath: ['extra'],
  hoistedSettings: ['statement_timeout', 'plan_filter.statement_cost_limit', 'default_transaction_isolation'],
}

/** A database with the objects of `fixtures/schema-cache.sql`. */
export async function createSchemaCacheDatabase(): Promise<TestDatabase> {
  const database = await createDatabase()
  await database.query(await readFile(new URL('../fixtures/schema-cache.sql', import.meta.url), 'utf8'))
  return database
}

export async function loadFrom(
  database: TestDatabase,
  options: Partial<SchemaCacheOptions> = {},
): Promise<SchemaCache> {
  const client = new pg.Client({ connectionString: database.adminUri })
  await client.connect()
  try {
    await client.query('begin isolation level repeatable read read only')
    return await loadSchemaCache(
      async (text, values) => (await client.query<Record<string, unknown>>(text, values)).rows,
      { ...defaults, ...options },
    )
  } finally {
    await client.end()
  }
}
