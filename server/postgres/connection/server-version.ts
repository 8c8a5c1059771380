// Checks that the version of PostgreSQL is supported.

/** PostgreSQL 14, PostgREST's minimum. */
const minimum = { number: 140_000, name: '14.0' } as const

/** The server is too old. Retrying does not help. */
export class UnsupportedPostgres extends Error {
  /** @param version `server_version`, such as `13.22 (Debian 13.22-1)` */
  constructor(version: string) {
    super(`Cannot run in this PostgreSQL version (${version}), rowhouse needs at least ${minimum.name}`)
  }
}

type RunQuery = (text: string, values: unknown[]) => Promise<readonly Record<string, unknown>[]>

/**
 * Asks the server for its version.
 *
 * @throws UnsupportedPostgres below 14; the error of the query
 */
export async function requireSupportedVersion(query: RunQuery): Promise<void> {
  const [row] = await query(
    `select current_setting('server_version_num') as number, current_setting('server_version') as name`,
    [],
  )
  if (Number(row?.number) < minimum.number) throw new UnsupportedPostgres(String(row?.name))
}
