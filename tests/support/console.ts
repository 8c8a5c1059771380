// Servers with a console, and clients of its routes.
import type { Test } from 'tap'
import type { Environment } from '../../server/config/config-sources.ts'
import type { ConsoleSession } from '../../server/services/console/protocol.ts'
import { createConsoleLink } from '../../server/tools/console/console-session.ts'
import { startApplication, type Application } from './application.ts'
import { createMigratedDatabase, type MigratedDatabase } from './database.ts'

type Ended = Pick<Test, 'teardown'>

export type ConsoleServer = Application & {
  readonly database: MigratedDatabase
  /** A new link that opens the console once. */
  readonly link: () => Promise<string>
}

/**
 * Starts a server that takes itself for one of the development mode.
 *
 * @param sql runs as the superuser before the server starts
 */
export async function startConsoleServer(t: Ended, env: Environment = {}, sql?: string): Promise<ConsoleServer> {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  if (sql !== undefined) await database.query(sql)
  const application = await startApplication(t, database.authenticatorUri, {
    ROWHOUSE_EMBEDDED: 'true',
    MIGRATION_DATABASE_URL: database.adminUri,
    REALTIME_DATABASE_URL: database.adminUri,
    ...env,
  })
  return {
    ...application,
    database,
    link: () => createConsoleLink(database.query, application.url, 'test'),
  }
}

export type ConsoleClient = {
  readonly session: ConsoleSession
  readonly cookie: string
  /** Calls a route below `/console/api/` with the cookie and the header. @returns status and body */
  readonly call: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<{ readonly status: number; readonly body: ConsoleBody; readonly headers: Headers }>
}

export type ConsoleBody = {
  readonly status?: string
  readonly message?: string
  readonly details?: unknown
}

/** Signs in with a printed link. */
export async function signInToConsole({ url, link }: Pick<ConsoleServer, 'url' | 'link'>): Promise<ConsoleClient> {
  const [, code] = (await link()).split('#code=')
  const response = await fetch(`${url}/console/api/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code }),
  })
  const { details } = (await response.json()) as { readonly details: ConsoleSession }
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';', 1)
  return {
    session: details,
    cookie,
    call: async (method, path, body, headers = {}) => {
      const answer = await fetch(`${url}/console/api/${path}`, {
        method,
        headers: {
          cookie,
          'X-Console-Token': details.token,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      return {
        status: answer.status,
        headers: answer.headers,
        body: (text === '' ? {} : JSON.parse(text)) as ConsoleBody,
      }
    },
  }
}
