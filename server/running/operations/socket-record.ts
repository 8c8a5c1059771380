// Records a WebSocket: its handshake as a request, and each message in a trace of its own that is linked to it.
import type { IncomingMessage } from 'node:http'
import { requestScope } from '../../common/request-scope.ts'
import type { SocketObserver } from '../../common/socket-observer.ts'
import { pathOf, requestIdOf } from '../../http/request-log.ts'
import { knownMethod } from './known-method.ts'
import type { RecorderOptions } from './recorder-options.ts'
import { RequestRecord, type RequestSummary } from './request-record.ts'

export function recordSocket(options: RecorderOptions, request: IncomingMessage, route: string): SocketObserver {
  const { tracer, metrics } = options
  const begun = performance.now()
  const method = knownMethod(request.method ?? '')
  const requestId = requestIdOf(request.headers['x-request-id'])
  const handshake = new RequestRecord(options, tracer?.begin(request))
  let summary: RequestSummary = { method, path: pathOf(request.url ?? ''), route, role: undefined, requestId }
  return {
    handshake: (work) => requestScope.run(handshake, work),
    answered: (status, role) => {
      summary = { ...summary, role }
      const { span, ids } = handshake
      handshake.answered(summary)
      metrics.requestAnswered({ method, route, role, status, seconds: (performance.now() - begun) / 1000, ids })
      span?.end({ method, route, role, status, aborted: false })
    },
    message: async (work, errorOf) => {
      const span = tracer && handshake.span && tracer.beginMessage(route, handshake.span)
      const record = new RequestRecord(options, span)
      let error: string | undefined = 'failed'
      try {
        const answer = await requestScope.run(record, work)
        error = errorOf(answer)
        return answer
      } finally {
        record.answered(summary)
        span?.endMessage(summary.role, error)
      }
    },
  }
}
