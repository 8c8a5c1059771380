// Loads the schema cache of a test database, as the server does.
import pg from 'pg'
import {
  loadSchemaCache,
  type LoadPace,
  type SchemaCacheMemory,
  type SchemaCacheOptions,
} from '../../server/catalogue/load.ts'
import type { SchemaCache } from '../../server/catalogue/schema-cache.ts'
import type { TestDatabase } from './database.ts'
import { createFixtureDatabase } from './fixture.ts'

const defaults: SchemaCacheOptions = {
  schemas: ['api'],
  extraSearchPath: ['extra'],
  hoistedSettings: ['statement_timeout', 'plan_filter.statement_cost_limit', 'default_transaction_isolation'],
}

/** A database with the objects of `fixtures/schema-cache.sql`. */
export const createSchemaCacheDatabase = (): Promise<TestDatabase> => createFixtureDatabase('schema-cache')

export async function loadFrom(
  database: TestDatabase,
  options: Partial<SchemaCacheOptions> = {},
  pace?: LoadPace,
  memory?: SchemaCacheMemory,
): Promise<SchemaCache> {
  const client = new pg.Client({ connectionString: database.adminUri })
  await client.connect()
  try {
    await client.query('begin isolation level repeatable read read only')
    return await loadSchemaCache(
      async (text, values) => (await client.query<Record<string, unknown>>(text, values)).rows,
      { ...defaults, ...options },
      pace,
      memory,
    )
  } finally {
    await client.end()
  }
}
