// Liveness (`/health`) and readiness (`/ready`) of the process.
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Checks whether a dependency of the service is available. Throwing means no. */
export type Check = () => boolean | Promise<boolean>
export type Handler = (request: IncomingMessage, response: ServerResponse) => void

function answer(request: IncomingMessage, response: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value)
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    // Health responses must not be cached.
    'Cache-Control': 'no-store',
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** `GET /health`: 200 as long as this process responds; checks nothing else. */
export function health(): Handler {
  return (request, response) => answer(request, response, 200, { status: 'ok' })
}

/**
 * `GET /ready`: 200 when all checks pass, otherwise 503 with the failed ones. Checks that take longer than `timeout`
 * milliseconds count as failed. Concurrent requests share the result, so that frequent polling puts no load on the
 * database.
 */
export function ready(checks: Readonly<Record<string, Check>>, timeout = 2000): Handler {
  let running: Promise<Record<string, boolean>> | undefined
  return (request, response) => {
    running ??= runChecks(checks, timeout).finally(() => (running = undefined))
    void running.then((results) => {
      const isReady = Object.values(results).every(Boolean)
      answer(request, response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not ready', checks: results })
    })
  }
}

async function runChecks(checks: Readonly<Record<string, Check>>, timeout: number): Promise<Record<string, boolean>> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await holds(check, timeout)] as const),
  )
  return Object.fromEntries(results)
}

async function holds(check: Check, timeout: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), timeout)))
  try {
    return await Promise.race([Promise.resolve(check()), late])
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}
