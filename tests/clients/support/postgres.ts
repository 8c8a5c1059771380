// Databases in the versions of PostgreSQL of this machine: the embedded one, and Debian's.
import { existsSync } from 'node:fs'
import { appendFile, chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { binariesIn, findBinaries, type Binaries } from '../../../server/postgres/embedded/binaries.ts'
import { startPostmaster } from '../../../server/postgres/embedded/postmaster.ts'
import { databaseUser } from '../../../server/postgres/embedded/system-user.ts'
import { uriOf } from '../../support/cluster.ts'
import { withClient } from '../../support/database.ts'
import { freePort } from '../../support/free-port.ts'
import { createCluster } from '../../support/postgres-versions.ts'

const user = await databaseUser(null)
const debian = '/usr/lib/postgresql/15'

/** The versions that are here, the embedded one first. */
export const versions: readonly Binaries[] = [
  await findBinaries(user),
  ...(existsSync(debian) ? [await binariesIn(debian, user)] : []),
]

export type Postgres = {
  /** Creates an empty database. @returns its connection string as the superuser `postgres` */
  readonly create: (name: string) => Promise<string>
  /** The connection string of another login. */
  readonly as: (uri: string, role: string, password: string) => string
}

/** Starts a server for the duration of a test. */
export async function startPostgres(t: Pick<Test, 'teardown'>, binaries: Binaries): Promise<Postgres> {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-postgres-'))
  await chmod(folder, 0o711)
  const cluster = await createCluster(folder, binaries, user)
  await appendFile(join(cluster, 'postgresql.conf'), '\nfsync = off\nshared_buffers = 16MB\n')
  const port = await freePort()
  const settings = { shared_preload_libraries: 'pg_stat_statements' }
  const server = await startPostmaster({ binaries, cluster, user, port, logFile: join(folder, 'log'), settings })
  t.teardown(async () => {
    await server.stop()
    for (const place of new Set([folder, dirname(cluster)])) await rm(place, { recursive: true, force: true })
  })
  return {
    create: async (name) => {
      await withClient(uriOf(port, 'postgres'), (client) => client.query(`create database ${name}`))
      return uriOf(port, name)
    },
    as: (uri, role, password) => uriOf(port, new URL(uri).pathname.slice(1), `${role}:${password}`),
  }
}
