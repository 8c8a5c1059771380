// The realtime service: sockets, messages, what was dropped, and how far behind the log is.
import { Counter } from 'prom-client'
import type { RealtimeFigures } from '../../services/realtime/statistics.ts'
import { collectedMetrics } from './collected-metrics.ts'
import type { MetricRegistry } from './exposition.ts'

/** Adds the metrics to a registry. Servers without the service have none of them. */
export function realtimeMetrics(registry: MetricRegistry, figures: () => RealtimeFigures): void {
  const { gauge, total } = collectedMetrics(registry)
  gauge('realtime_sockets', 'WebSockets of clients', () => figures().counts.sockets)
  gauge('realtime_channels', 'Channels that clients have joined', () => figures().counts.channels)
  gauge('realtime_subscriptions', 'Subscriptions to row changes', () => figures().log?.subscribers ?? 0)
  gauge('realtime_buffered_bytes', 'Bytes of row changes for clients that come back', () => {
    return figures().log?.bufferedBytes ?? 0
  })
  gauge('realtime_log_reading', 'Whether the write-ahead log is read', () => Number(figures().log?.isReading ?? false))
  gauge('realtime_log_lag_bytes', 'Bytes of the log between what was received and what was processed', () => {
    return figures().log?.lagBytes ?? 0
  })
  gauge('realtime_log_lag_seconds', 'The time since the commit of the transaction that is being processed', () => {
    return figures().log?.lagSeconds ?? 0
  })
  total('realtime_joins_total', 'The total number of channels that were joined', () => figures().counts.joins)
  total('realtime_received_total', 'The total number of messages from clients', () => figures().counts.received)
  total('realtime_delivered_total', 'The total number of messages to clients', () => figures().counts.delivered)
  total('realtime_broadcasts_total', 'The total number of broadcasts', () => figures().counts.broadcasts)
  total('realtime_changes_total', 'The total number of row changes to clients', () => figures().counts.changes)
  total('realtime_checks_total', 'The total number of statements that evaluated policies', () => {
    return figures().log?.checks ?? 0
  })
  total('realtime_checked_rows_total', 'The total number of rows for which policies were evaluated', () => {
    return figures().log?.checkedRows ?? 0
  })
  new Counter({
    name: 'realtime_drops_total',
    help: 'The total number of messages that were dropped, and of sockets and channels that the server has closed or refused',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [reason, count] of figures().counts.drops) this.inc({ reason }, count)
    },
  })
}
