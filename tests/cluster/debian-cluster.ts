// A primary and standbys of Debian's PostgreSQL, run by the user postgres.
import { existsSync } from 'node:fs'
import { appendFile, chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from '../support/free-port.ts'
import { asPostgres, bin, installPackage, postgresUser, postgresVersion } from './debian-user.ts'

export type Server = {
  /** Its name for synchronous replication. */
  readonly name: string
  readonly port: number
  readonly query: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>
  readonly start: () => Promise<void>
  /** Kills the server at once, as if its machine were lost. */
  readonly kill: () => Promise<void>
  readonly promote: () => Promise<void>
  /** Makes a standby follow another primary. */
  readonly follow: (primary: Server) => Promise<void>
}

export type DebianCluster = {
  readonly primary: Server
  readonly standbys: readonly Server[]
  readonly stop: () => Promise<void>
}

/**
 * Starts a primary and one standby for each delay. Writes are acknowledged when one standby has them.
 *
 * @param delays `recovery_min_apply_delay` of each standby, in milliseconds
 */
export async function startDebianCluster(delays: readonly number[]): Promise<DebianCluster> {
  if (!existsSync(join(bin, 'postgres'))) installPackage(`postgresql-${postgresVersion}`)
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-cluster-'))
  await chmod(folder, 0o711)
  const user = postgresUser()
  if (user) await chown(folder, user.uid, user.gid)
  const servers: Server[] = []
  const conninfo = (port: number, name: string): string =>
    `host=127.0.0.1 port=${port} user=postgres application_name=${name}`
  const server = async (
    name: string,
  ): Promise<Server & { readonly place: string; readonly end: () => Promise<void> }> => {
    const place = join(folder, name)
    const port = await freePort()
    const connectionString = `postgresql://postgres@127.0.0.1:${port}/postgres`
    const pool = new pg.Pool({ connectionString, max: 2 })
    pool.on('error', () => undefined)
    const control = (...args: string[]): Promise<unknown> => asPostgres('pg_ctl', ['-D', place, '-w', ...args])
    return {
      name,
      port,
      place,
      query: async (text, values) => (await pool.query<Record<string, unknown>>(text, values)).rows,
      // Output must not be a pipe, which the server would keep open.
      start: async () => void (await control('-l', join(folder, `${name}.log`), '-o', `-p ${port} -k ""`, 'start')),
      kill: async () => void (await control('-m', 'immediate', 'stop')),
      promote: async () => void (await control('promote')),
      follow: async ({ port: source }) => {
        await pool.query(`alter system set primary_conninfo = '${conninfo(source, name)}'`)
        await pool.query('select pg_reload_conf()')
      },
      end: async () => {
        await pool.end()
        await control('-m', 'immediate', 'stop').catch(() => undefined)
      },
    }
  }
  const primary = await server('primary')
  await asPostgres('initdb', ['-D', primary.place, '-A', 'trust', '-U', 'postgres', '--locale=C.UTF-8'])
  await appendFile(
    join(primary.place, 'postgresql.conf'),
    `listen_addresses = '127.0.0.1'\nmax_connections = 100\nshared_buffers = 128MB\nwal_keep_size = 512MB\nwal_retrieve_retry_interval = 200ms\n`,
  )
  await primary.start()
  servers.push(primary)
  const ends = [primary.end]
  for (const [index, delay] of delays.entries()) {
    const standby = await server(`standby_${index + 1}`)
    await asPostgres('pg_basebackup', [
      '-D',
      standby.place,
      '-d',
      conninfo(primary.port, standby.name),
      '-R',
      '-c',
      'fast',
    ])
    await appendFile(join(standby.place, 'postgresql.auto.conf'), `recovery_min_apply_delay = ${delay}\n`)
    await standby.start()
    servers.push(standby)
    ends.push(standby.end)
  }
  const [, ...standbys] = servers
  const names = standbys.map(({ name }) => name).join(', ')
  for (const { query } of standbys.length > 0 ? servers : []) {
    await query(`alter system set synchronous_standby_names = 'ANY 1 (${names})'`)
    await query('select pg_reload_conf()')
  }
  return {
    primary,
    standbys,
    stop: async () => {
      for (const end of ends.reverse()) await end()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
