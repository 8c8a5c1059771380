// Answers a batch: many requests in one transaction. Each request goes through the same stages as alone; only the
// database that it sees is another one, which collects what independent requests run and sends it in one round trip.
// https://docs.oasis-open.org/odata/odata-json-format/v4.01/odata-json-format-v4.01.html#sec_BatchRequestsandResponses
import type { Identity } from '../../../identity/identity.ts'
import type { IsolationLevel } from '../../../catalogue/routine.ts'
import type { Answered, RequestContext } from '../../extension.ts'
import { learnColumns } from './batch-columns.ts'
import { batchClaim, batchOnce, repeatedBatch } from './batch-once.ts'
import { batchErrors, ofRequest } from './batch-errors.ts'
import { laterIsolation, stricter } from './batch-isolation.ts'
import { batchName } from './batch-path.ts'
import { parseBatch, type BatchPart } from './batch-request.ts'
import { batchResponse, type PartResponse } from './batch-response.ts'
import type { WaitingStep } from './part-database.ts'
import type { BatchFrame } from './batch-part-request.ts'
import { BatchResults } from './references.ts'
import { ResponseBudget, RunningPart } from './batch-running-part.ts'
import type { RunSteps } from '../../database.ts'
import { ApiError, errors } from '../../errors.ts'
import type { HttpRequest } from '../../request/api-request.ts'
import type { IdempotentRequest } from '../idempotency/idempotency-key.ts'
import { parsePreferences } from '../../request/preferences.ts'
import { serverError, transactionError } from '../../sql-errors.ts'

/** Attempts for each request, which may need another plan, and further ones in case privileges keep changing. */
const attemptsFor = (parts: readonly BatchPart[]): number => parts.length + 5
/** Bytes of the row of a request besides its body: numbers of rows, and the headers that SQL has set. */
const rowOverhead = 1024

/**
 * Answers `POST /$batch`. An invalid batch is returned as an error before anything runs.
 *
 * @throws ApiError as a rejection: the first error of its requests, with the id of the request; nothing has changed then
 */
export function answerBatch(
  http: HttpRequest,
  identity: Identity,
  context: RequestContext,
): Promise<Answered> | ApiError {
  try {
    const parts = parseBatch(http.body, context.snapshot.config)
    context.trace.route = batchName
    const once = batchOnce(http, identity, context)
    const run = (attempts: number): Promise<Answered> =>
      new Batch(http, parts, identity, context, once).answer().catch((error: unknown) => {
        if (!(error instanceof RepetitionNeeded)) throw error
        if (!error.mayRepeat || attempts === attemptsFor(parts)) throw ofRequest(errors.columnsChanged(), error.request)
        return run(attempts + 1)
      })
    const { countRequests } = context
    // The batch itself has been counted as one request.
    return countRequests && parts.length > 1 ? countRequests(parts.length - 1).then(() => run(1)) : run(1)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

/** A request of a batch needs another plan than the one that its transaction has refused. */
class RepetitionNeeded extends Error {
  readonly request: string
  /** Whether nothing that ran before can have an effect outside the transaction. */
  readonly mayRepeat: boolean

  constructor(request: string, mayRepeat: boolean) {
    super(`the request ${request} of a batch needs another plan`)
    this.request = request
    this.mayRepeat = mayRepeat
  }
}

/** How the requests of a batch reach its transaction. */
type Transaction = { readonly run: RunSteps; readonly isolation: IsolationLevel | null }

class Batch {
  readonly #parts: readonly BatchPart[]
  readonly #identity: Identity
  readonly #context: RequestContext
  readonly #frame: BatchFrame
  readonly #once: IdempotentRequest | undefined
  readonly #responses: PartResponse[] = []
  readonly #results: BatchResults
  readonly #budget: ResponseBudget
  #next = 0
  /** Whether something ran that may have an effect outside the transaction. */
  #mayHaveEffect = false

  constructor(
    http: HttpRequest,
    parts: readonly BatchPart[],
    identity: Identity,
    context: RequestContext,
    once: IdempotentRequest | undefined,
  ) {
    const { batchMaxBytes, dbTxEnd } = context.snapshot.config
    this.#parts = parts
    this.#identity = identity
    this.#context = context
    this.#once = once
    this.#results = new BatchResults(http.body.length, batchMaxBytes)
    this.#budget = new ResponseBudget(batchMaxBytes)
    const preferences = http.headers.filter(([name]) => name === 'prefer').map(([, value]) => value)
    const mayChoose = dbTxEnd.endsWith('-allow-override')
    this.#frame = { http, context, transaction: parsePreferences(preferences, mayChoose).transaction }
  }

  async answer(): Promise<Answered> {
    const start = performance.now()
    await learnColumns(this.#parts, this.#frame, this.#identity)
    const group = this.#begin()
    await quiet(group)
    const response = await (group.some(({ database }) => database.waiting)
      ? this.#inTransaction(group)
      : this.#finish(group))
    const { authenticationTime: jwt } = this.#context
    const transaction = performance.now() - start
    const timing = jwt === undefined ? undefined : { jwt, parse: 0, plan: 0, transaction, response: 0 }
    return { response, notices: { timing, legacy: [] } }
  }

  /** Runs the batch, whose first requests wait for the database. */
  async #inTransaction(group: RunningPart[]): Promise<Answered['response']> {
    const { database, caller, snapshot, consistency } = this.#context
    const { config } = snapshot
    const first = group.flatMap(({ database }) => database.waiting?.transaction ?? [])
    const later = this.#parts.slice(this.#next)
    const isolation = first
      .map((it) => it.isolation)
      .reduce(stricter, laterIsolation(later, this.#frame, this.#identity))
    const transaction = {
      isolation,
      readOnly: first.every(({ readOnly }) => readOnly) && later.every(isRead),
      rollback: first.some(({ rollback }) => rollback),
      caller,
      maxBytes: config.batchMaxBytes + rowOverhead * this.#parts.length,
      consistency,
    }
    const options = { prepare: config.dbPreparedStatements, sharing: config.dbPoolSharing }
    const once = transaction.readOnly ? undefined : this.#once
    let response: Answered['response'] | undefined
    let isOfDatabase = true
    const use = async (run: RunSteps): Promise<Answered['response']> => {
      const send: RunSteps = async (steps) => {
        isOfDatabase = true
        const results = await run(steps)
        isOfDatabase = false
        return results
      }
      isOfDatabase = false
      response = await this.#finish(group, { run: send, isolation })
      isOfDatabase = true
      return response
    }
    const claim = once && batchClaim(once, config, () => response ?? noResponse())
    try {
      return await database.batch({ ...transaction, claim }, use, options)
    } catch (error) {
      if (!isOfDatabase) throw error
      const frame = { ...this.#frame, context: this.#context }
      const repeated = once && repeatedBatch(once, error, this.#parts, this.#identity, frame)
      if (repeated) return await repeated
      throw transactionError(error, this.#identity.role !== config.dbAnonRole)
    }
  }

  /** Completes the first group of requests and all further ones, and builds the response. */
  async #finish(first: RunningPart[], transaction?: Transaction): Promise<Answered['response']> {
    for (let group = first; group.length > 0; group = this.#begin()) {
      await this.#complete(group, transaction)
      for (const { part, outcome, wantsRepetition } of group) {
        if (!outcome) throw new Error(`the request ${part.id} of a batch has not ended`)
        if (wantsRepetition) throw new RepetitionNeeded(part.id, !this.#mayHaveEffect)
        if ('error' in outcome) throw outcome.error
        this.#responses.push(outcome.response)
        this.#results.add(part.id, outcome.response.json)
      }
    }
    return batchResponse(this.#responses, this.#frame.transaction)
  }

  async #complete(group: readonly RunningPart[], transaction: Transaction | undefined): Promise<void> {
    await quiet(group)
    while (transaction && (await this.#send(group, transaction))) await quiet(group)
  }

  /** Sends what requests wait for, up to the first that has failed. Returns whether there was anything. */
  async #send(group: readonly RunningPart[], { run, isolation }: Transaction): Promise<boolean> {
    const failed = group.findIndex(({ hasFailed }) => hasFailed)
    const running = failed < 0 ? group : group.slice(0, failed)
    const steps = running.flatMap(({ database }) => database.take() ?? [])
    const unfit = steps.findIndex(({ transaction }) => stricter(isolation, transaction.isolation) !== isolation)
    const fit = unfit < 0 ? steps : steps.slice(0, unfit)
    const results = fit.length > 0 ? await run(fit.map(({ transaction }) => transaction)) : []
    this.#mayHaveEffect ||= results.some((result, index) => 'rows' in result && !fit[index]?.transaction.hasNoEffect)
    results.forEach((result, index) => settle(fit[index], result, this.#context.snapshot.config.batchMaxBytes))
    if (unfit >= 0 && results.length === fit.length) {
      const needed = steps[unfit]?.transaction.isolation ?? ''
      steps[unfit]?.reject(batchErrors.isolation(needed, isolation ?? 'read committed'))
    }
    // An earlier error is reported; the requests after it only have to end.
    for (const step of steps.slice(results.length)) step.reject(batchErrors.notRun())
    return steps.length > 0
  }

  /** Begins the requests that refer to no request whose result is not known yet. */
  #begin(): RunningPart[] {
    const group: RunningPart[] = []
    for (let part = this.#parts[this.#next]; part; part = this.#parts[this.#next]) {
      if (!part.references.every(({ id }) => this.#results.has(id))) break
      this.#next++
      const running = new RunningPart(part, this.#frame, this.#budget)
      group.push(running.start(this.#identity, this.#results.lookup))
      if (running.outcome) break
    }
    return group
  }
}

const noResponse = (): never => {
  throw new Error('a batch is committed before it has a response')
}

const isRead = ({ method }: BatchPart): boolean =>
  method !== 'POST' && method !== 'PATCH' && method !== 'PUT' && method !== 'DELETE'

/** Waits until each request has ended, or waits for the database. */
const quiet = (group: readonly RunningPart[]): Promise<unknown> => Promise.all(group.map((part) => part.whenQuiet()))

/** Passes the result of a step to its request. */
function settle(step: WaitingStep | undefined, result: Awaited<ReturnType<RunSteps>>[number], maxBytes: number): void {
  const error = 'error' in result ? asLimit(result.error, maxBytes) : step?.transaction.checkResult?.(result.rows)
  if (error) step?.reject(error)
  else if ('rows' in result) step?.resolve({ rows: result.rows })
}

const asLimit = (error: Error, maxBytes: number): Error =>
  serverError(error)?.isTooLarge === true ? batchErrors.responsesTooLarge(maxBytes) : error
