// A Citus coordinator with workers, on Debian's PostgreSQL. Citus is built from its source; it is not in Debian.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { placeOf, startDebianServer, type DebianServer } from './debian-server.ts'

export type CitusCluster = {
  readonly coordinator: DebianServer
  readonly workers: readonly DebianServer[]
  readonly stop: () => Promise<void>
}

/** Whether Citus is installed for this version of PostgreSQL. */
export function isCitusInstalled(): boolean {
  try {
    return existsSync(join(placeOf('--sharedir'), 'extension', 'citus.control'))
  } catch {
    return false
  }
}

/** Starts a coordinator without shards and two workers. */
export async function startCitusCluster(): Promise<CitusCluster> {
  const servers: DebianServer[] = []
  const stop = async (): Promise<void> => {
    for (const server of servers.reverse()) await server.stop()
  }
  try {
    for (let index = 0; index < 3; index++) {
      const server = await startDebianServer({
        shared_preload_libraries: 'citus',
        // Connections between the nodes on one machine need no TLS.
        'citus.node_conninfo': 'sslmode=disable',
        // On a busy machine, a connection may take longer than the default.
        'citus.node_connection_timeout': '120s',
        max_connections: '200',
        max_prepared_transactions: '200',
      })
      servers.push(server)
      await server.query('create extension citus')
    }
    const [coordinator, ...workers] = servers as [DebianServer, ...DebianServer[]]
    await coordinator.query(`select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`)
    for (const { port } of workers) await coordinator.query(`select citus_add_node('127.0.0.1', ${port})`)
    return { coordinator, workers, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
