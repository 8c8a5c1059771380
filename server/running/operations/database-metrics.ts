// Connections of the pool, statements that share them, cached plans, and the time of round trips to the database.
import { Gauge, Histogram } from 'prom-client'
import type { DatabaseStatistics } from '../../postgres/database.ts'
import { collectedMetrics } from './collected-metrics.ts'
import type { MetricRegistry } from './exposition.ts'
import type { TraceIds } from './request-record.ts'

export type PlanCacheStatistics = { readonly lookups: number; readonly hits: number }

export type DatabaseMetricsSources = {
  readonly database: () => DatabaseStatistics
  /** Of the settings and the schema that are loaded now. */
  readonly planCache: () => PlanCacheStatistics
}

/** Adds the metrics to a registry, and returns the function that measures a round trip. */
export function databaseMetrics(
  registry: MetricRegistry,
  { database, planCache }: DatabaseMetricsSources,
): (seconds: number, ids: TraceIds | undefined) => void {
  const registers = [registry]
  const { gauge, total } = collectedMetrics(registry)
  new Gauge({
    name: 'rowhouse_db_connections',
    help: 'Open connections of the pool; shared ones are in use, too',
    labelNames: ['state'],
    registers,
    collect() {
      const { total, idle, sharing } = database()
      this.set({ state: 'idle' }, idle)
      this.set({ state: 'used' }, total - idle)
      this.set({ state: 'shared' }, sharing.connections)
    },
  })
  gauge(
    'rowhouse_db_shared_running',
    'Statements that run or wait on shared connections',
    () => database().sharing.running,
  )
  total(
    'rowhouse_db_shared_total',
    'The total number of statements that shared a connection',
    () => database().sharing.runs,
  )
  total(
    'rowhouse_plan_cache_requests_total',
    'The total number of plan cache lookups since the schema was loaded',
    () => planCache().lookups,
  )
  total(
    'rowhouse_plan_cache_hits_total',
    'The total number of plan cache hits since the schema was loaded',
    () => planCache().hits,
  )
  const roundTrips = new Histogram<string>({
    name: 'rowhouse_db_round_trip_seconds',
    help: 'The duration of round trips to the database, without waiting for a connection',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    enableExemplars: true,
    registers,
  })
  return (seconds, ids) => roundTrips.observe({ value: seconds, ...(ids && { exemplarLabels: ids }) })
}
