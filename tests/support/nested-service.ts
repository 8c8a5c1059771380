// The service on the database of `fixtures/nested.sql`.
import type { Test } from 'tap'
import type { Environment } from '../../server/config/config-sources.ts'
import { startApplication, type Application } from './application.ts'
import type { TestDatabase } from './database.ts'
import { createFixtureDatabase } from './fixture.ts'
import { bearer } from './token.ts'

export type NestedService = Application & { readonly database: TestDatabase; readonly uri: string }

/** Starts the service. By default, requests are rolled back, so that rows of tables do not depend on earlier writes. */
export async function startNested(t: Pick<Test, 'teardown'>, env: Environment = {}): Promise<NestedService> {
  const database = await createFixtureDatabase('nested')
  t.teardown(() => database.drop())
  const uri = database.uri('nested_server', 'nested')
  const settings = { PGRST_DB_SCHEMAS: 'store', PGRST_DB_TX_END: 'rollback-allow-override', ...env }
  return { ...(await startApplication(t, uri, settings)), database, uri }
}

/** The header of a user of the store. */
export const user = async (sub: string, role = 'nested_clerk'): Promise<{ readonly Authorization: string }> => ({
  Authorization: await bearer(role, { sub }),
})
