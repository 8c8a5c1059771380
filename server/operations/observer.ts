// From what the other rooms report to lines of the log and to metrics.
import type { RestObservation } from '../rest/handler.ts'
import { ApiError } from '../rest/errors.ts'
import type { RuntimeEvent } from '../runtime.ts'
import { summarize } from '../schema-cache/summary.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { pathOf, requestIdOf } from './request-log.ts'

/** Hears of settings and schema being loaded. */
export const observeRuntime =
  (log: Log, metrics: Metrics) =>
  (event: RuntimeEvent): void => {
    switch (event.kind) {
      case 'schema cache loaded':
        metrics.schemaCacheLoaded(event.milliseconds / 1000)
        log.write({ kind: 'schema-cache-loaded', duration: event.milliseconds, summary: summarize(event.cache) })
        return
      case 'schema cache failed':
        metrics.schemaCacheFailed()
        log.write({ kind: 'schema-cache-failed', error: event.error })
        return
      case 'config reloaded':
        log.write({ kind: 'config-reloaded' })
        return
      case 'config invalid':
        log.write({ kind: 'config-invalid', error: event.error })
        return
      default:
        event satisfies never
    }
  }

/** Hears of every request to the REST API. */
export const observeRest =
  (log: Log, metrics: Metrics) =>
  ({ request, response, role, milliseconds, error, route, statements }: RestObservation): void => {
    const { status } = response
    const method = request.method ?? ''
    metrics.requestAnswered(method, route ?? 'unknown', status, milliseconds / 1000)
    if (error instanceof ApiError && error.code === 'PGRST003') {
      metrics.poolTimedOut()
      log.write({ kind: 'pool-timeout' })
    }
    const unforeseen = error !== undefined && !(error instanceof ApiError)
    if (!unforeseen && statements === undefined && !log.wants(status)) return
    const requestId = requestIdOf(request.headers['x-request-id'])
    if (unforeseen) log.write({ kind: 'failure', error, requestId })
    for (const text of statements ?? []) log.write({ kind: 'query', status, requestId, text })
    log.write({
      kind: 'request',
      method,
      path: pathOf(request.url ?? ''),
      status,
      duration: Math.round(milliseconds * 100) / 100,
      role: role ?? null,
      requestId,
      aborted: request.destroyed && !request.complete,
    })
  }
