// Schedules: jobs, their runs, and which process runs them.
import { Counter } from 'prom-client'
import type { ScheduleFigures } from '../../services/schedules/statistics.ts'
import { collectedMetrics } from './collected-metrics.ts'
import type { MetricRegistry } from './exposition.ts'

/** Adds the metrics to a registry. Servers without the service have none of them. */
export function schedulesMetrics(registry: MetricRegistry, figures: ScheduleFigures): void {
  const { gauge } = collectedMetrics(registry)
  gauge('schedules_scheduling', 'Whether this process runs the jobs', () => Number(figures.isScheduling))
  gauge('schedules_jobs', 'Active jobs', () => (figures.isScheduling ? figures.jobs : 0))
  gauge('schedules_running', 'Jobs that this process is running', () => figures.running)
  gauge('schedules_waiting', 'Jobs that are due and wait for another to end', () => {
    return figures.isScheduling ? figures.waiting : 0
  })
  gauge('schedules_skipped', 'Due times of the jobs for which there was no run', () => {
    return figures.isScheduling ? figures.skipped : 0
  })
  new Counter({
    name: 'schedules_runs_total',
    help: 'The total number of runs that ended in this process',
    labelNames: ['status'],
    registers: [registry],
    collect() {
      this.reset()
      this.inc({ status: 'succeeded' }, figures.succeeded)
      this.inc({ status: 'failed' }, figures.failed)
    },
  })
}
