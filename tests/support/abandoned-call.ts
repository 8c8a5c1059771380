// Calls of any duration, from clients that may disconnect.
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import type { Environment } from '../../server/config/config-sources.ts'
import { createMigratedDatabase, type MigratedDatabase } from './database.ts'

export type NapDatabase = {
  readonly database: MigratedDatabase
  /** Settings of a server whose anonymous role may call `nap(seconds)` in the schema `api`. */
  readonly settings: Environment
  /** Name of that role. */
  readonly role: string
  /** The number of calls that are running. */
  readonly naps: () => Promise<number>
}

/** Creates a database with the function, for the duration of a test file. */
export async function createNapDatabase(t: Pick<Test, 'teardown'>): Promise<NapDatabase> {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  const role = `napping_${database.name}`
  await database.query(`
    create role ${role} nologin;
    grant ${role} to authenticator;
    create schema api;
    create function api.nap(seconds float8) returns text language sql volatile as $$ select pg_sleep(seconds)::text $$;
    grant usage on schema api to ${role}`)
  t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))
  const running = `select from pg_stat_activity where datname = current_database() and state = 'active'
    and query like '%nap%' and query not like '%pg_stat_activity%'`
  return {
    database,
    role,
    settings: { PGRST_DB_ANON_ROLE: role, PGRST_DB_SCHEMAS: 'api' },
    naps: async () => (await database.query(running)).rowCount ?? 0,
  }
}

/** The text of a request that calls the function. */
export const napByGet = (seconds: number): string =>
  `GET /rest/v1/rpc/nap?seconds=${seconds} HTTP/1.1\r\nHost: localhost\r\n\r\n`

/** The same request as POST. */
export function napByPost(seconds: number): string {
  const body = JSON.stringify({ seconds })
  return [
    'POST /rest/v1/rpc/nap HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')
}

/** Sends requests on one connection without waiting for responses. */
export function sendTo(url: string, ...requests: readonly string[]): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  for (const request of requests) socket.write(request)
  return socket
}
