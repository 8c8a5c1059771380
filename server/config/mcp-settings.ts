// The settings of `/mcp`.
import type { McpSettings } from '../services/mcp/settings.ts'
import { supabaseSetting as mcp } from './service-setting.ts'
import type { Setting } from './setting.ts'
import * as types from './setting-types.ts'

export const mcpSettings: { readonly [K in keyof McpSettings]: Setting<McpSettings[K]> } = {
  mcpMode: mcp('MCP_MODE', types.choice(['read-only', 'read-write'], 'Invalid mode.'), 'read-only', {
    description:
      'Whether [agents](../services/mcp/README.md) may only read, or also write: each write is shown with its effect, and then confirmed.',
  }),
  mcpMaxRows: mcp('MCP_MAX_ROWS', types.integer({ min: 1, max: 100_000 }), 100, {
    description: 'Maximum number of rows that a tool for agents returns, or writes.',
  }),
  mcpMaxBytes: mcp('MCP_MAX_BYTES', types.size, 256 * 1024, {
    description: 'Maximum bytes of the data that a tool for agents returns.',
  }),
  mcpMaxRunning: mcp('MCP_MAX_RUNNING', types.integer({ min: 1, max: 10_000 }), 16, {
    description:
      'Maximum number of requests of agents that a process answers at a time. Further ones are refused with 503.',
  }),
  mcpTimeout: mcp('MCP_TIMEOUT', types.integer({ min: 1, max: 3600 }), 50, {
    description: 'Seconds after which a request of an agent is ended. Most clients wait for 60 seconds.',
  }),
}
