// Paths of Supabase's services that this server does not have. Their clients get a sentence, and CORS headers with it: without
// them, browsers would report a fault of CORS instead.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isBelow } from '../adapters/base-path.ts'
import type { ServiceName } from '../config/config.ts'
import { signsIn } from '../config/signing-in.ts'
import { answerCrossOrigin, tokenRules } from '../http/cross-origin.ts'
import { sendText } from '../http/envelope.ts'

/** A service that no server has, and what to use in its place. */
const unknown: Readonly<Record<string, (restPath: string) => string>> = {
  '/graphql/v1': (restPath) =>
    `This server has no GraphQL API. Use ${restPath}, which reads related tables in one request; /openapi.json describes it.`,
}

export type MissingServices = {
  readonly services: readonly ServiceName[]
  /** Where the REST API is. */
  readonly restPath: string
  /** Origins that may use the services, read at each request; empty for every origin. */
  readonly allowedOrigins: () => readonly string[]
}

/** Answers a request. */
export type MissingServiceHandler = (request: IncomingMessage, response: ServerResponse) => void

/** @returns a function that finds the handler for a request target; undefined if it is not below such a path */
export function missingServices({
  services,
  restPath,
  allowedOrigins,
}: MissingServices): (target: string) => MissingServiceHandler | undefined {
  // Services that a server may leave out.
  const left = [
    ...(services.includes('rest') ? [] : [[restPath, 'rest'] as const]),
    ...(signsIn(services) ? [] : [['/auth/v1', 'auth'] as const]),
    ...(services.includes('storage') ? [] : [['/storage/v1', 'storage'] as const]),
    ...(services.includes('realtime') ? [] : [['/realtime/v1', 'realtime'] as const]),
    ...(services.includes('functions') ? [] : [['/functions/v1', 'functions'] as const]),
    ...(services.includes('mcp') ? [] : [['/mcp', 'mcp'] as const]),
  ]
  const messages = [
    ...Object.entries(unknown).map(([path, message]) => [path, message(restPath)] as const),
    ...left.map(
      ([path, name]) => [path, `This server was started without the service ${name} (setting SERVICES).`] as const,
    ),
  ]
  const handlers = messages.map(([path, message]) => [path, respondWith(path, message, allowedOrigins)] as const)
  return (target) => handlers.find(([path]) => isBelow(target, path))?.[1]
}

const respondWith = (path: string, message: string, allowedOrigins: () => readonly string[]): MissingServiceHandler => {
  // The second form is that of GraphQL, whose clients read nothing else.
  const body = JSON.stringify({
    status: 'fail',
    statusCode: 404,
    code: 'service_not_found',
    message,
    ...(path === '/graphql/v1' ? { errors: [{ message }] } : {}),
  })
  return (request, response) => {
    if (!answerCrossOrigin(request, response, allowedOrigins(), tokenRules)) sendText(response, 404, body)
  }
}
