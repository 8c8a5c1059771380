// What is recorded of one request while it runs: its span, the time of its statements, and those that are slow.
import type { Call, CallEnd, OutgoingRequest, RequestScope } from '../../common/request-scope.ts'
import type { PipelineStatement, ServerError, StatementObserver, TraceNote } from '../../rest/database.ts'
import { sqlState } from '../../postgres/database-error.ts'
import type { RequestSpan } from './tracing/request-span.ts'

/** Ids of the span that a measurement belongs to, for exemplars. */
export type TraceIds = { readonly trace_id: string; readonly span_id: string }

/** Statements that were sent together and took long. */
export type SlowRoundTrip = {
  readonly statements: readonly PipelineStatement[]
  readonly milliseconds: number
}

/** Statements that were sent together, and when they ran, as `performance.now()` returns it. */
export type RoundTrip = {
  readonly statements: readonly PipelineStatement[]
  readonly since: number
  readonly until: number
  /** SQLSTATE of the error of a statement, or the name of another error. */
  readonly error: string | undefined
}

/** A request, as far as logs and metrics describe it. */
export type RequestSummary = {
  readonly method: string
  /** Without the query string. */
  readonly path: string
  readonly route: string | undefined
  readonly role: string | undefined
  readonly requestId: string
}

export type Recording = {
  /** Receives the seconds of each round trip to the database. */
  readonly roundTripEnded: (seconds: number, ids: TraceIds | undefined) => void
  /** Milliseconds from which round trips are slow; Infinity when none is. */
  readonly threshold: number
  /** @param request undefined for a statement of the program itself */
  readonly slow: (roundTrip: SlowRoundTrip, request: RequestSummary | undefined) => void
  /** Where the database learns of the trace. */
  readonly notePlace: TraceNote['place'] | undefined
  /** Whether the round trips of requests that begin now are kept, because people watch them. */
  readonly keepsRoundTrips: () => boolean
}

/** Slow round trips of one request that are logged. */
const maxSlow = 10
/** Round trips of one request that are kept. */
const maxKept = 20

export class RequestRecord implements StatementObserver, RequestScope {
  readonly timesStatements: boolean
  readonly note: TraceNote | undefined
  readonly span: RequestSpan | undefined
  readonly #recording: Recording
  readonly #slow: SlowRoundTrip[] = []
  /** When it began, as `performance.now()`. */
  readonly begun = performance.now()
  /** Undefined if none are kept. */
  readonly roundTrips: RoundTrip[] | undefined
  /** Milliseconds for which it has waited for connections. */
  waited = 0
  #summary: RequestSummary | undefined

  /** @param span undefined without traces */
  constructor(recording: Recording, span: RequestSpan | undefined) {
    this.#recording = recording
    this.span = span
    this.timesStatements = span?.isSampled === true
    const { notePlace: place } = recording
    this.note = this.timesStatements && span && place ? { place, traceparent: span.traceparent } : undefined
    this.roundTrips = recording.keepsRoundTrips() ? [] : undefined
  }

  /** Of the span, if it is sampled. */
  get ids(): TraceIds | undefined {
    return this.timesStatements ? this.span?.ids : undefined
  }

  connectionTaken(since: number, until: number): void {
    this.waited += until - since
    if (this.timesStatements) this.span?.connectionTaken(since, until)
  }

  statementEnded(statement: PipelineStatement, since: number, until: number, error: ServerError | undefined): void {
    this.span?.statement(statement, since, until, error?.code)
  }

  roundTripEnded(statements: readonly PipelineStatement[], since: number, until: number, error?: Error): void {
    this.#recording.roundTripEnded((until - since) / 1000, this.ids)
    // A lost connection ends no statement, so that the one that it has interrupted is not known.
    const first = statements[0]
    if (error && first && this.timesStatements && sqlState(error) === undefined && !('server' in error)) {
      this.span?.statement(first, since, until, error.name)
    }
    if (this.roundTrips && this.roundTrips.length < maxKept) {
      this.roundTrips.push({ statements, since, until, error: error && (sqlState(error) ?? error.name) })
    }
    if (until - since < this.#recording.threshold || this.#slow.length >= maxSlow) return
    const roundTrip = { statements, milliseconds: until - since }
    if (this.#summary) this.#recording.slow(roundTrip, this.#summary)
    else this.#slow.push(roundTrip)
  }

  outgoing(method: string, url: URL): OutgoingRequest | undefined {
    return this.span?.outgoing(method, url)
  }

  call(call: Call): ((end: CallEnd) => void) | undefined {
    return this.span?.call(call)
  }

  /** Undefined before the request was answered. */
  get summary(): RequestSummary | undefined {
    return this.#summary
  }

  /** Call this when the request was answered. What ends later is logged at once. */
  answered(summary: RequestSummary): void {
    this.#summary = summary
    for (const roundTrip of this.#slow) this.#recording.slow(roundTrip, summary)
  }
}

/** Observes statements that belong to no request: those of loading the schema, for instance. */
export class BackgroundRecord implements StatementObserver {
  readonly timesStatements = false
  readonly note = undefined
  readonly #recording: Recording

  constructor(recording: Recording) {
    this.#recording = recording
  }

  connectionTaken(): void {
    // Only traces have this time.
  }

  statementEnded(): void {
    // Statements are not timed separately.
  }

  roundTripEnded(statements: readonly PipelineStatement[], since: number, until: number): void {
    this.#recording.roundTripEnded((until - since) / 1000, undefined)
    if (until - since < this.#recording.threshold) return
    this.#recording.slow({ statements, milliseconds: until - since }, undefined)
  }
}
