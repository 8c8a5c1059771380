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

/**
 * Creates such a database with a table of films, `public.films`, which the anonymous role may read.
 *
 * @param rows the number of films; their ids count from 1
 */
export async function createFilmDatabase(t: Pick<Test, 'teardown'>, rows = 0): Promise<OwnedDatabase> {
  const owned = await createOwnedDatabase(t)
  await owned.database.query(`
    create table public.films (id int primary key);
    insert into public.films select generate_series(1, ${rows});
    grant select on public.films to ${owned.anonymous};
  `)
  return owned
}
