// Liveness (`/health`) and readiness (`/ready`) of the process.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendText } from '../../http/envelope.ts'
import { isUnreachable, lacksFreeConnection } from '../../postgres/database-error.ts'
import type { Overload } from '../overload/refusals.ts'

/** A check has failed for this reason, which anyone may read. */
export class NotReady extends Error {}

/** Checks whether a dependency of the service is available. Throwing means no. */
export type Check = () => boolean | Promise<boolean>
export type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** `GET /health`: 200 as long as this process responds; checks nothing else. */
export function health(): Handler {
  return (_request, response) => sendText(response, 200, JSON.stringify({ status: 'ok' }))
}

export type ReadyOptions = {
  /** Milliseconds after which a check counts as failed. */
  readonly timeout?: number
  /** Why requests are being refused; undefined when the server is not overloaded. */
  readonly overload?: () => Overload | undefined
}

/**
 * `GET /ready`: 200 when all checks pass, otherwise 503 with the failed ones, and the reasons. Concurrent requests share
 * the result, so that frequent polling puts no load on the database.
 *
 * An overloaded server is ready, and says so in `overload`: it serves as many requests as it can. If a load balancer took
 * it out, the others would get its load, and be taken out next.
 */
export function ready(
  checks: Readonly<Record<string, Check>>,
  { timeout = 2000, overload = () => undefined }: ReadyOptions = {},
): Handler {
  let running: Promise<Results> | undefined
  return (_request, response) => {
    running ??= runChecks(checks, timeout).finally(() => (running = undefined))
    void running.then((results) => {
      const isReady = Object.values(results.checks).every(Boolean)
      const reason = overload()
      const body = { status: isReady ? 'ready' : 'not ready', ...results, overload: reason }
      sendText(response, isReady ? 200 : 503, JSON.stringify(body))
    })
  }
}

type Results = {
  readonly checks: Readonly<Record<string, boolean>>
  /** Why checks have failed, if that is known. Reveals no addresses: anyone may read it. */
  readonly reasons?: Readonly<Record<string, string>>
}

async function runChecks(checks: Readonly<Record<string, Check>>, timeout: number): Promise<Results> {
  const outcomes = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => ({ name, ...(await outcomeOf(check, timeout)) })),
  )
  const reasons = outcomes.flatMap(({ name, reason }) => (reason === undefined ? [] : [[name, reason] as const]))
  return {
    checks: Object.fromEntries(outcomes.map(({ name, holds }) => [name, holds])),
    ...(reasons.length > 0 ? { reasons: Object.fromEntries(reasons) } : {}),
  }
}

type Outcome = { readonly holds: boolean; readonly reason?: string }

async function outcomeOf(check: Check, timeout: number): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => resolve({ holds: false, reason: `no answer within ${timeout / 1000} s` }), timeout)
  })
  try {
    return await Promise.race([Promise.resolve(check()).then((holds) => ({ holds })), late])
  } catch (error) {
    return { holds: false, reason: reasonOf(error) }
  } finally {
    clearTimeout(timer)
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof NotReady) return error.message
  if (lacksFreeConnection(error)) return 'no free connection'
  return isUnreachable(error) ? 'unreachable' : 'failed'
}
