// What backups need to know of a server.
import type { Client } from '../connection/client.ts'
import type { ArchiveState } from './wal-archive.ts'

/** The properties of a server that do not change. */
export async function describeServer(
  client: Client,
): Promise<Pick<ArchiveState, 'systemIdentifier' | 'majorVersion' | 'segmentSize'>> {
  const { rows } = await client.query<{ system: string; size: number; version: number }>(
    `select (select system_identifier::text from pg_control_system()) as system,
       (select setting::integer from pg_settings where name = 'wal_segment_size') as size,
       current_setting('server_version_num')::integer / 10000 as version`,
  )
  const [row] = rows
  if (!row) throw new Error('the server did not describe itself')
  return { systemIdentifier: row.system, majorVersion: row.version, segmentSize: row.size }
}
