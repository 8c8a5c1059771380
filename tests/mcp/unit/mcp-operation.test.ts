// What operators see of the tools for agents: metrics, and findings of the doctor.
import { Registry } from 'prom-client'
import t from 'tap'
import { mcpMetrics } from '../../../server/running/operations/mcp-metrics.ts'
import { McpStatistics } from '../../../server/services/mcp/statistics.ts'
import { mcpFindings } from '../../../server/tools/doctor/mcp-findings.ts'

t.test('metrics by tool and reason', async (t) => {
  const registry = new Registry()
  const statistics = new McpStatistics()
  mcpMetrics(registry, () => statistics)
  statistics.called('read_rows', 'answered')
  statistics.called('read_rows', 'answered')
  statistics.called('read_rows', 'refused')
  statistics.refused('origin')
  statistics.running++
  const text = await registry.metrics()
  t.match(text, 'mcp_calls_total{tool="read_rows",outcome="answered"} 2')
  t.match(text, 'mcp_calls_total{tool="read_rows",outcome="refused"} 1')
  t.match(text, 'mcp_refusals_total{reason="origin"} 1')
  t.match(text, 'mcp_running 1')
})

t.test('findings of the doctor', async (t) => {
  const settings = {
    services: ['rest', 'auth', 'mcp'],
    mcpMode: 'read-write',
    apiExternalUrl: null,
    authOAuthServerEnabled: true,
    serverHost: '0.0.0.0',
    serverUnixSocket: null,
  } as const
  const codes = (changes: Partial<Parameters<typeof mcpFindings>[0]>): readonly string[] =>
    mcpFindings({ ...settings, ...changes }).map(({ code }) => code)
  t.strictSame(codes({}), ['mcp_read_write', 'mcp_without_url'])
  t.strictSame(codes({ services: ['rest', 'auth'] }), [])
  t.strictSame(codes({ mcpMode: 'read-only' }), ['mcp_without_url'])
  t.strictSame(codes({ mcpMode: 'read-only', serverHost: '127.0.0.1' }), [])
  t.strictSame(codes({ mcpMode: 'read-only', authOAuthServerEnabled: false }), [])
  t.strictSame(codes({ mcpMode: 'read-only', apiExternalUrl: 'https://api.example/auth/v1' }), [])
})
