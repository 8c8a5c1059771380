// Metrics whose value is read from elsewhere each time they are written.
import { Counter, Gauge } from 'prom-client'
import type { MetricRegistry } from './exposition.ts'

type AddMetric<M> = (name: string, help: string, read: () => number) => M

/** Functions that add a metric without labels to a registry. `read` returns its value. */
export const collectedMetrics = (
  registry: MetricRegistry,
): { readonly gauge: AddMetric<Gauge>; readonly total: AddMetric<Counter> } => ({
  gauge: (name, help, read) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    }),
  total: (name, help, read) =>
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset()
        this.inc(read())
      },
    }),
})
