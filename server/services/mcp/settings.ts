// The settings of `/mcp`; the table is in `config/mcp-settings.ts`.

export type McpSettings = {
  /** Whether tools that write rows, and migrations, are offered. */
  readonly mcpMode: 'read-only' | 'read-write'
  /** Maximum number of rows that a tool returns or writes. */
  readonly mcpMaxRows: number
  /** Maximum bytes of the data that a tool returns. */
  readonly mcpMaxBytes: number
  /** Maximum number of requests that a process answers at a time. */
  readonly mcpMaxRunning: number
  /** Seconds after which a request is ended. */
  readonly mcpTimeout: number
}
