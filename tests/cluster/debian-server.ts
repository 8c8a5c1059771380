// A server of Debian's PostgreSQL with settings of its own, run by the user postgres.
import { execFileSync } from 'node:child_process'
import { appendFile, chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from '../support/free-port.ts'
import { asPostgres, bin, postgresUser } from './debian-user.ts'

/** Where this version of PostgreSQL keeps what `pg_config` names: `--sharedir`, `--pkglibdir`. */
export const placeOf = (option: '--sharedir' | '--pkglibdir'): string =>
  execFileSync(join(bin, 'pg_config'), [option]).toString().trim()

export type DebianServer = {
  readonly port: number
  /** A pool of connections of the superuser to the database `postgres`. */
  readonly pool: pg.Pool
  /** Runs statements without parameters as the superuser, and returns the rows of the last one. */
  readonly query: (text: string) => Promise<Record<string, unknown>[]>
  readonly stop: () => Promise<void>
}

/**
 * Creates a server on a free port of 127.0.0.1 and starts it. Every connection is trusted.
 *
 * @param settings lines of `postgresql.conf`
 */
export async function startDebianServer(settings: Readonly<Record<string, string>> = {}): Promise<DebianServer> {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-server-'))
  await chmod(folder, 0o711)
  const user = postgresUser()
  if (user) await chown(folder, user.uid, user.gid)
  const place = join(folder, 'data')
  await asPostgres('initdb', ['-D', place, '-A', 'trust', '-U', 'postgres', '--locale=C.UTF-8', '--no-sync'])
  const all = { listen_addresses: '127.0.0.1', fsync: 'off', ...settings }
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${value}'\n`)
  await appendFile(join(place, 'postgresql.conf'), lines.join(''))
  const port = await freePort()
  const control = (...args: string[]): Promise<unknown> => asPostgres('pg_ctl', ['-D', place, '-w', ...args])
  // Output must not be a pipe, which the server would keep open.
  await control('-l', join(folder, 'log'), '-o', `-p ${port} -k "${folder}"`, 'start')
  const pool = new pg.Pool({ connectionString: `postgresql://postgres@127.0.0.1:${port}/postgres`, max: 2 })
  pool.on('error', () => undefined)
  return {
    port,
    pool,
    query: async (text) => {
      const results: unknown = await pool.query(text)
      const last = (Array.isArray(results) ? results.at(-1) : results) as pg.QueryResult<Record<string, unknown>>
      return last.rows
    },
    stop: async () => {
      await pool.end()
      await control('-m', 'immediate', 'stop').catch(() => undefined)
      await rm(folder, { recursive: true, force: true })
    },
  }
}
