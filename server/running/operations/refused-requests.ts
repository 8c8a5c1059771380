// Counts and logs the requests that are refused as they arrive, because the server is overloaded. A refusal must stay cheap: a few
// per second have lines of their own, and `refusal-log.ts` logs how many there were.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pathOf, requestIdOf } from '../../http/request-log.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { RefusalLines } from './refusal-lines.ts'

/** Call the function after the response was sent, with the milliseconds that it took. */
export function observeRefusals(
  log: Pick<Log, 'wants' | 'write'>,
  metrics: Pick<Metrics, 'requestAnswered'>,
  refusalLines: RefusalLines,
): (request: IncomingMessage, response: ServerResponse, target: string, milliseconds: number) => void {
  return (request, response, target, milliseconds) => {
    const { method = '' } = request
    const { statusCode: status } = response
    // Route and role are unknown: neither path nor credentials were looked at.
    metrics.requestAnswered({ method, route: undefined, role: undefined, status, seconds: milliseconds / 1000 })
    if (!log.wants(status) || !refusalLines.next()) return
    log.write({
      kind: 'request',
      method,
      path: pathOf(target),
      status,
      duration: Math.round(milliseconds * 100) / 100,
      role: null,
      requestId: requestIdOf(request.headers['x-request-id']),
      aborted: false,
    })
  }
}
