// Chooses a pg_dump: the bundled one, or an installed one for servers that are newer.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Client } from '../../postgres/connection/client.ts'
import { bundledMajorVersion, bundledPgDump } from './bundled-pg-dump.ts'
import type { RunPgDump } from './dump.ts'
import { libpqEnvironment, type Address } from '../../postgres/connection/libpq-environment.ts'

const run = promisify(execFile)

/** Bytes of SQL: the schema, without rows. */
const maxBuffer = 1024 * 1024 * 1024

/** No pg_dump can read the server. */
export class PgDumpMissing extends Error {
  constructor(major: number) {
    super(
      `The server is PostgreSQL ${major}. The bundled pg_dump reads servers up to PostgreSQL ${bundledMajorVersion}, ` +
        `and no pg_dump of PostgreSQL ${major} or later is installed.`,
    )
    this.name = 'PgDumpMissing'
  }
}

/**
 * @param version of the server, as `server_version`
 * @param connect runs a function with a connection of its own
 * @param env of this process, for the path of installed programs
 * @throws PgDumpMissing
 */
export async function pgDumpFor(
  version: string,
  address: Address,
  connect: <T>(use: (client: Client) => Promise<T>) => Promise<T>,
  env: Readonly<Record<string, string | undefined>>,
): Promise<RunPgDump> {
  const major = Number.parseInt(version, 10)
  if (major <= bundledMajorVersion) return (args) => connect((client) => bundledPgDump(client, args))
  const installed = await installedMajorVersion(env)
  if (installed === undefined || installed < major) throw new PgDumpMissing(major)
  return async (args) => {
    const { stdout } = await run('pg_dump', ['--no-password', ...args], {
      env: { PATH: env.PATH, ...libpqEnvironment(address) },
      maxBuffer,
    })
    return stdout
  }
}

async function installedMajorVersion(env: Readonly<Record<string, string | undefined>>): Promise<number | undefined> {
  try {
    const { stdout } = await run('pg_dump', ['--version'], { env: { PATH: env.PATH } })
    return Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1])
  } catch {
    return undefined
  }
}
