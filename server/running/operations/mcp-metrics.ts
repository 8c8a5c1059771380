// The tools for agents: calls by outcome, and requests that were refused.
import { Counter } from 'prom-client'
import type { McpFigures } from '../../services/mcp/statistics.ts'
import { collectedMetrics } from './collected-metrics.ts'
import type { MetricRegistry } from './exposition.ts'

/** Adds the metrics to a registry. Servers without the service have none of them. */
export function mcpMetrics(registry: MetricRegistry, figures: () => McpFigures): void {
  const { gauge } = collectedMetrics(registry)
  const registers = [registry]
  gauge('mcp_running', 'Requests of agents that run', () => figures().running)
  new Counter({
    name: 'mcp_calls_total',
    help: 'The total number of calls by tool and outcome',
    labelNames: ['tool', 'outcome'],
    registers,
    collect() {
      this.reset()
      for (const [tool, counts] of figures().tools) {
        for (const [outcome, count] of Object.entries(counts)) this.inc({ tool, outcome }, count)
      }
    },
  })
  new Counter({
    name: 'mcp_refusals_total',
    help: 'The total number of requests of agents that were refused before a tool was called, by reason',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset()
      for (const [reason, count] of figures().refusals) this.inc({ reason }, count)
    },
  })
}
