// A migrated database of Debian's PostgreSQL, and processes of the program on it.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { withClient } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { command, says, startProgram, type Program } from '../support/program.ts'
import { startDebianCluster } from './debian-cluster.ts'
import { mixedLoadSql } from './mixed-load.ts'

const run = promisify(execFile)

/** One place behind the balancer: a port, and the process that listens on it. */
export type Seat = { readonly port: number; program: Program }

export type ServedDatabase = {
  readonly query: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>
  /** Runs `migrate` of a version. @param main path of its `main.js` */
  readonly migrate: (main?: string) => Promise<void>
  /** An API key of `service_role`. */
  readonly createKey: () => Promise<string>
  /** Starts a process, and waits until it is ready. */
  readonly seat: (port?: number, main?: string, env?: Readonly<Record<string, string>>) => Promise<Seat>
  /** Process id of the database server. */
  readonly serverPid: () => Promise<number>
  readonly stop: () => Promise<void>
}

/**
 * Starts a database, which is not migrated yet.
 *
 * @param env further settings of all processes
 */
export async function startServedDatabase(env: Readonly<Record<string, string>> = {}): Promise<ServedDatabase> {
  const { primary, stop } = await startDebianCluster([])
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-served-'))
  const ownerUri = `postgresql://postgres@127.0.0.1:${primary.port}/postgres`
  const settings = {
    DATABASE_URL: `postgresql://authenticator@127.0.0.1:${primary.port}/postgres`,
    MIGRATION_DATABASE_URL: ownerUri,
    PGRST_JWT_SECRET: 'a secret for tests, of more than 32 characters',
    SESSION_SECRETS: 's'.repeat(32),
    STORAGE_FILE_BACKEND_PATH: folder,
    GOTRUE_MAILER_AUTOCONFIRM: 'true',
    GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '0',
    GOTRUE_RATE_LIMIT_OTP: '0',
    TRUSTED_PROXIES: '1',
    AUTH_ADDRESS_LIMIT: '1000000',
    PGRST_LOG_LEVEL: 'error',
    ...env,
  }
  const ends: (() => unknown)[] = []
  const closing = { teardown: (end: () => unknown) => ends.push(end) }
  return {
    query: primary.query,
    migrate: async (main) => {
      const [node = process.execPath, own = ''] = command()
      const inherited = { PATH: process.env.PATH ?? '' }
      await run(node, [main ?? own, 'migrate'], { env: { ...inherited, ...settings } })
      const [row] = await primary.query("select to_regclass('public.ledger') is null as missing")
      if (row?.missing === true) await primary.query(mixedLoadSql)
    },
    createKey: async () => {
      const wanted = { role: 'service_role', label: 'load' } as const
      const { key } = await withClient(ownerUri, (client) => createApiKey(client, wanted))
      await primary.query('grant select on public.films to service_role')
      return key
    },
    seat: async (given, main, more = {}) => {
      const port = given ?? (await freePort())
      const line = main === undefined ? command() : [process.execPath, main]
      const program = startProgram(closing, { ...settings, PGRST_SERVER_PORT: String(port), ...more }, [], line)
      await program.line(says('listening'))
      while ((await program.call('GET', '/ready')).status !== 200) await pause(20)
      return { port, program }
    },
    serverPid: async () => {
      const [row] = await primary.query("select current_setting('data_directory') as folder")
      const [pid = ''] = (await readFile(join(String(row?.folder), 'postmaster.pid'), 'utf8')).split('\n')
      return Number(pid)
    },
    stop: async () => {
      for (const end of ends.reverse()) await end()
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
