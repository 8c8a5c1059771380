// Passes calls on to a server of one's own (`functions-url`).
import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { pipeline, type Readable } from 'node:stream'
import { FunctionError, functionErrors } from './function-error.ts'
import { BodyLimit } from './runtime/body-limit.ts'
import { headerPairs, messageHeaders } from './runtime/headers.ts'
import type { FunctionRequest, FunctionResponse } from './runtime/function-source.ts'
import type { Upstream } from './upstream.ts'

export type ProxyLimits = {
  /** Maximum number of calls at the same time. */
  readonly concurrency: number
  /** Milliseconds until the head of a response, and between two pieces of its body. */
  readonly timeoutMs: number
  /** Maximum bytes of a response. */
  readonly responseBytes: number
}

export type ProxyOptions = {
  /** Base URL of the server. Read at each call. */
  readonly url: () => string
  readonly limits: () => ProxyLimits
}

/** Milliseconds for which a connection is kept for further calls. */
const keepAlive = 5000

export function createProxy({ url: baseUrl, limits }: ProxyOptions): Upstream {
  const agents = {
    'http:': new HttpAgent({ keepAlive: true, timeout: keepAlive }),
    'https:': new HttpsAgent({ keepAlive: true, timeout: keepAlive }),
  }
  let running = 0
  const call = async (request: FunctionRequest): Promise<FunctionResponse> => {
    const { timeoutMs, responseBytes } = limits()
    const url = targetOf(baseUrl(), request.url)
    const isHttps = url.protocol === 'https:'
    const head = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = (isHttps ? requestHttps : requestHttp)(url, {
        agent: agents[isHttps ? 'https:' : 'http:'],
        method: request.method,
        headers: flat(request, url),
        timeout: timeoutMs,
        signal: request.signal,
      })
      outgoing.once('response', resolve)
      // `timeout` counts from the last byte that was sent.
      outgoing.once('timeout', () => outgoing.destroy(functionErrors.timedOut(timeoutMs / 1000)))
      outgoing.once('upgrade', (_response, socket) => {
        socket.destroy()
        reject(functionErrors.unreachable(new Error('the server has upgraded the connection')))
      })
      outgoing.on('error', (error) => reject(request.signal.aborted ? reasonOf(request.signal) : unreachable(error)))
      // Its errors are reported by the signal. The server may answer before it has received all.
      if (request.body) request.body.pipe(outgoing)
      else outgoing.end()
    })
    const body = limited(head, responseBytes)
    head.setTimeout(timeoutMs, () => body.destroy(functionErrors.timedOut(timeoutMs / 1000)))
    return { status: head.statusCode ?? 502, headers: messageHeaders(headerPairs(head.rawHeaders)), body }
  }
  return {
    call: async (_definition, request) => {
      if (running >= limits().concurrency) throw functionErrors.busy()
      running++
      try {
        const response = await call(request)
        response.body.once('close', () => running--)
        return response
      } catch (error) {
        running--
        throw error
      }
    },
    stop: () => {
      for (const agent of Object.values(agents)) agent.destroy()
      return Promise.resolve()
    },
  }
}

/** The URL of a call: path and query of the call below the base URL. */
function targetOf(baseUrl: string, called: string): URL {
  const { pathname, search } = new URL(called)
  const url = new URL(baseUrl)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${pathname}`
  url.search = search
  return url
}

/** Names and values in turn. A body without a length is sent in chunks. */
const flat = ({ headers, body }: FunctionRequest, url: URL): string[] => {
  const hasLength = headers.some(([name]) => name.toLowerCase() === 'content-length')
  return [
    ['Host', url.host] as const,
    ...headers,
    ...(body && !hasLength ? [['Transfer-Encoding', 'chunked'] as const] : []),
  ].flatMap(([name, value]) => [name, value])
}

const unreachable = (error: Error): Error =>
  error instanceof FunctionError ? error : functionErrors.unreachable(error)

const reasonOf = (signal: AbortSignal): Error =>
  signal.reason instanceof Error ? signal.reason : new Error('the call was aborted')

/** The bytes of a response, which fails with more of them than the limit. */
function limited(source: Readable, limit: number): BodyLimit {
  const counted = new BodyLimit(limit, () => counted.destroy(functionErrors.responseTooLarge(limit)))
  pipeline(source, counted, () => undefined)
  return counted
}
