// A request of a batch that has begun. It goes through the same stages as alone, on a database of its own.
import type { Identity } from '../../../identity/identity.ts'
import { answer } from '../../answer.ts'
import type { Answered } from '../../extension.ts'
import { ApiError, errors } from '../../errors.ts'
import type { HttpRequest } from '../../request/api-request.ts'
import { bodyTypeError } from '../../request/payload-check.ts'
import { finish, traceHeader } from '../../response/finish.ts'
import { batchErrors, ofRequest, ofResponse } from './batch-errors.ts'
import type { BatchPart } from './batch-request.ts'
import { jsonOf, type PartResponse } from './batch-response.ts'
import { PartDatabase } from './part-database.ts'
import { partRequest, type BatchFrame } from './batch-part-request.ts'
import type { Lookup } from './references.ts'
import { unstreamedBytes } from '../../response/result.ts'

/** How a request of a batch has ended. */
export type Outcome = { readonly response: PartResponse } | { readonly error: ApiError }

/** Limits the bodies of all responses together. */
export class ResponseBudget {
  readonly #limit: number
  #bytes = 0

  /** @param limit in bytes */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** @throws ApiError PGRSTX11 */
  take(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > this.#limit) throw batchErrors.responsesTooLarge(this.#limit)
  }
}

export class RunningPart {
  readonly part: BatchPart
  readonly database = new PartDatabase()
  readonly #frame: BatchFrame
  readonly #budget: ResponseBudget
  #settled: Promise<void> = Promise.resolve()
  #outcome: Outcome | undefined

  constructor(part: BatchPart, frame: BatchFrame, budget: ResponseBudget) {
    this.part = part
    this.#frame = frame
    this.#budget = budget
  }

  /** Begins the request. */
  start(identity: Identity, lookup: Lookup): this {
    try {
      this.#settled = this.#answer(partRequest(this.part, lookup, this.#frame), identity)
    } catch (error) {
      this.#fail(error)
    }
    return this
  }

  /** Undefined while the request runs. */
  get outcome(): Outcome | undefined {
    return this.#outcome
  }

  get hasFailed(): boolean {
    return this.#outcome !== undefined && 'error' in this.#outcome
  }

  /** Resolves when the request has ended, or waits for the database. */
  whenQuiet(): Promise<unknown> {
    return Promise.race([this.#settled, this.database.whenWaiting()])
  }

  /** Whether the request would run again in a new transaction, because another plan was needed. */
  get wantsRepetition(): boolean {
    const outcome = this.#outcome
    return (
      this.database.isRepetitionWanted &&
      outcome !== undefined &&
      'error' in outcome &&
      outcome.error.code === errors.failedTransaction().code
    )
  }

  /** @throws the error that is no expected one */
  #fail(error: unknown): void {
    if (!(error instanceof ApiError)) throw error
    this.#outcome = { error: ofRequest(error, this.part.id) }
  }

  #answer(http: HttpRequest, identity: Identity): Promise<void> {
    const { context } = this.#frame
    const { trace } = context
    const own = { route: undefined, statements: trace.statements, warning: undefined as string | undefined }
    const answered = answer(http, identity, {
      ...context,
      database: this.database,
      authenticationTime: undefined,
      idempotencyKey: undefined,
      mayStream: false,
      trace: own,
    })
    if (answered instanceof ApiError) {
      this.#fail(this.#bodyTypeError(answered, http))
      return Promise.resolve()
    }
    return answered
      .then((result) => {
        trace.warning ??= own.warning
        this.#outcome = { response: this.#respond(http, result) }
      })
      .catch((error: unknown) => this.#fail(error))
  }

  /** @throws ApiError when the responses are too large, or this one has the status of an error */
  #respond(http: HttpRequest, { response, notices }: Answered): PartResponse {
    const { serverTraceHeader } = this.#frame.context.snapshot.config
    const bytes = unstreamedBytes(response.body)
    if (response.status >= 400) throw ofResponse(http.method, response.status, bytes.toString())
    this.#budget.take(bytes.length)
    const trace = serverTraceHeader === null ? undefined : traceHeader(serverTraceHeader, http.headers)
    const finished = finish(response, { notices, cors: [], closesConnection: false, trace })
    return { id: this.part.id, response: finished, json: jsonOf(response) }
  }

  #bodyTypeError(error: ApiError, http: HttpRequest): unknown {
    const { snapshot, validator } = this.#frame.context
    return bodyTypeError(error, http, snapshot.config.dbSchemas, validator)
  }
}
