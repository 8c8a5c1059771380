// The span of a request, and those of what it causes: statements, and requests to other servers. Spans contain no values of
// parameters, bodies, tokens or query strings, and no messages of the database, which may quote them.
// https://opentelemetry.io/docs/specs/semconv/database/postgresql/
import type { Attributes, Context, Span, SpanContext, Tracer } from '@opentelemetry/api'
import type { Call, CallEnd, OutgoingRequest } from '../../../common/request-scope.ts'
import type { PipelineStatement } from '../../../rest/database.ts'
import { operationOf } from './statement-operation.ts'

type Api = typeof import('@opentelemetry/api')

export type RequestSpanParts = {
  readonly api: Api
  readonly tracer: Tracer
  readonly span: Span
  /** The context of the span. */
  readonly context: Context
  /** Headers with the trace context, for requests to others. */
  readonly propagated: Readonly<Record<string, string>>
}

/** How a request was answered. */
export type SpanEnd = {
  readonly method: string
  /** The path with names of parameters in place of values; undefined when it is not known. */
  readonly route: string | undefined
  readonly role: string | undefined
  readonly status: number
  /** Whether the client disconnected before the whole response was sent. */
  readonly aborted: boolean
}

/** Spans of one request besides its own. Bounds what a large batch adds. */
const maxChildren = 1000

export class RequestSpan {
  readonly #parts: RequestSpanParts
  readonly isSampled: boolean
  #children = 0

  constructor(parts: RequestSpanParts) {
    this.#parts = parts
    this.isSampled = parts.span.isRecording()
  }

  get ids(): { readonly trace_id: string; readonly span_id: string } {
    const { traceId, spanId } = this.#parts.span.spanContext()
    return { trace_id: traceId, span_id: spanId }
  }

  /** Trace and span in the form of the header `traceparent`. */
  get traceparent(): string {
    return traceparentOf(this.#parts.span)
  }

  /** Waiting for a connection, if it took a millisecond. Times are as `performance.now()` returns them. */
  connectionTaken(since: number, until: number): void {
    if (until - since < 1) return
    this.#child('acquire connection', this.#parts.api.SpanKind.INTERNAL, since, {})?.end(epoch(until))
  }

  /** @param error SQLSTATE of the error that ended the statement, or the name of another error */
  statement(statement: PipelineStatement, since: number, until: number, error: string | undefined): void {
    const operation = operationOf(statement)
    const child = this.#child(operation, this.#parts.api.SpanKind.CLIENT, since, {
      'db.system.name': 'postgresql',
      'db.operation.name': operation,
      'db.query.text': statement.text,
      ...(error === undefined ? {} : { 'error.type': error, 'db.response.status_code': error }),
    })
    if (error !== undefined) child?.setStatus({ code: this.#parts.api.SpanStatusCode.ERROR })
    child?.end(epoch(until))
  }

  outgoing(method: string, url: URL): OutgoingRequest {
    const { api, propagated } = this.#parts
    const span = this.#child(method, api.SpanKind.CLIENT, performance.now(), {
      'http.request.method': method,
      'server.address': url.hostname,
      'server.port': Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    })
    const headers =
      span && 'traceparent' in propagated ? { ...propagated, traceparent: traceparentOf(span) } : propagated
    return {
      headers,
      end: (status) => {
        if (status !== undefined) span?.setAttribute('http.response.status_code', status)
        if (status === undefined || status >= 400) {
          span?.setAttribute('error.type', status === undefined ? 'fetch failed' : String(status))
          span?.setStatus({ code: api.SpanStatusCode.ERROR })
        }
        span?.end()
      },
    }
  }

  call({ name, kind, attributes }: Call): ((end: CallEnd) => void) | undefined {
    const { SpanKind, SpanStatusCode } = this.#parts.api
    const since = performance.now()
    const span = this.#child(name, kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL, since, attributes)
    if (!span) return undefined
    return ({ attributes: known = {}, error }) => {
      span.setAttributes(known)
      if (error !== undefined) {
        span.setAttribute('error.type', error)
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end()
    }
  }

  /** @param error the kind of error that the message was answered with; undefined if there was none */
  endMessage(role: string | undefined, error: string | undefined): void {
    const { api, span } = this.#parts
    if (role !== undefined) span.setAttribute('rowhouse.role', role)
    if (error !== undefined) span.setAttribute('error.type', error)
    if (Number(error) >= 500) span.setStatus({ code: api.SpanStatusCode.ERROR })
    span.end()
  }

  /** For links from other spans. */
  get spanContext(): SpanContext {
    return this.#parts.span.spanContext()
  }

  end({ method, route, role, status, aborted }: SpanEnd): void {
    const { api, span } = this.#parts
    if (!this.isSampled) return
    if (route !== undefined) {
      span.updateName(`${method} ${route}`)
      span.setAttribute('http.route', route)
    }
    if (role !== undefined) span.setAttribute('rowhouse.role', role)
    span.setAttribute('http.response.status_code', status)
    if (status >= 500) {
      span.setAttribute('error.type', String(status))
      span.setStatus({ code: api.SpanStatusCode.ERROR })
    } else if (aborted) span.setAttribute('error.type', 'client disconnected')
    span.end()
  }

  #child(name: string, kind: number, since: number, attributes: Attributes): Span | undefined {
    if (!this.isSampled) return undefined
    if (++this.#children > maxChildren) {
      this.#parts.span.setAttribute('rowhouse.spans_dropped', this.#children - maxChildren)
      return undefined
    }
    const { tracer, context } = this.#parts
    return tracer.startSpan(name, { kind, attributes, startTime: epoch(since) }, context)
  }
}

/** Milliseconds since 1970 of a time of `performance.now()`. */
const epoch = (time: number): number => performance.timeOrigin + time

function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}
