// Outgoing calls: what this process has sent, and what waits in the database.
import { Gauge } from 'prom-client'
import type { StoredCalls } from '../../services/webhooks/call-database.ts'
import type { WebhooksFigures } from '../../services/webhooks/create-webhooks.ts'
import { collectedMetrics } from './collected-metrics.ts'
import type { MetricRegistry } from './exposition.ts'

/** Adds the metrics to a registry. Servers without the service have none of them. */
export function webhooksMetrics(registry: MetricRegistry, { counts, stored }: WebhooksFigures): void {
  const { gauge, total } = collectedMetrics(registry)
  gauge('webhooks_sender', 'Whether this process is the one that sends outgoing calls', () => Number(counts.isSender))
  gauge('webhooks_sending', 'Outgoing calls that this process is sending', () => counts.sending)
  total('webhooks_attempts_total', 'The total number of attempts to deliver outgoing calls', () => counts.attempts)
  total('webhooks_attempt_seconds_total', 'The duration of all attempts to deliver outgoing calls', () => {
    return counts.attemptSeconds
  })
  total('webhooks_delivered_total', 'The total number of outgoing calls that were delivered', () => counts.delivered)
  total('webhooks_failed_total', 'The total number of attempts after which a call waits for another one', () => {
    return counts.failed
  })
  total('webhooks_dead_total', 'The total number of outgoing calls that were put aside', () => counts.dead)
  // The metrics of one exposition are collected at the same time: one statement serves all of them.
  let reading: Promise<StoredCalls | undefined> | undefined
  const read = (): Promise<StoredCalls | undefined> => (reading ??= stored().finally(() => (reading = undefined)))
  const storedGauge = (name: string, help: string, value: (calls: StoredCalls) => number): Gauge =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const calls = await read()
        if (calls) this.set(value(calls))
      },
    })
  storedGauge('webhooks_waiting_calls', 'Outgoing calls in the database that wait', ({ waiting }) => waiting)
  storedGauge('webhooks_dead_calls', 'Outgoing calls in the database that were put aside', ({ dead }) => dead)
  storedGauge('webhooks_oldest_waiting_seconds', 'The age of the oldest outgoing call that waits', (calls) => {
    return (calls.oldest_waiting_ms ?? 0) / 1000
  })
}
