// Records requests for traces, metrics, the log of slow statements, and people who watch them in the console. Without any of them
// there is no recorder, or it is not active, so that requests pay nothing.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { observerOf, setObserver } from '../../adapters/request-observer.ts'
import { requestScope } from '../../common/request-scope.ts'
import { unobservedSocket, type ObserveSocket } from '../../common/socket-observer.ts'
import type { EndedRequest } from '../../http/request-log.ts'
import type { StatementObserver } from '../../rest/database.ts'
import { knownMethod } from './known-method.ts'
import { BackgroundRecord, RequestRecord } from './request-record.ts'
import { recordSocket } from './socket-record.ts'
import type { RecorderOptions } from './recorder-options.ts'

export class RequestRecorder {
  readonly #options: RecorderOptions
  readonly #background: BackgroundRecord

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#background = new BackgroundRecord(options)
  }

  /** Whether requests that begin now are recorded. */
  get isActive(): boolean {
    return this.#options.isAlwaysActive || this.#options.keepsRoundTrips()
  }

  /** Observes the statements that begin now in the context of a request, or in none. */
  readonly observe = (): StatementObserver | undefined => {
    if (!this.isActive) return undefined
    const scope = requestScope.getStore()
    return scope instanceof RequestRecord ? scope : this.#background
  }

  /** Records a request to the REST API. Only if it is sampled, it has a scope, which slows promises down. */
  rest(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const record = this.#begin(request, response)
    if (record.ids) requestScope.run(record, handle)
    else handle()
  }

  /** Records a request to another service. */
  service(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    requestScope.run(this.#begin(request, response), handle)
  }

  /** Records a request that upgrades its connection, and the messages on it. */
  readonly socket: ObserveSocket = (request, route) =>
    this.isActive ? recordSocket(this.#options, request, route) : unobservedSocket

  /** Call this at the end of a request to another service than the REST API. */
  ended({ line, route }: EndedRequest, response: ServerResponse): void {
    const { method, path, status, role, requestId, duration } = line
    const record = recordOf(response.req)
    record?.answered({ method, path, route, role: role ?? undefined, requestId })
    this.#options.metrics.requestAnswered({
      method,
      route,
      role: role ?? undefined,
      status,
      seconds: duration / 1000,
      ids: record?.ids,
    })
  }

  #begin(request: IncomingMessage, response: ServerResponse): RequestRecord {
    const record = new RequestRecord(this.#options, this.#options.tracer?.begin(request))
    setObserver(request, record)
    const { span, ids } = record
    if (span && ids) {
      // https://w3c.github.io/trace-context/#traceresponse-header
      response.setHeader('traceresponse', span.traceparent)
      const { method = '' } = request
      // After the listeners of the request log, which say what route and role were.
      response.once('close', () =>
        setImmediate(() => {
          const { route, role } = record.summary ?? {}
          const { statusCode: status, writableFinished } = response
          span.end({ method: knownMethod(method), route, role, status, aborted: !writableFinished })
        }),
      )
    }
    return record
  }
}

/** The record of a request; undefined when there is no recorder. */
export function recordOf(request: IncomingMessage): RequestRecord | undefined {
  const observer = observerOf(request)
  return observer instanceof RequestRecord ? observer : undefined
}
