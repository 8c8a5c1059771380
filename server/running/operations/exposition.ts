// Writes the metrics of a registry in Prometheus's text format, or in that of OpenMetrics, which has exemplars.
import { Registry, type RegistryContentType } from 'prom-client'

export type MetricRegistry = Registry<RegistryContentType>
export type Exposition = { readonly type: string; readonly body: string }

/** The content type that PostgREST sends. */
const plain = 'text/plain; charset=utf-8'

/**
 * Creates a registry for metrics with exemplars, and the function that writes its metrics.
 *
 * @param worker index of this process among several, which becomes a label of all metrics
 */
export function createRegistry(worker?: number): {
  readonly registry: MetricRegistry
  readonly expose: (openMetrics: boolean) => Promise<Exposition>
} {
  // Only an OpenMetrics registry accepts metrics with exemplars.
  const registry = new Registry<RegistryContentType>()
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  if (worker !== undefined) registry.setDefaultLabels({ worker })
  let last: Promise<unknown> = Promise.resolve()
  const write = async (openMetrics: boolean): Promise<Exposition> => {
    registry.setContentType(openMetrics ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE)
    // Writing OpenMetrics removes `_total` from the names of counters.
    const metrics = registry.getMetricsAsArray() as { name: string }[]
    const names = metrics.map(({ name }) => name)
    try {
      return { type: openMetrics ? Registry.OPENMETRICS_CONTENT_TYPE : plain, body: await registry.metrics() }
    } finally {
      metrics.forEach((metric, index) => (metric.name = names[index] ?? metric.name))
    }
  }
  return {
    registry,
    // One at a time: the format belongs to the registry.
    expose: (openMetrics) => {
      const next = last.then(() => write(openMetrics))
      last = next.catch(() => undefined)
      return next
    },
  }
}

/** Whether a header `Accept` prefers OpenMetrics 1.0, as Prometheus does if it can store exemplars. */
export function wantsOpenMetrics(accept: string | undefined): boolean {
  const weight = (type: string): number => {
    const ranges = (accept ?? '').split(',').map((range) => range.split(';').map((part) => part.trim().toLowerCase()))
    const range = ranges.find(([name, ...parameters]) => name === type && parameters.every(isAcceptable))
    const quality = range?.find((part) => part.startsWith('q='))
    return range ? Number(quality?.slice(2) ?? 1) : 0
  }
  return weight('application/openmetrics-text') > weight('text/plain')
}

/** A version of OpenMetrics, if one is named, must be the one that is written. */
const isAcceptable = (parameter: string): boolean =>
  !parameter.startsWith('version=') || parameter === 'version=1.0.0' || parameter === 'version=0.0.4'
