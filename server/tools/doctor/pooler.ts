// Whether there is a pooler in front of the database, and whether the settings suit it.
import type { DoctorFinding } from './finding.ts'

export type Pooling = {
  /** Whether the server process is not the one that the connection was opened with. */
  readonly isPooled: boolean
  /** Whether two connections used the same server process in turn, so that sessions do not stay together. */
  readonly sharesSessions: boolean
  /** Whether a prepared statement still exists after another connection has used the server process; undefined: not tried. */
  readonly keepsPrepared: boolean | undefined
}

type PoolerSettings = {
  readonly dbPreparedStatements: boolean
  readonly dbChannelEnabled: boolean
}

export function poolerFindings(pooling: Pooling, settings: PoolerSettings): DoctorFinding[] {
  const { isPooled, sharesSessions, keepsPrepared } = pooling
  if (!isPooled && !sharesSessions) return []
  const common = { area: 'pooler', subject: 'pooler in front of the database' } as const
  const findings: DoctorFinding[] = [
    {
      ...common,
      code: 'pooler_found',
      level: 'INFO',
      what: `A pooler in ${sharesSessions ? 'transaction' : 'session'} mode, as far as can be seen.`,
      why: 'No cancellation is requested for clients that hang up, because a pooler may forward it to another statement.',
      advice:
        'The server has a pool of its own. A pooler is useful when several processes would need too many connections together.',
    },
  ]
  if (!sharesSessions) return findings
  if (settings.dbPreparedStatements && keepsPrepared !== true) {
    findings.push({
      ...common,
      code: 'pooler_prepared_statements',
      level: 'ERROR',
      what: 'Sessions change between transactions, the pooler keeps no prepared statements, and PGRST_DB_PREPARED_STATEMENTS is true.',
      why: 'Requests fail when their statement was prepared in another session.',
      advice:
        'Set PGRST_DB_PREPARED_STATEMENTS=false, or use PgBouncer 1.22 or later with max_prepared_statements above 0.',
    })
  }
  if (settings.dbChannelEnabled) {
    findings.push({
      ...common,
      code: 'pooler_channel',
      level: 'WARN',
      what: 'Sessions change between transactions, and PGRST_DB_CHANNEL_ENABLED is true.',
      why: 'LISTEN is bound to a session: notifications to reload the schema may never arrive.',
      advice:
        'Set PGRST_DB_CHANNEL_ENABLED=false, and DB_RELOAD_INTERVAL, which asks for changes; or connect directly.',
    })
  }
  return findings
}
