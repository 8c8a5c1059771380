// Translates events of other rooms to log lines and metrics.
import type { EventEmitter } from 'node:events'
import { IncomingMessage } from 'node:http'
import { isUnreachable } from '../../postgres/database-error.ts'
import type { JwtCacheEvent } from '../../identity/jwt/jwt.ts'
import type { StreamEnd } from '../../rest/row-transfer.ts'
import type { RestObservation } from '../../rest/handler.ts'
import { isStreamed } from '../../rest/response/result.ts'
import type { RestRequest } from '../../rest/rest-request.ts'
import { ApiError } from '../../rest/errors.ts'
import type { EngineEvent } from '../../rest/engine-event.ts'
import { summarize } from '../../catalogue/summary.ts'
import { debounced } from './debounced.ts'
import type { Log } from './log.ts'
import type { LoadShedding } from '../overload/load-shedding.ts'
import type { Metrics } from './metrics.ts'
import { recordOf } from './request-recorder.ts'
import { pathOf, requestIdOf } from '../../http/request-log.ts'

/** Reports that settings and schema were loaded, and what the reload channel received. */
export function observeEngine(log: Log, metrics: Metrics, poolSize: number): (event: EngineEvent) => void {
  let isConnected = false
  return (event) => {
    switch (event.kind) {
      case 'schema cache loaded':
        if (!isConnected) {
          log.write({ kind: 'database-connected', version: versionText(event.cache.postgresVersion) })
          log.write({ kind: 'pool-created', size: poolSize })
        }
        isConnected = true
        metrics.schemaCacheLoaded(event.milliseconds / 1000)
        log.write({ kind: 'schema-cache-loaded', duration: event.milliseconds, summary: summarize(event.cache) })
        return
      case 'schema cache failed':
        metrics.schemaCacheFailed()
        if (isUnreachable(event.error)) {
          isConnected = false
          log.write({ kind: 'database-lost', error: event.error, retryInSeconds: event.retrySeconds })
        } else log.write({ kind: 'schema-cache-failed', error: event.error })
        return
      case 'connections renewed':
        log.write({ kind: 'pool-flushed' })
        return
      case 'gave up':
        log.write({ kind: 'gave-up', error: event.error })
        return
      case 'settings read':
        log.write({ kind: 'config-reloaded' })
        return
      case 'settings invalid':
        log.write({ kind: 'config-invalid', error: event.error })
        return
      case 'channel listening':
        log.write({ kind: 'channel-listening', channel: event.channel })
        return
      case 'channel lost': {
        const { channel, error, retrySeconds: retryInSeconds } = event
        log.write({ kind: 'channel-lost', channel, error, retryInSeconds })
        return
      }
      case 'channel message': {
        const reload = event.reload === 'settings' ? 'config' : 'schema'
        log.write({ kind: 'channel-message', channel: event.channel, reload })
        return
      }
      case 'catalog changed':
        log.write({ kind: 'catalog-changed', catalogs: event.catalogs })
        return
      case 'catalog check failed':
        log.write({ kind: 'catalog-check-failed', error: event.error })
        return
      default:
        event satisfies never
    }
  }
}

/** `180004` -> `PostgreSQL 18.4` */
const versionText = (number: number): string => `PostgreSQL ${Math.floor(number / 10_000)}.${number % 10_000}`

/** Logs every use of a connection at `debug`. */
export function logConnections(pool: EventEmitter, log: Log): void {
  for (const [event, message] of [
    ['connect', 'A connection was established'],
    ['acquire', 'Borrowed a connection from the pool'],
    ['release', 'Returned a connection to the pool'],
    ['remove', 'A connection was closed'],
  ] as const) {
    pool.on(event, () => {
      if (log.wantsDebug()) log.write({ kind: 'pool-activity', message })
    })
  }
}

/** Logs the use of the token cache at `debug`. */
export const logJwtCache =
  (log: Log) =>
  (event: JwtCacheEvent): void => {
    if (!log.wantsDebug()) return
    const message = event === 'lookup' ? 'Looked up a JWT in JWT cache' : 'Evicted entry from JWT cache'
    log.write({ kind: 'jwt-cache', message })
  }

/** Minimum milliseconds between two log lines about an exhausted pool. */
const timeoutPause = 5000

/** Observes every request to the REST API. */
export function observeRest(
  log: Log,
  metrics: Metrics,
  shedding?: LoadShedding,
): (observation: RestObservation) => void {
  const logPoolTimeout = debounced(() => log.write({ kind: 'pool-timeout' }), timeoutPause)
  const exportEnded = (request: RestRequest, end: StreamEnd): void => {
    metrics.exportEnded(end)
    const { rows, bytes, milliseconds, error } = end
    log.write({
      kind: 'export-ended',
      path: pathOf(request.basePath + request.target),
      rows,
      bytes,
      duration: Math.round(milliseconds),
      ...(error === undefined ? {} : { error }),
      requestId: requestIdOf(request.header('x-request-id')),
    })
  }
  return ({ request, response, role, milliseconds, error, route, statements, warning }) => {
    const { status } = response
    const { method } = request
    if (isStreamed(response.body)) response.body.onEnd?.((end) => exportEnded(request, end))
    const source = request.source instanceof IncomingMessage ? request.source : undefined
    const record = source && recordOf(source)
    const routeName = route === undefined ? undefined : `${request.basePath}/${route}`
    metrics.requestAnswered({ method, route, role, status, seconds: milliseconds / 1000, ids: record?.ids })
    record?.answered({
      method,
      path: pathOf(request.basePath + request.target),
      route: routeName,
      role,
      requestId: requestIdOf(request.header('x-request-id')),
    })
    if (error instanceof ApiError && error.code === 'PGRST003') {
      metrics.poolTimedOut()
      logPoolTimeout()
    }
    const isRefused = error instanceof ApiError && error.code === 'PGRSTX04'
    if (isRefused) shedding?.refused('pool')
    const isForeseen = error === undefined || error instanceof ApiError
    const isSilent = isForeseen && statements === undefined && warning === undefined
    if (isSilent && (!log.wants(status) || (isRefused && shedding?.refusalLines.next() === false))) return
    const requestId = requestIdOf(request.header('x-request-id'))
    const path = pathOf(request.basePath + request.target)
    if (!isForeseen) log.write({ kind: 'failure', error, requestId })
    else if ((status === 500 || status === 503) && !isRefused) log.write({ kind: 'database-error', error, requestId })
    if (warning !== undefined) log.write({ kind: 'warning', message: `${method} ${path}: ${warning}` })
    for (const text of statements ?? []) log.write({ kind: 'query', status, requestId, text })
    log.write({
      kind: 'request',
      method,
      path,
      status,
      duration: Math.round(milliseconds * 100) / 100,
      role: role ?? null,
      requestId,
      aborted: request.isAborted,
      route: routeName,
      source,
      response,
    })
  }
}
