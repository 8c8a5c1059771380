// A service with tables for conditional requests.
import type { Test } from 'tap'
import { startApplication, type Application } from './application.ts'
import type { Answer } from './call.ts'
import { createMigratedDatabase, type TestDatabase } from './database.ts'
import { loadFixture } from './fixture.ts'
import { signToken } from './token.ts'

export type Conditional = Application & {
  readonly database: TestDatabase
  /** The token of a user. */
  readonly token: string
  /** Sends a request as a user. The path is below the mount path. */
  readonly as: (
    user: 'ann' | 'bob' | 'nobody',
    method: string,
    path: string,
    more?: { body?: unknown; headers?: Record<string, string> },
  ) => Promise<Answer>
}

export async function startConditional(t: Test, env: Record<string, string> = {}): Promise<Conditional> {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  await loadFixture(database, 'conditional')
  const application = await startApplication(t, database.authenticatorUri, {
    SERVICES: 'rest',
    PGRST_DB_SCHEMAS: 'cond',
    DB_VERSION_COLUMN: 'row_version',
    PGRST_LOG_LEVEL: 'crit',
    ...env,
  })
  const tokens = {
    ann: await signToken({ role: 'authenticated', sub: 'ann' }),
    bob: await signToken({ role: 'authenticated', sub: 'bob' }),
  }
  return {
    ...application,
    database,
    token: tokens.ann,
    as: (user, method, path, { body, headers } = {}) =>
      application.call(method, `/rest/v1${path}`, {
        ...(body === undefined ? {} : { body }),
        headers: { ...(user === 'nobody' ? {} : { Authorization: `Bearer ${tokens[user]}` }), ...headers },
      }),
  }
}

/** The entity tag of a response; empty without one. */
export const tagOf = ({ headers }: Answer): string => headers.get('etag') ?? ''
