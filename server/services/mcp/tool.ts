// What a tool is, and what it gets.
import type { IncomingMessage } from 'node:http'
import type { McpCaller } from './mcp-callers.ts'
import type { McpConfig, McpParts } from './mcp-parts.ts'

export type ToolContext = {
  readonly caller: McpCaller
  readonly parts: McpParts
  readonly request: IncomingMessage
  /** Aborted when the client hangs up, or has waited too long. */
  readonly signal: AbortSignal
}

/** What decides whether a tool is offered. */
export type Offer = {
  readonly role: string
  readonly config: McpConfig
  /** Whether files of the project may be written and its tests run. */
  readonly isDevelopment: boolean
}

export type ToolAnswer = {
  /** A sentence of the server's own, without anything from the database. */
  readonly heading: string
  /** JSON text. */
  readonly data: string
  /** What the server itself says besides, for programs. */
  readonly own?: Readonly<Record<string, unknown>>
}

export type Tool<Arguments> = {
  readonly name: string
  readonly title: string
  /** For agents: what it does, when to use it, with an example. */
  readonly description: string
  /** `$id` of the JSON Schema of its arguments. */
  readonly schema: string
  /** Hints for clients, which ask people before some tools. */
  readonly effect: 'reads' | 'writes' | 'destroys'
  /** Why it is not offered; undefined if it is. */
  readonly refusal: (offer: Offer) => string | undefined
  /** @throws ToolRefusal; the error of the database, or of the server */
  readonly run: (given: Arguments, context: ToolContext) => Promise<ToolAnswer>
}

/** A tool whose arguments were checked against its schema. */
export type AnyTool = Omit<Tool<never>, 'run'> & {
  readonly run: (given: unknown, context: ToolContext) => Promise<ToolAnswer>
}

/** @param tool its schema describes `Arguments` */
export const defineTool = <Arguments>(tool: Tool<Arguments>): AnyTool => ({
  ...tool,
  run: (given, context) => tool.run(given as Arguments, context),
})
