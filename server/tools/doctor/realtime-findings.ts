// What a database lacks for reading changes of rows from its log.
import type { Config } from '../../config/config.ts'
import { withClient, type Client } from '../../postgres/connection/client.ts'
import type { PoolConfig } from '../../postgres/connection/pool-config.ts'
import { missing, missingRequirements, type MissingRequirement } from '../../postgres/replication/log-requirements.ts'
import type { Level } from '../findings.ts'
import type { DoctorFinding } from './finding.ts'

export type LogAccess = {
  /** How the log is read, if not as what serves requests. */
  readonly connection: PoolConfig | undefined
  /** A connection as what reads the log otherwise. */
  readonly client: Client
  /** Whether that is through a pooler. */
  readonly isPooled: boolean
}

const publications = ['supabase_realtime', 'supabase_realtime_messages_publication']

const why =
  'Clients that listen to changes of rows get an error that says so, and messages from SQL are not delivered. Broadcast and presence work.'

/** Findings are notes until a table is published. */
export async function realtimeFindings(
  { services }: Pick<Config, 'services'>,
  access: LogAccess,
): Promise<DoctorFinding[]> {
  if (!services.includes('realtime')) return []
  const { rows } = await access.client.query<{ used: boolean }>(
    "select exists (select from pg_catalog.pg_publication_tables where pubname = 'supabase_realtime') as used",
  )
  const level = rows[0]?.used === true ? 'WARN' : 'INFO'
  try {
    return (await requirements(access)).map((requirement) => finding(requirement, level))
  } catch (error) {
    return [
      {
        area: 'realtime',
        code: 'realtime_unreachable',
        level: 'ERROR',
        subject: 'REALTIME_DATABASE_URL',
        what: `The database cannot be reached: ${error instanceof Error ? error.message : String(error)}.`,
        why,
        advice: 'Check the connection string.',
      },
    ]
  }
}

async function requirements({ connection, client, isPooled }: LogAccess): Promise<readonly MissingRequirement[]> {
  if (connection) return withClient(connection, (own) => missingRequirements((text) => own.query(text), publications))
  return [
    ...(isPooled ? [missing.pooler()] : []),
    ...(await missingRequirements((text) => client.query(text), publications)),
  ]
}

const finding = ({ code, what, advice, fix }: MissingRequirement, level: Level): DoctorFinding => ({
  area: 'realtime',
  code: `realtime_${code}`,
  level,
  subject: 'changes of rows',
  what,
  why,
  advice,
  ...(fix === undefined ? {} : { fix }),
})
