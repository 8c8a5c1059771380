// The functions: calls by outcome, refusals, and worker processes.
import { Counter } from 'prom-client'
import type { FunctionFigures } from '../../services/functions/statistics.ts'
import { collectedMetrics } from './collected-metrics.ts'
import type { MetricRegistry } from './exposition.ts'

/** Adds the metrics to a registry. Servers without the service have none of them. */
export function functionsMetrics(registry: MetricRegistry, figures: () => FunctionFigures): void {
  const { gauge, total } = collectedMetrics(registry)
  gauge('functions_running', 'Calls of functions that run', () => figures().running)
  gauge('functions_workers', 'Worker processes of functions', () => figures().workers?.workers ?? 0)
  total('functions_workers_started_total', 'The total number of worker processes that were started', () => {
    return figures().workers?.started ?? 0
  })
  total(
    'functions_workers_killed_total',
    'The total number of worker processes that were killed because of a limit',
    () => figures().workers?.killed ?? 0,
  )
  const registers = [registry]
  new Counter({
    name: 'functions_calls_total',
    help: 'The total number of calls by function and outcome',
    labelNames: ['function', 'outcome'],
    registers,
    collect() {
      this.reset()
      for (const [name, { calls }] of figures().functions) {
        for (const [outcome, count] of Object.entries(calls)) this.inc({ function: name, outcome }, count)
      }
    },
  })
  new Counter({
    name: 'functions_seconds_total',
    help: 'The total duration of calls by function',
    labelNames: ['function'],
    registers,
    collect() {
      this.reset()
      for (const [name, { seconds }] of figures().functions) this.inc({ function: name }, seconds)
    },
  })
  new Counter({
    name: 'functions_errors_total',
    help: 'The total number of calls that the server has answered with an error, by its code',
    labelNames: ['code'],
    registers,
    collect() {
      this.reset()
      for (const [code, count] of figures().refusals) this.inc({ code }, count)
    },
  })
}
