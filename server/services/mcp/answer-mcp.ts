// A request to `/mcp`, from its headers to the end of its response. Each is answered by itself: there are no sessions.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { answerCrossOrigin } from '../../http/cross-origin.ts'
import type { BodyReceiver } from '../../http/json-body.ts'
import { noteRole, noteRoute } from '../../http/request-log.ts'
import { readJsonBytes } from '../../text/json-text.ts'
import { goneSignal } from '../client-gone.ts'
import { mcpCrossOrigin, mcpPath, sendMcpError } from './dialect.ts'
import type { CredentialChecks } from '../session-check.ts'
import { identifyMcpCaller } from './mcp-callers.ts'
import { McpError, mcpErrors } from './mcp-error.ts'
import type { McpParts } from './mcp-parts.ts'
import { createMcpServer, type ToolSchemas } from './mcp-server.ts'
import { resourceOf, type ResourceSettings } from './protected-resource.ts'
import type { McpStatistics } from './statistics.ts'
import { isTrustedPage } from './trusted-page.ts'

export type McpAnswerParts = {
  readonly parts: McpParts
  readonly callers: CredentialChecks
  readonly schemas: ToolSchemas
  readonly resource: () => ResourceSettings
  readonly allowedOrigins: () => readonly string[]
  readonly receive: BodyReceiver
  readonly statistics: McpStatistics
  readonly isEnding: () => boolean
  readonly onError: (error: unknown) => void
}

/** Responds to a request at `/mcp`. Never rejects. */
export async function answerMcp(
  request: IncomingMessage,
  response: ServerResponse,
  given: McpAnswerParts,
): Promise<void> {
  const { statistics, onError } = given
  noteRoute(response, mcpPath)
  try {
    if (admitPage(request, response, given)) return
    if (request.method !== 'POST') throw mcpErrors.method(request.method ?? '')
    if (given.isEnding()) throw mcpErrors.ending()
    await answer(request, response, given)
  } catch (error) {
    const known = error instanceof McpError ? error : mcpErrors.internal(error)
    statistics.refused(known.reason)
    if (known.status >= 500 && known.reason !== 'busy' && known.reason !== 'ending') onError(known.cause ?? error)
    if (response.headersSent) response.destroy()
    else if (!response.destroyed) sendMcpError(response, known)
  }
}

/**
 * Refuses pages that may not be clients, and answers preflight requests.
 *
 * @returns whether it has responded
 * @throws McpError 403
 */
function admitPage(
  request: IncomingMessage,
  response: ServerResponse,
  { allowedOrigins, parts }: McpAnswerParts,
): boolean {
  const { origin } = request.headers
  if (origin === undefined) return false
  const { apiExternalUrl } = parts.snapshot().config
  if (!isTrustedPage(origin, { allowedOrigins: allowedOrigins(), apiExternalUrl })) throw mcpErrors.origin(origin)
  return answerCrossOrigin(request, response, [origin], mcpCrossOrigin)
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { parts, callers, schemas, resource, receive, statistics, onError }: McpAnswerParts,
): Promise<void> {
  const { mcpTimeout, mcpMaxRunning } = parts.snapshot().config
  const time = AbortSignal.timeout(mcpTimeout * 1000)
  const signal = AbortSignal.any([goneSignal(response), time])
  const caller = await identifyMcpCaller(request, resourceOf(request, resource()), callers)
  noteRole(response, caller.identity.role)
  const message = messageOf(await inTime(receive(request, response), time))
  if (statistics.running >= mcpMaxRunning) throw mcpErrors.busy()
  const mcp = createMcpServer({ schemas, statistics, onError, context: { caller, parts, request, signal } })
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true })
  statistics.running++
  try {
    await mcp.connect(transport)
    const ended = new Promise<void>((resolve) => response.once('close', resolve))
    await Promise.race([transport.handleRequest(request, response, message), ended])
  } finally {
    statistics.running--
    await mcp.close()
  }
}

/** @throws McpError 408 for a body that has not arrived when the time of the request is over */
const inTime = (body: Promise<Buffer>, time: AbortSignal): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const end = (): void => reject(mcpErrors.late())
    if (time.aborted) end()
    else time.addEventListener('abort', end, { once: true })
    body.then(resolve, reject)
  })

/** @throws McpError 400 */
function messageOf(body: Buffer): unknown {
  const reading = readJsonBytes(body)
  if (reading.kind === 'fault') throw mcpErrors.notJson()
  if (Array.isArray(reading.value)) throw mcpErrors.batch()
  return reading.value
}
