// A call from its request to the end of its response.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { randomUUID } from 'node:crypto'
import { requestScope } from '../../common/request-scope.ts'
import { answerCrossOrigin } from '../../http/cross-origin.ts'
import { noteRole, noteRoute, requestIdFor } from '../../http/request-log.ts'
import { callHeaders, originOfRequest, setsOwnCookie } from './call-headers.ts'
import { callTargetOf, type CallTarget } from './call-target.ts'
import { functionsCrossOrigin, functionsPath, sendFunctionError } from './dialect.ts'
import type { CredentialChecks } from '../session-check.ts'
import { identifyCaller } from './function-callers.ts'
import { FunctionError, functionErrors } from './function-error.ts'
import type { FunctionDefinition } from './function-project.ts'
import { callBody } from './request-body.ts'
import { FunctionFailure } from './runtime/function-failure.ts'
import type { FunctionResponse } from './runtime/function-source.ts'
import type { CallOutcome, FunctionStatistics } from './statistics.ts'

/** Codes of errors that are no failure of the server, although their status is 500 or more. */
const refusals: ReadonlySet<string | number> = new Set(['BUSY', 'UPGRADE_NOT_SUPPORTED'])

export type CallParts = {
  readonly callers: CredentialChecks
  /** Finds a function. @throws FunctionError 404 when no function has this name, 503 when the files cannot be read */
  readonly find: (name: string) => Promise<FoundFunction>
  readonly allowedOrigins: () => readonly string[]
  readonly trustedProxies: number
  readonly maxRequestBytes: () => number
  readonly statistics: FunctionStatistics
  readonly isEnding: () => boolean
  /** A function could not answer, for a reason that its owner reads in the log. */
  readonly failed: (name: string, requestId: string, failure: FunctionFailure) => void
  readonly onError: (error: unknown) => void
}

export type FoundFunction = Pick<FunctionDefinition, 'verifyJwt'> & {
  readonly call: (request: Parameters<import('./upstream.ts').Upstream['call']>[1]) => Promise<FunctionResponse>
}

/** Methods that `Request` of the fetch standard refuses. */
const refusedMethods: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK'])

/** Responds to a request below `/functions/v1`. Never rejects. */
export async function answerCall(request: IncomingMessage, response: ServerResponse, parts: CallParts): Promise<void> {
  const requestId = requestIdFor(response) ?? randomUUID()
  response.setHeader('X-Request-Id', requestId)
  const { statistics } = parts
  const start = performance.now()
  let called: string | undefined
  const end = (outcome: CallOutcome): void => {
    if (called !== undefined) statistics.ended(called, outcome, (performance.now() - start) / 1000)
  }
  try {
    const target = callTargetOf(request.url ?? '')
    noteRoute(response, `${functionsPath}/{name}`)
    const found = await admit(request, response, target.name, parts)
    called = target.name
    statistics.running++
    try {
      await call(request, response, { target, found, requestId }, parts)
    } finally {
      statistics.running--
    }
    end(response.writableFinished ? 'answered' : 'aborted')
  } catch (error) {
    if (error instanceof HungUp) {
      end('aborted')
      return
    }
    const known = errorOf(error)
    end(known.status === 503 && known.code === 'BUSY' ? 'refused' : 'failed')
    statistics.refused(String(known.code))
    if (error instanceof FunctionFailure) parts.failed(called ?? '', requestId, error)
    else if (known.status >= 500 && !refusals.has(known.code)) parts.onError(known.cause ?? error)
    if (response.headersSent) response.destroy()
    else sendFunctionError(request, response, parts.allowedOrigins(), known)
  }
}

/** Finds the function, and checks who calls it. */
async function admit(
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
  { find, callers, isEnding }: CallParts,
): Promise<FoundFunction> {
  if (isEnding()) throw functionErrors.ending()
  if (request.headers.upgrade?.toLowerCase() === 'websocket') throw functionErrors.noUpgrade()
  const { method = 'GET' } = request
  if (refusedMethods.has(method)) throw functionErrors.unsupportedMethod()
  const found = await find(name)
  // Preflight requests have no token.
  if (found.verifyJwt && method !== 'OPTIONS') noteRole(response, (await identifyCaller(request, callers)).role)
  return found
}

type Called = { readonly target: CallTarget; readonly found: FoundFunction; readonly requestId: string }

/** The client has closed the connection, so that there is no response. */
class HungUp extends Error {}

async function call(
  request: IncomingMessage,
  response: ServerResponse,
  { target: { target }, found, requestId }: Called,
  parts: CallParts,
): Promise<void> {
  const { trustedProxies, maxRequestBytes } = parts
  const { method = 'GET' } = request
  const { protocol, host } = originOfRequest(request, trustedProxies)
  const url = `${protocol}://${host}${target}`
  const ending = new AbortController()
  const hangUp = (): void => ending.abort(new HungUp())
  response.once('close', hangUp)
  if (response.destroyed) hangUp()
  const body = callBody(request, maxRequestBytes(), (error) => ending.abort(error))
  const outgoing = requestScope.getStore()?.outgoing(method, new URL(url))
  let status: number | undefined
  try {
    const answer = await found.call({
      method,
      url,
      headers: callHeaders(request, { trustedProxies, requestId, trace: outgoing?.headers ?? {} }),
      ...(body.stream ? { body: body.stream } : {}),
      requestId,
      signal: ending.signal,
    })
    status = answer.status
    await send(request, response, answer, parts.allowedOrigins())
  } catch (error) {
    // The server of the function reports its own end, whose cause is the one here.
    if (ending.signal.aborted) throw ending.signal.reason
    throw error
  } finally {
    response.off('close', hangUp)
    outgoing?.end(status)
    body.end()
  }
}

/** Sends the response of a function, with headers for pages of other origins unless it has its own. */
async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: FunctionResponse,
  origins: readonly string[],
): Promise<void> {
  // Without a listener, an error before the body is read would end the process.
  body.on('error', () => undefined)
  try {
    if (status < 200 || status > 599)
      throw functionErrors.internal(new Error(`a function has responded with ${status}`))
    const hasOwn = headers.some(([name]) => name.toLowerCase() === 'access-control-allow-origin')
    if (!hasOwn && answerCrossOrigin(request, response, origins, functionsCrossOrigin)) return
    for (const [name, value] of headers) {
      if (setsOwnCookie([name, value])) continue
      if (replaced.has(name.toLowerCase())) response.setHeader(name, value)
      else response.appendHeader(name, value)
    }
    response.writeHead(status)
    if (request.method === 'HEAD' || status === 204 || status === 304) response.end()
    else {
      response.flushHeaders()
      await pipeline(body, response)
    }
  } finally {
    body.destroy()
  }
}

/** Headers of the function that take the place of the server's. */
const replaced: ReadonlySet<string> = new Set(['server', 'x-request-id', 'content-type', 'content-length'])

function errorOf(error: unknown): Pick<FunctionError, 'status' | 'code' | 'message' | 'headers'> & { cause?: unknown } {
  if (error instanceof FunctionError) return error
  if (error instanceof FunctionFailure) {
    const { status, code, message, kind } = error
    return { status, code, message, headers: kind === 'busy' ? { 'Retry-After': '1' } : {} }
  }
  return functionErrors.internal(error)
}
