// The requests of this process for people who watch them. Nothing is recorded while they are not watched.
import { isStreamed, type RestResponse } from '../../rest/response/result.ts'
import type { Database, PipelineStatement } from '../../rest/database.ts'
import type { RequestLine } from '../../http/request-log.ts'
import type {
  RequestDetails,
  RequestEntry,
  RequestStage,
  SlowStatement,
} from '../../services/console/request-protocol.ts'
import type { RequestSource, RequestWatcher } from '../../services/console/request-source.ts'
import type { Log } from './log.ts'
import { scrub } from './log-line.ts'
import { redactPlan } from './redacted-plan.ts'
import type { RoundTrip } from './request-record.ts'
import { recordOf } from './request-recorder.ts'
import { shownTarget } from './shown-target.ts'
import { isExplainable, isOwn, isSettings, planOf } from './statement-plan.ts'

/** Requests, and bytes of their statements, that are recorded. The oldest are forgotten. */
const most = { requests: 1000, bytes: 8 * 1024 * 1024 }
/** Bytes of the values of one request's statements; with more, it has no plan. */
const mostValues = 64 * 1024
/** UTF-16 units of a shown statement. */
const longestText = 10_000
const mostStatements = 50

type Recorded = {
  readonly entry: RequestEntry
  readonly bytes: number
  readonly begun: number
  readonly waited: number
  readonly roundTrips: readonly RoundTrip[]
}

export type RequestTailOptions = {
  readonly worker: number | null
  readonly database: () => Pick<Database, 'run'>
  /** Called with true for the first watcher, and with false after the last. */
  readonly onUse?: (isUsed: boolean) => void
}

export class RequestTail implements RequestSource {
  readonly worker: number | null
  readonly #options: RequestTailOptions
  readonly #watchers = new Set<RequestWatcher>()
  /** By number, in the order of their ends. */
  readonly #recorded = new Map<number, Recorded>()
  #bytes = 0
  #count = 0

  constructor(options: RequestTailOptions) {
    this.worker = options.worker
    this.#options = options
  }

  get isWatched(): boolean {
    return this.#watchers.size > 0
  }

  /** Requests and bytes that are recorded. */
  get size(): { readonly requests: number; readonly bytes: number } {
    return { requests: this.#recorded.size, bytes: this.#bytes }
  }

  /** A log that also passes the lines of requests to the watchers, at any level of the log. */
  logged(log: Log): Log {
    return {
      ...log,
      wants: (status) => this.isWatched || log.wants(status),
      write: (event) => {
        log.write(event)
        if (event.kind === 'request' && this.isWatched) this.#add(event)
      },
    }
  }

  watch(watcher: RequestWatcher): () => void {
    this.#watchers.add(watcher)
    if (this.#watchers.size === 1) this.#options.onUse?.(true)
    return () => {
      if (!this.#watchers.delete(watcher) || this.isWatched) return
      this.#recorded.clear()
      this.#bytes = 0
      this.#options.onUse?.(false)
    }
  }

  /** Tells the watchers that the server ends. */
  end(): void {
    for (const { onEnd } of [...this.#watchers]) onEnd()
  }

  async details(number: number): Promise<RequestDetails | undefined> {
    const recorded = this.#recorded.get(number)
    if (!recorded) return undefined
    const { entry, waited, begun, roundTrips } = recorded
    const stages = roundTrips.map((roundTrip) => stageOf(roundTrip, begun))
    return { entry, waited: rounded(waited), stages, plan: await this.#planOf(roundTrips) }
  }

  statements(): readonly SlowStatement[] {
    const byText = new Map<string, { calls: number; total: number; longest: number; entry: RequestEntry }>()
    for (const { entry, roundTrips } of this.#recorded.values()) {
      for (const { statements, since, until } of roundTrips) {
        const main = statements.findLast(isOwn)
        if (!main) continue
        const known = byText.get(main.text) ?? { calls: 0, total: 0, longest: -1, entry }
        const time = until - since
        byText.set(main.text, {
          calls: known.calls + 1,
          total: known.total + time,
          longest: Math.max(known.longest, time),
          entry: time > known.longest ? entry : known.entry,
        })
      }
    }
    return [...byText]
      .sort(([, one], [, other]) => other.total - one.total)
      .slice(0, mostStatements)
      .map(
        ([
          text,
          {
            calls,
            total,
            entry: { method, path, role },
          },
        ]) => ({
          text: shownText(text),
          calls,
          mean: rounded(total / calls),
          total: rounded(total),
          example: { method, path, role },
        }),
      )
  }

  #add(line: RequestLine): void {
    const record = line.source && recordOf(line.source)
    const roundTrips = record?.roundTrips ?? []
    const entry = entryOf(line, ++this.#count, record?.roundTrips)
    const kept = roundTrips.map(withBoundedValues)
    const bytes = kept.reduce((sum, { statements }) => sum + bytesOf(statements), 1000)
    this.#recorded.set(entry.number, {
      entry,
      bytes,
      begun: record?.begun ?? 0,
      waited: record?.waited ?? 0,
      roundTrips: kept,
    })
    this.#bytes += bytes
    this.#forgetOldest()
    for (const { onRequest } of this.#watchers) onRequest(entry)
  }

  #forgetOldest(): void {
    for (const [number, { bytes }] of this.#recorded) {
      if (this.#recorded.size <= most.requests && this.#bytes <= most.bytes) return
      this.#recorded.delete(number)
      this.#bytes -= bytes
    }
  }

  /** The plan of the last statement that can be planned. */
  async #planOf(roundTrips: readonly RoundTrip[]): Promise<unknown> {
    const last = roundTrips.findLast(({ statements }) => statements.some(isPlannable) && statements.some(isSettings))
    const main = last?.statements.findLast(isPlannable)
    const settings = last?.statements.find(isSettings)
    if (!main || !settings) return null
    // It may have been a change of the schema that made the request fail.
    const document = await planOf(this.#options.database(), settings, main).catch(() => null)
    return redactPlan(document)
  }
}

const isPlannable = (statement: PipelineStatement): boolean => isOwn(statement) && isExplainable(statement)

const rounded = (milliseconds: number): number => Math.round(milliseconds * 100) / 100

function entryOf(line: RequestLine, number: number, roundTrips: readonly RoundTrip[] | undefined): RequestEntry {
  const { method, path, status, duration, role, requestId, aborted, route, source, response } = line
  return {
    number,
    at: Date.now(),
    method,
    path: shownTarget(response && source?.url !== undefined ? source.url : path),
    route: route ?? null,
    status,
    duration,
    database: roundTrips ? rounded(roundTrips.reduce((sum, { since, until }) => sum + until - since, 0)) : null,
    role,
    requestId,
    aborted,
    ...sizeOf(response),
  }
}

function sizeOf(response: RestResponse | undefined): Pick<RequestEntry, 'rows' | 'bytes'> {
  if (!response) return { rows: null, bytes: null }
  const { headers, body } = response
  const bytes = isStreamed(body) ? (body.length ?? null) : Buffer.byteLength(body)
  const [, range = ''] = headers.find(([name]) => name === 'Content-Range') ?? []
  const [, first, last] = /^(\d+)-(\d+)\//.exec(range) ?? []
  const rows = first === undefined ? (range.startsWith('*/') ? 0 : null) : Number(last) - Number(first) + 1
  return { rows, bytes }
}

const stageOf = ({ statements, since, until, error }: RoundTrip, begun: number): RequestStage => {
  const own = statements.filter(isOwn)
  return {
    since: rounded(since - begun),
    duration: rounded(until - since),
    statements: (own.length > 0 ? own : statements).map(({ text }) => shownText(text)),
    error: error ?? null,
  }
}

const shownText = (text: string): string => scrub(text.length > longestText ? `${text.slice(0, longestText)}…` : text)

/** Without large values and receivers of rows, which would fill the memory. */
function withBoundedValues(roundTrip: RoundTrip): RoundTrip {
  const { statements } = roundTrip
  const isSmall = statements.reduce((sum, { values }) => sum + valueBytes(values), 0) <= mostValues
  // Without settings, no plan can be determined.
  const kept = isSmall ? statements : statements.filter((statement) => !isSettings(statement))
  return { ...roundTrip, statements: kept.map((statement) => recordedStatement(statement, isSmall)) }
}

function recordedStatement(statement: PipelineStatement, hasValues: boolean): PipelineStatement {
  if (isSettings(statement)) return statement
  const { text, values, isUnprepared = false, hasNoEffect = false } = statement
  return { text, values: hasValues ? values : [], isUnprepared, hasNoEffect }
}

const bytesOf = (statements: readonly PipelineStatement[]): number =>
  statements.reduce((sum, { text, values }) => sum + text.length + valueBytes(values), 0)

const valueBytes = (values: PipelineStatement['values']): number =>
  values.reduce<number>(
    (sum, value) => sum + (typeof value === 'string' || Buffer.isBuffer(value) ? value.length : 8),
    0,
  )
