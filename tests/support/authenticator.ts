// A login role created for a test, because roles belong to the whole cluster.
import type { Test } from 'tap'
import { createDatabase, type TestDatabase } from './database.ts'

export type OwnedDatabase = {
  readonly database: TestDatabase
  /** Name of the serving role. */
  readonly authenticator: string
  /** Name of the anonymous role. */
  readonly anonymous: string
  /** Connection string of the serving role. */
  readonly uri: string
}

/** Creates a database with a serving role and an anonymous one, for the duration of a test. */
export async function createOwnedDatabase(t: Pick<Test, 'teardown'>): Promise<OwnedDatabase> {
  const database = await createDatabase()
  const authenticator = `authenticator_${database.name}`
  const anonymous = `anonymous_${database.name}`
  t.teardown(async () => {
    await database.query(`drop owned by ${authenticator}, ${anonymous}; drop role ${authenticator}, ${anonymous}`)
    await database.drop()
  })
  await database.query(`
    create role ${anonymous};
    create role ${authenticator} login noinherit password 'secret' in role ${anonymous};
  `)
  return { database, authenticator, anonymous, uri: database.uri(authenticator, 'secret') }
}
