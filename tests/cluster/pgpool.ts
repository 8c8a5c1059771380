// Pgpool-II in front of a server.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { startProgram } from './debian-packages.ts'
import { trustedUri, type Pooler } from './pooler.ts'

/**
 * Starts Pgpool-II.
 *
 * @param server port of the server
 */
export async function startPgpool(folder: string, server: number): Promise<Pooler> {
  const port = await freePort()
  const control = await freePort()
  const file = join(folder, 'pgpool.conf')
  await writeFile(join(folder, 'pcp.conf'), '')
  await writeFile(join(folder, 'pool_hba.conf'), 'host all all 127.0.0.1/32 trust\n')
  await writeFile(
    file,
    `backend_clustering_mode = 'streaming_replication'
listen_addresses = '127.0.0.1'
port = ${port}
socket_dir = '${folder}'
pcp_listen_addresses = '127.0.0.1'
pcp_port = ${control}
pcp_socket_dir = '${folder}'
pid_file_name = '${join(folder, 'pgpool.pid')}'
logdir = '${folder}'
work_dir = '${folder}'
pool_passwd = ''
backend_hostname0 = '127.0.0.1'
backend_port0 = ${server}
backend_weight0 = 1
sr_check_period = 0
# Each process serves one connection of a client.
num_init_children = 60
max_pool = 1
connection_cache = on
load_balance_mode = off
reset_query_list = 'ABORT; DISCARD ALL'
failover_on_backend_error = off
`,
  )
  const args = ['-n', '-f', file, '-F', join(folder, 'pcp.conf'), '-a', join(folder, 'pool_hba.conf')]
  const start = () => startProgram('/usr/sbin/pgpool', args, port, folder)
  let running = await start()
  return {
    name: 'pgpool2',
    port,
    uriOf: trustedUri(port),
    restart: async () => {
      await running.stop('SIGINT')
      running = await start()
    },
    stop: () => running.stop('SIGINT'),
  }
}
