// Durations of requests by method, route, role and status. Clients cannot add series without bound.
import { Histogram } from 'prom-client'
import type { MetricRegistry } from './exposition.ts'
import type { TraceIds } from './request-record.ts'
import { knownMethod } from './known-method.ts'

/** A request that was answered. */
export type MeasuredRequest = {
  readonly method: string
  /** A name from the schema cache or a known route, never client input; undefined for a request without one. */
  readonly route: string | undefined
  /** Undefined when the credentials were rejected, or are not needed. */
  readonly role: string | undefined
  readonly status: number
  readonly seconds: number
  /** Of the span of the request, if it is sampled. */
  readonly ids?: TraceIds | undefined
}

/** Combinations of labels. Further ones have the route and the role `other`. */
const maxSeries = 5000
/** Roles. Further ones are `other`. */
const maxRoles = 100
/** Label of a request without route, or without role. */
const unknown = 'unknown'

/** Adds the histogram to a registry, and returns the function that measures a request. */
export function requestMetrics(registry: MetricRegistry): (request: MeasuredRequest) => void {
  const requests = new Histogram<string>({
    name: 'http_request_duration_seconds',
    help: 'The duration of requests',
    labelNames: ['method', 'route', 'role', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    enableExemplars: true,
    registers: [registry],
  })
  const roles = new Set<string>()
  const series = new Set<string>()
  return ({ method: given, route: ofRequest = unknown, role: claimed, status, seconds, ids }) => {
    const method = knownMethod(given)
    // A token can name any role. Only a request that succeeds shows that the role exists.
    if (claimed !== undefined && status < 400 && roles.size < maxRoles) roles.add(claimed)
    let role = claimed === undefined ? unknown : roles.has(claimed) ? claimed : 'other'
    let route = ofRequest
    const key = `${method} ${route} ${role} ${status}`
    if (!series.has(key)) {
      if (series.size < maxSeries) series.add(key)
      else route = role = 'other'
    }
    requests.observe({ labels: { method, route, role, status }, value: seconds, ...(ids && { exemplarLabels: ids }) })
  }
}
