// PgBouncer in front of a server.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { authority, certificate, privateKey } from '../support/certificate.ts'
import { freePort } from '../support/free-port.ts'
import { startProgram } from './debian-packages.ts'
import { logins, type PasswordLogins } from './password-logins.ts'
import { trustedUri, type Pooler, type UriOf } from './pooler.ts'

export type PgBouncerOptions = {
  readonly mode: 'transaction' | 'session'
  /** `default_pool_size`: connections to the server per database and user. */
  readonly size?: number
  /** Path of the program, if it is not Debian's. */
  readonly program?: string
  /** `max_prepared_statements`, from PgBouncer 1.21 on. */
  readonly preparedStatements?: number
  /** Clients need TLS and passwords with SCRAM, which PgBouncer uses for its connections to the server. */
  readonly passwords?: PasswordLogins
}

/** Writes what TLS needs. Returns the lines of the settings, and connection strings that verify the certificate. */
async function withTls(
  folder: string,
  port: number,
  password: string,
): Promise<{ readonly lines: string; readonly uriOf: UriOf }> {
  const write = async (name: string, text: string): Promise<string> => {
    const file = join(folder, name)
    await writeFile(file, `${text}\n`)
    return file
  }
  const key = await write('pgbouncer.key', privateKey)
  const chain = await write('pgbouncer.crt', certificate)
  const root = encodeURIComponent(await write('root.crt', authority))
  return {
    lines: `client_tls_sslmode = require\nclient_tls_key_file = ${key}\nclient_tls_cert_file = ${chain}\n`,
    uriOf: (database, login) =>
      `postgresql://${login}:${encodeURIComponent(password)}@localhost:${port}/${encodeURIComponent(database)}` +
      `?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert=${root}`,
  }
}

/**
 * Starts PgBouncer.
 *
 * @param server port of the server
 */
export async function startPgBouncer(
  folder: string,
  server: number,
  { mode, size = 20, program = '/usr/sbin/pgbouncer', preparedStatements, passwords }: PgBouncerOptions,
): Promise<Pooler> {
  const port = await freePort()
  const users = join(folder, `pgbouncer-users-${port}.txt`)
  const file = join(folder, `pgbouncer-${mode}-${port}.ini`)
  const tls = passwords && (await withTls(folder, port, passwords.password))
  await writeFile(users, logins.map((login) => `"${login}" "${passwords?.verifiers.get(login) ?? ''}"\n`).join(''))
  await writeFile(
    file,
    `[databases]
* = host=127.0.0.1 port=${server}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = ${passwords ? 'scram-sha-256' : 'trust'}
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = ${size}
max_client_conn = 500
# Makes every transaction move to another session, as it does under load.
min_pool_size = 4
server_round_robin = 1
# As in the README: how long a lost server is noticed.
query_wait_timeout = 5
server_login_retry = 1
${preparedStatements === undefined ? '' : `max_prepared_statements = ${preparedStatements}\n`}${tls?.lines ?? ''}`,
  )
  // Newer versions wait for their clients after SIGTERM.
  const start = () => startProgram(program, [file], port, folder)
  let running = await start()
  const details = [
    ...(preparedStatements === undefined ? [] : [`max_prepared_statements = ${preparedStatements}`]),
    ...(passwords ? ['scram-sha-256 over TLS'] : []),
  ]
  return {
    name: ['pgbouncer', `pool_mode = ${mode}`, ...details].join(', '),
    port,
    uriOf: tls?.uriOf ?? trustedUri(port),
    restart: async () => {
      await running.stop('SIGKILL')
      running = await start()
    },
    stop: () => running.stop('SIGKILL'),
  }
}
