// The service on the database of `fixtures/writes.sql`.
import type { Test } from 'tap'
import type { Environment } from '../../server/config/config-sources.ts'
import { startApplication, type Application } from './application.ts'
import type { TestDatabase } from './database.ts'
import { createFixtureDatabase } from './fixture.ts'

export const writesSettings = {
  PGRST_DB_SCHEMAS: 'garage,depot',
  PGRST_DB_ANON_ROLE: 'garage_anon',
  // Transactions are rolled back, so rows of a table do not depend on earlier writes.
  PGRST_DB_TX_END: 'rollback-allow-override',
}

export type WritesService = Application & { readonly database: TestDatabase; readonly uri: string }

export async function startWrites(t: Pick<Test, 'teardown'>, env: Environment = {}): Promise<WritesService> {
  const database = await createFixtureDatabase('writes')
  t.teardown(() => database.drop())
  const uri = database.uri('garage_server', 'garage')
  return { ...(await startApplication(t, uri, { ...writesSettings, ...env })), database, uri }
}
