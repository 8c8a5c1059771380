// The paths of the service, its rules for pages of other origins, and how errors are sent that are no result of a tool.
import type { ServerResponse } from 'node:http'
import { sendWhole } from '../../common/incomplete-request.ts'
import type { CrossOriginRules } from '../../http/cross-origin.ts'
import type { McpError } from './mcp-error.ts'

/** Where the Model Context Protocol is spoken. */
export const mcpPath = '/mcp'

/** Where clients learn who issues tokens for `mcpPath`. RFC 9728, section 3.1 */
export const metadataPath = '/.well-known/oauth-protected-resource/mcp'

/** For pages that are clients of the protocol. Whether a page may be one is decided before. */
export const mcpCrossOrigin: CrossOriginRules = {
  byDefault: 'no origin',
  credentials: false,
  methods: 'POST, OPTIONS',
  headers: 'as requested',
  exposed: 'WWW-Authenticate, Mcp-Session-Id, Mcp-Protocol-Version, Retry-After',
  maxAge: 7200,
}

/** Sends an error as JSON-RPC does, which clients show. It belongs to no request of JSON-RPC. */
export function sendMcpError(response: ServerResponse, { status, code, message, headers }: McpError): void {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }))
  sendWhole(response, status, body, { 'Content-Type': 'application/json; charset=utf-8', ...headers })
}
