// PgBouncer in front of a server.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { startProgram } from './debian-packages.ts'
import type { Pooler } from './pooler.ts'

/**
 * Starts PgBouncer.
 *
 * @param server port of the server
 * @param mode `pool_mode`
 * @param size `default_pool_size`: connections to the server per database and user
 */
export async function startPgBouncer(
  folder: string,
  server: number,
  mode: 'transaction' | 'session',
  size = 20,
): Promise<Pooler> {
  const port = await freePort()
  const users = join(folder, 'pgbouncer-users.txt')
  const file = join(folder, `pgbouncer-${mode}-${port}.ini`)
  const logins = ['postgres', 'authenticator', 'garage_server', 'nested_server', 'login']
  await writeFile(users, logins.map((login) => `"${login}" ""\n`).join(''))
  await writeFile(
    file,
    `[databases]
* = host=127.0.0.1 port=${server}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = ${size}
max_client_conn = 500
# Makes every transaction move to another session, as it does under load.
min_pool_size = 4
server_round_robin = 1
`,
  )
  const start = () => startProgram('/usr/sbin/pgbouncer', [file], port, folder)
  let running = await start()
  return {
    name: `pgbouncer, pool_mode = ${mode}`,
    port,
    restart: async () => {
      await running.stop('SIGTERM')
      running = await start()
    },
    stop: () => running.stop('SIGTERM'),
  }
}
