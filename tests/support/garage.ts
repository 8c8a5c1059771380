// The database of the read tests: `fixtures/reads.sql`, read with a read-only role.
import type { Test } from 'tap'
import type { Environment } from '../../server/config/config-sources.ts'
import type { TestDatabase } from './database.ts'
import { createFixtureDatabase } from './fixture.ts'

export type Garage = {
  readonly database: TestDatabase
  /** Settings of a server on this database, by PostgREST's names. */
  readonly environment: Environment
}

/** Creates the database for the duration of a test. */
export async function createGarage(t: Pick<Test, 'teardown'>): Promise<Garage> {
  const database = await createFixtureDatabase('reads')
  const visitor = `visitor_${database.name}`
  t.teardown(async () => {
    await database.drop()
  })
  await database.query(`create role ${visitor}`)
  const environment = {
    PGRST_DB_URI: database.adminUri,
    PGRST_DB_ANON_ROLE: visitor,
    PGRST_DB_SCHEMAS: 'garage, depot',
    PGRST_DB_EXTRA_SEARCH_PATH: 'tools',
  }
  return { database, environment }
}
