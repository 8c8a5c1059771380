// The service at `/mcp`: tools for agents. All but this is loaded with the first request.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendWhole } from '../../common/incomplete-request.ts'
import { lazy } from '../../common/lazy.ts'
import { answerCrossOrigin, tokenRules } from '../../http/cross-origin.ts'
import { bodyReceiver } from '../../http/json-body.ts'
import type { SchemaFile } from '../../validation/schema-directory.ts'
import type { DtoValidator } from '../../validation/validator.ts'
import { mcpPath, metadataPath, sendMcpError } from './dialect.ts'
import type { CredentialChecks } from '../session-check.ts'
import { mcpErrors } from './mcp-error.ts'
import type { McpParts } from './mcp-parts.ts'
import { metadataOf, resourceOf, type ResourceSettings } from './protected-resource.ts'
import { McpStatistics, type McpFigures } from './statistics.ts'

export type McpOptions = McpParts &
  CredentialChecks & {
    readonly database: McpParts['database'] & CredentialChecks['database']
    readonly validator: { readonly forDto: (id: string) => DtoValidator }
    /** The schemas of the program. */
    readonly readSchemas: () => Promise<readonly SchemaFile[]>
    readonly resource: () => ResourceSettings
    readonly allowedOrigins: () => readonly string[]
    readonly isEnding: () => boolean
    readonly onError: (error: unknown) => void
  }

export type McpService = {
  /** Responds to requests to `mcpPath` and `metadataPath`. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void
  readonly figures: () => McpFigures
}

export function createMcp(options: McpOptions): McpService {
  const statistics = new McpStatistics()
  const { bodyLimit } = options.snapshot().config
  const receive = bodyReceiver(bodyLimit, (fault) => mcpErrors.body(fault, bodyLimit))
  const schemas = lazy(async () => new Map((await options.readSchemas()).map(({ id, schema }) => [id, schema])))
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [{ answerMcp }, byId] = await Promise.all([import('./answer-mcp.ts'), schemas()])
    await answerMcp(request, response, {
      ...options,
      parts: options,
      callers: options,
      schemas: { validator: options.validator, byId },
      receive,
      statistics,
    })
  }
  return {
    handler: (request, response) => {
      const [path] = (request.url ?? '').split('?', 1)
      if (path === metadataPath) sendMetadata(request, response, options.resource())
      else if (path !== mcpPath && path !== `${mcpPath}/`) sendMcpError(response, mcpErrors.path())
      else {
        answer(request, response).catch((error: unknown) => {
          options.onError(error)
          response.destroy()
        })
      }
    },
    figures: () => statistics,
  }
}

/** Pages of every origin may read it: it has no secrets. */
function sendMetadata(request: IncomingMessage, response: ServerResponse, settings: ResourceSettings): void {
  if (answerCrossOrigin(request, response, [], tokenRules)) return
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    sendWhole(response, 405, Buffer.alloc(0), { Allow: 'GET, HEAD, OPTIONS' })
    return
  }
  const body = Buffer.from(JSON.stringify(metadataOf(resourceOf(request, settings), settings)))
  // Without a setting, the URLs depend on the header Host.
  sendWhole(response, 200, body, { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' })
}
