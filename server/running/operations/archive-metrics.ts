// The archive of the embedded database's write-ahead log: how far it is, and what went wrong.
import { archiveAge, type ArchiveStatus } from '../../postgres/backup/archive-status.ts'
import { collectedMetrics } from './collected-metrics.ts'
import type { MetricRegistry } from './exposition.ts'

/** Adds the metrics to a registry. Servers without an archive have none of them. */
export function archiveMetrics(registry: MetricRegistry, status: () => ArchiveStatus): void {
  const { gauge, total } = collectedMetrics(registry)
  gauge('rowhouse_archive_connected', 'Whether the write-ahead log is being archived', () =>
    Number(status().isConnected),
  )
  gauge(
    'rowhouse_archive_age_seconds',
    'The time since the last moment of which everything that was committed is archived',
    () => archiveAge(status(), Date.now()),
  )
  gauge(
    'rowhouse_archive_behind_bytes',
    'Bytes of the write-ahead log that the database keeps because they are not archived',
    () => status().behind,
  )
  total('rowhouse_archive_bytes_total', 'The total number of bytes written to the archive', () => status().bytes)
  total(
    'rowhouse_archive_segments_total',
    'The total number of segments of the write-ahead log that were completed in the archive',
    () => status().segments,
  )
  total(
    'rowhouse_archive_failures_total',
    'The total number of attempts to archive that failed',
    () => status().failures,
  )
  total(
    'rowhouse_archive_gaps_total',
    'The total number of gaps: segments that will never be in the archive',
    () => status().gaps,
  )
}
