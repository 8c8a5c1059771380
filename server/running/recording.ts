// Decides from the settings what is recorded of requests.
import { requestScope } from '../common/request-scope.ts'
import type { Config } from '../config/config.ts'
import { debounced } from './operations/debounced.ts'
import type { Log } from './operations/log.ts'
import type { Metrics } from './operations/metrics.ts'
import { RequestRecorder } from './operations/request-recorder.ts'
import { RequestTail } from './operations/request-tail.ts'
import { SlowQueries, type SlowQueryOptions } from './operations/slow-queries.ts'
import type { ExportReport } from './operations/tracing/reporting-exporter.ts'
import type { Tracer } from './operations/tracing/tracer.ts'
import { workerIndex } from './workers.ts'

/** Milliseconds between two log lines about traces that could not be sent. */
const reportPause = 60_000

/** Whether metrics can be read, so that it is useful to measure requests. */
export const hasAdmin = (config: Config): boolean =>
  config.adminServerPort !== null || config.adminServerUnixSocket !== null

/** Whether requests are recorded even if they are not watched. */
const recordsAlways = (config: Config, tracer: Tracer | undefined): boolean =>
  tracer !== undefined || hasAdmin(config) || config.slowQueryThreshold > 0

/** Counts exported spans, and logs failures from time to time. */
export function exportReport(log: Log, metrics: () => Metrics): ExportReport {
  let last = new Error()
  const report = debounced(() => log.write({ kind: 'traces-not-sent', error: last }), reportPause)
  return (spans, error) => {
    metrics().spansExported(spans, error === undefined)
    if (!error) return
    last = error
    report()
  }
}

/** What exists only after the recorder, because the pool asks the recorder who observes its statements. */
export type RecordingParts = {
  readonly metrics: Metrics
  readonly database: SlowQueryOptions['database']
}

/**
 * The recorder of requests; undefined if nothing is ever recorded.
 *
 * @param tail undefined: requests cannot be watched
 */
export function createRecorder(
  config: Config,
  tracer: Tracer | undefined,
  tail: Pick<RequestTail, 'isWatched'> | undefined,
  log: Log,
  parts: () => RecordingParts,
): RequestRecorder | undefined {
  const { slowQueryThreshold, slowQueryPlan: plan, databaseTraceContext: place } = config
  const isAlwaysActive = recordsAlways(config, tracer)
  if (!isAlwaysActive && !tail) return undefined
  const slowQueries = new SlowQueries({
    plan,
    log,
    database: {
      run: (transaction, options) => parts().database.run(transaction, options),
      get statistics() {
        return parts().database.statistics
      },
    },
  })
  return new RequestRecorder({
    tracer,
    isAlwaysActive,
    keepsRoundTrips: () => tail?.isWatched === true,
    metrics: { requestAnswered: (request) => parts().metrics.requestAnswered(request) },
    roundTripEnded: (seconds, ids) => parts().metrics.roundTripEnded(seconds, ids),
    threshold: slowQueryThreshold === 0 ? Infinity : slowQueryThreshold,
    slow: (roundTrip, request) => slowQueries.add(roundTrip, request),
    notePlace: place === 'none' ? undefined : place,
  })
}

/** What the console watches requests with. */
export const createTail = (
  config: Config,
  tracer: Tracer | undefined,
  database: () => Pick<SlowQueryOptions['database'], 'run'>,
): RequestTail =>
  new RequestTail({
    worker: config.serverWorkers > 1 ? (workerIndex() ?? null) : null,
    database,
    onUse: (isUsed) => {
      // Contexts make promises slower, until they are disabled.
      if (!isUsed && !recordsAlways(config, tracer)) requestScope.disable()
    },
  })
