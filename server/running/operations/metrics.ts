// Metrics for Prometheus: PostgREST's under their original names, durations of requests, and the image analysis.
// https://docs.postgrest.org/en/stable/references/observability.html#metrics
import type { ArchiveStatus } from '../../postgres/backup/archive-status.ts'
import type { DatabaseStatistics } from '../../postgres/database.ts'
import type { ReplicaStatistics } from '../../postgres/replicas/replica.ts'
import type { StreamEnd } from '../../rest/row-transfer.ts'
import type { FunctionFigures } from '../../services/functions/statistics.ts'
import type { RealtimeFigures } from '../../services/realtime/statistics.ts'
import type { WebhooksFigures } from '../../services/webhooks/create-webhooks.ts'
import type { McpFigures } from '../../services/mcp/statistics.ts'
import type { ScheduleFigures } from '../../services/schedules/statistics.ts'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { JwtCacheStatistics } from '../../identity/jwt/jwt.ts'
import { collectedMetrics } from './collected-metrics.ts'
import { databaseMetrics, type PlanCacheStatistics } from './database-metrics.ts'
import { archiveMetrics } from './archive-metrics.ts'
import { createRegistry, type Exposition, type MetricRegistry } from './exposition.ts'
import { functionsMetrics } from './functions-metrics.ts'
import { realtimeMetrics } from './realtime-metrics.ts'
import { mcpMetrics } from './mcp-metrics.ts'
import { schedulesMetrics } from './schedules-metrics.ts'
import { requestMetrics, type MeasuredRequest } from './request-metrics.ts'
import type { TraceIds } from './request-record.ts'
import { webhooksMetrics } from './webhooks-metrics.ts'

export type MetricsSources = {
  readonly database: () => DatabaseStatistics
  /** Most connections of the pool. */
  readonly poolSize: number
  readonly jwtCache: () => JwtCacheStatistics
  readonly planCache: () => PlanCacheStatistics
  /** Index of this process among several. */
  readonly worker?: number | undefined
  /** Undefined without replicas. */
  readonly replicas?: (() => readonly ReplicaStatistics[]) | undefined
}

export type Metrics = {
  /** Text in Prometheus's exposition format. */
  readonly text: () => Promise<string>
  /** All metrics, in Prometheus's format, or in that of OpenMetrics. */
  readonly expose: (openMetrics: boolean) => Promise<Exposition>
  readonly schemaCacheLoaded: (seconds: number) => void
  readonly schemaCacheFailed: () => void
  readonly poolTimedOut: () => void
  readonly requestAnswered: (request: MeasuredRequest) => void
  /** A round trip to the database has ended, after so many seconds. */
  readonly roundTripEnded: (seconds: number, ids: TraceIds | undefined) => void
  /** Spans were sent to the collector, or could not be. */
  readonly spansExported: (spans: number, isSuccess: boolean) => void
  /** A response that was streamed row by row has ended. */
  readonly exportEnded: (end: StreamEnd) => void
  /** Metrics of the image analysis. Times are in seconds. */
  readonly analysis: AnalysisMetrics
  /** Sets the function that returns the number of requests that were refused because of overload, by reason. */
  readonly watchRefusals: (refusals: () => Readonly<Record<string, number>>) => void
  /** Adds the metrics of the archive of the write-ahead log. Call it at most once. */
  readonly watchArchive: (status: () => ArchiveStatus) => void
  /** Adds the metrics of the realtime service. Call it at most once. */
  readonly watchRealtime: (figures: () => RealtimeFigures) => void
  /** Adds the metrics of tools for agents. Call it at most once. */
  readonly watchMcp: (figures: () => McpFigures) => void
  /** Adds the metrics of schedules. Call it at most once. */
  readonly watchSchedules: (figures: ScheduleFigures) => void
  /** Adds the metrics of functions. Call it at most once. */
  readonly watchFunctions: (figures: () => FunctionFigures) => void
  /** Adds the metrics of outgoing calls. Call it at most once. */
  readonly watchWebhooks: (figures: WebhooksFigures) => void
  /** Sets the function that returns the number of images waiting for their analysis. */
  readonly watchAnalysisQueue: (length: () => number) => void
}

export type AnalysisMetrics = {
  readonly waited: (seconds: number) => void
  readonly decoded: (seconds: number) => void
  readonly inferred: (seconds: number) => void
  /** The analyser was killed after a timeout. */
  readonly killed: () => void
}

export function createMetrics(sources: MetricsSources): Metrics {
  const { database, poolSize, jwtCache, replicas } = sources
  const { registry, expose } = createRegistry(sources.worker)
  const registers = [registry]
  const { gauge, total } = collectedMetrics(registry)
  gauge('pgrst_db_pool_available', 'Available connections in the pool', () => database().idle)
  gauge('pgrst_db_pool_waiting', 'Requests waiting to acquire a pool connection', () => database().waiting)
  gauge('pgrst_db_pool_max', 'Max pool connections', () => poolSize)
  total('pgrst_jwt_cache_requests_total', 'The total number of JWT cache lookups', () => jwtCache().requests)
  total('pgrst_jwt_cache_hits_total', 'The total number of JWT cache hits', () => jwtCache().hits)
  total('pgrst_jwt_cache_evictions_total', 'The total number of JWT cache evictions', () => jwtCache().evictions)
  const poolTimeouts = new Counter({
    name: 'pgrst_db_pool_timeouts_total',
    help: 'The total number of pool connection timeouts',
    registers,
  })
  if (replicas) addReplicas(registry, replicas)
  const loads = new Counter({
    name: 'pgrst_schema_cache_loads_total',
    help: 'The total number of times the schema cache was loaded',
    labelNames: ['status'],
    registers,
  })
  const loadTime = new Gauge({
    name: 'pgrst_schema_cache_query_time_seconds',
    help: 'The query time in seconds of the last schema cache load',
    registers,
  })
  const measureRequest = requestMetrics(registry)
  const measureRoundTrip = databaseMetrics(registry, sources)
  const spans = new Counter({
    name: 'rowhouse_trace_spans_total',
    help: 'The total number of spans that were sent to the collector, or could not be',
    labelNames: ['outcome'],
    registers,
  })
  const exports = new Counter({
    name: 'rest_exports_total',
    help: 'The total number of responses that were streamed row by row',
    labelNames: ['outcome'],
    registers,
  })
  const exportedRows = new Counter({
    name: 'rest_exported_rows_total',
    help: 'The total number of rows that were streamed',
    registers,
  })
  const exportedBytes = new Counter({
    name: 'rest_exported_bytes_total',
    help: 'The total number of bytes that were streamed, before compression',
    registers,
  })
  const analysisStage = (name: string, help: string): Histogram =>
    new Histogram({ name, help, buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10], registers })
  const queueTime = analysisStage('image_analysis_queue_seconds', 'The time that images waited for their analysis')
  const decodeTime = analysisStage('image_analysis_decode_seconds', 'The duration of decoding an image')
  const inferenceTime = analysisStage('image_analysis_inference_seconds', 'The duration of analysing a decoded image')
  const kills = new Counter({
    name: 'image_analysis_kills_total',
    help: 'The total number of times the analyser was killed after a timeout',
    registers,
  })
  let refusals = (): Readonly<Record<string, number>> => ({})
  new Counter({
    name: 'rowhouse_shed_requests_total',
    help: 'The total number of requests that were refused because the server was overloaded',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset()
      for (const [reason, count] of Object.entries(refusals())) this.inc({ reason }, count)
    },
  })
  let analysisQueue = (): number => 0
  gauge('image_analysis_queue_length', 'Images waiting for their analysis', () => analysisQueue())
  return {
    text: async () => (await expose(false)).body,
    expose,
    analysis: {
      waited: (seconds) => queueTime.observe(seconds),
      decoded: (seconds) => decodeTime.observe(seconds),
      inferred: (seconds) => inferenceTime.observe(seconds),
      killed: () => kills.inc(),
    },
    watchRefusals: (read) => (refusals = read),
    watchArchive: (status) => archiveMetrics(registry, status),
    watchRealtime: (figures) => realtimeMetrics(registry, figures),
    watchMcp: (figures) => mcpMetrics(registry, figures),
    watchSchedules: (figures) => schedulesMetrics(registry, figures),
    watchFunctions: (figures) => functionsMetrics(registry, figures),
    watchWebhooks: (figures) => webhooksMetrics(registry, figures),
    watchAnalysisQueue: (length) => (analysisQueue = length),
    schemaCacheLoaded: (seconds) => {
      loads.inc({ status: 'SUCCESS' })
      loadTime.set(seconds)
    },
    schemaCacheFailed: () => loads.inc({ status: 'FAIL' }),
    poolTimedOut: () => poolTimeouts.inc(),
    exportEnded: ({ rows, bytes, error }) => {
      exports.inc({ outcome: error === undefined ? 'complete' : 'broken off' })
      exportedRows.inc(rows)
      exportedBytes.inc(bytes)
    },
    requestAnswered: measureRequest,
    roundTripEnded: measureRoundTrip,
    spansExported: (count, isSuccess) => spans.inc({ outcome: isSuccess ? 'exported' : 'failed' }, count),
  }
}

/** Metrics of each replica. */
function addReplicas(registry: MetricRegistry, replicas: () => readonly ReplicaStatistics[]): void {
  const labelled = {
    labelNames: ['replica'] as const,
    registers: [registry],
  }
  const gauge = (name: string, help: string, read: (replica: ReplicaStatistics) => number): Gauge<'replica'> =>
    new Gauge({
      name,
      help,
      ...labelled,
      collect() {
        for (const replica of replicas()) this.set({ replica: replica.name }, read(replica))
      },
    })
  const total = (name: string, help: string, read: (replica: ReplicaStatistics) => number): Counter<'replica'> =>
    new Counter({
      name,
      help,
      ...labelled,
      collect() {
        this.reset()
        for (const replica of replicas()) this.inc({ replica: replica.name }, read(replica))
      },
    })
  gauge('rowhouse_replica_usable', 'Whether reads run on the replica', ({ isUsable }) => Number(isUsable))
  gauge('rowhouse_replica_lag_seconds', 'The lag of the replica behind the primary', ({ lagSeconds }) => lagSeconds)
  total('rowhouse_replica_reads_total', 'The total number of reads that ran on the replica', ({ reads }) => reads)
  total(
    'rowhouse_replica_reruns_total',
    'The total number of reads that ran on the primary after the replica failed',
    ({ reruns }) => reruns,
  )
}
