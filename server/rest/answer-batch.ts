// Answers a batch: many requests in one transaction. Each request goes through the same stages as alone; only the
// database that it sees is another one, which collects what independent requests run and sends it in one round trip.
// https://docs.oasis-open.org/odata/odata-json-format/v4.01/odata-json-format-v4.01.html#sec_BatchRequestsandResponses
import type { Identity } from '../identity/identity.ts'
import { qualifiedKey } from '../schema-cache/identifier.ts'
import type { IsolationLevel } from '../schema-cache/routine.ts'
import { answer, type Answered, type AnswerContext } from './answer.ts'
import { isolationOf } from './request-transaction.ts'
import { batchClaim, batchOnce, repeatedBatch } from './batch-once.ts'
import { batchErrors, ofRequest, ofResponse } from './batch/batch-errors.ts'
import { parseBatch, type BatchPart } from './batch/batch-request.ts'
import { batchResponse, bytesOf, jsonOf, type PartResponse } from './batch/batch-response.ts'
import { PartDatabase, type WaitingStep } from './batch/part-database.ts'
import { headersOfPart } from './batch/part-headers.ts'
import { fillBody, lookupIn, type Lookup } from './batch/references.ts'
import { fillUrl } from './batch/url-template.ts'
import { prepare } from './cache/prepare.ts'
import type { BatchDatabase, RunSteps } from './database.ts'
import { ApiError, errors } from './errors.ts'
import type { HttpRequest } from './request/api-request.ts'
import type { IdempotentRequest } from './request/idempotency-key.ts'
import { bodyTypeError } from './request/payload-check.ts'
import { parsePreferences } from './request/preferences.ts'
import { pathSegments } from './request/resource.ts'
import { finish, traceHeader } from './response/finish.ts'
import { transactionError } from './sql-errors.ts'

export type BatchContext = AnswerContext & { readonly database: BatchDatabase }

const batchName = '$batch'

/** Whether a path is that of batches. A relation of an exposed schema with this name takes precedence. */
export function isBatchPath(
  path: string,
  { snapshot, schemaCache: cache }: Pick<AnswerContext, 'snapshot' | 'schemaCache'>,
): boolean {
  // No other name begins with these characters but those of relations.
  if (!path.startsWith('/$') && !path.startsWith('/%24')) return false
  const [name, ...others] = pathSegments(path)
  if (name !== batchName || others.length > 0) return false
  return !snapshot.config.dbSchemas.some((schema) => cache.tables.has(qualifiedKey(schema, batchName)))
}

/**
 * Answers `POST /$batch`. An invalid batch is returned as an error before anything runs.
 *
 * @throws ApiError as a rejection: the first error of its requests, with the id of the request; nothing has changed then
 */
export function answerBatch(
  http: HttpRequest,
  identity: Identity,
  context: BatchContext,
): Promise<Answered> | ApiError {
  try {
    const parts = parseBatch(http.body, context.snapshot.config.batchMaxRequests)
    context.trace.route = batchName
    const answerParts = (): Promise<Answered> => answerAll(http, parts, identity, context)
    const { countRequests } = context
    // The batch itself has been counted as one request.
    return countRequests && parts.length > 1 ? countRequests(parts.length - 1).then(answerParts) : answerParts()
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

/** Attempts for each request, whose columns may have changed, and further ones in case privileges keep changing. */
const attemptsFor = (parts: readonly BatchPart[]): number => parts.length + 5

/**
 * Runs a batch, and runs it again if a role may read other columns than those that were planned: its transaction was rolled
 * back then. Functions may have effects that a rollback does not undo, so none of them runs twice.
 */
async function answerAll(
  http: HttpRequest,
  parts: readonly BatchPart[],
  identity: Identity,
  context: BatchContext,
): Promise<Answered> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await new Batch(http, parts, identity, context).answer()
    } catch (error) {
      const hasOtherColumns = error instanceof ApiError && error.code === errors.columnsChanged().code
      const mayRepeat = hasOtherColumns && context.snapshot.config.dbPreRequest === null
      if (!mayRepeat || attempts === attemptsFor(parts)) throw error
      const failed = parts.findIndex(({ id }) => id === error.request)
      if (parts.slice(0, failed).some(mayCall)) throw error
    }
  }
}

/** Whether a request may call a function that has effects: any POST whose path is not certainly that of a table. */
const mayCall = ({ method, url: [start] }: BatchPart): boolean =>
  method === 'POST' && !(typeof start === 'string' && /^\/(?!rpc\/)\w+(?:[/?]|$)/.test(start))

type Outcome = { readonly response: PartResponse } | { readonly error: ApiError }

/** A request of the batch that has begun. */
type Running = {
  readonly part: BatchPart
  readonly database: PartDatabase
  readonly settled: Promise<unknown>
  outcome: Outcome | undefined
}

const isolationOrder: readonly (IsolationLevel | null)[] = [null, 'read committed', 'repeatable read', 'serializable']
const stricter = (a: IsolationLevel | null, b: IsolationLevel | null): IsolationLevel | null =>
  isolationOrder.indexOf(a) < isolationOrder.indexOf(b) ? b : a

class Batch {
  readonly #http: HttpRequest
  readonly #parts: readonly BatchPart[]
  readonly #identity: Identity
  readonly #context: BatchContext
  /** The preference of the batch for the end of its transaction, if clients may choose it. */
  readonly #transaction: 'commit' | 'rollback' | undefined
  readonly #once: IdempotentRequest | undefined
  readonly #responses: PartResponse[] = []
  /** JSON bodies of responses, by request. */
  readonly #bodies = new Map<string, string | undefined>()
  readonly #lookup: Lookup = lookupIn(this.#bodies)
  #bytes = 0
  #next = 0

  constructor(http: HttpRequest, parts: readonly BatchPart[], identity: Identity, context: BatchContext) {
    this.#http = http
    this.#parts = parts
    this.#identity = identity
    this.#context = context
    this.#once = batchOnce(http, identity, context)
    const preferences = http.headers.filter(([name]) => name === 'prefer').map(([, value]) => value)
    const mayChoose = context.snapshot.config.dbTxEnd.endsWith('-allow-override')
    this.#transaction = parsePreferences(preferences, mayChoose).transaction
  }

  async answer(): Promise<Answered> {
    const start = performance.now()
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
  async #inTransaction(group: Running[]): Promise<Answered['response']> {
    const { database, caller, snapshot } = this.#context
    const { config } = snapshot
    const first = group.flatMap(({ database }) => database.waiting?.transaction ?? [])
    const later = this.#parts.slice(this.#next)
    const isolation = first.map((it) => it.isolation).reduce(stricter, this.#laterIsolation(later))
    const transaction = {
      isolation,
      readOnly: first.every(({ readOnly }) => readOnly) && later.every(isRead),
      rollback: first.some(({ rollback }) => rollback),
      caller,
    }
    const options = { prepare: config.dbPreparedStatements, sharing: config.dbPoolSharing }
    const once = transaction.readOnly ? undefined : this.#once
    let response: Answered['response'] | undefined
    const use = async (run: RunSteps): Promise<Answered['response']> =>
      (response = await this.#finish(group, { run, isolation }))
    const claim = once && batchClaim(once, () => response ?? noResponse())
    try {
      return await database.batch({ ...transaction, claim }, use, options)
    } catch (error) {
      const repeated = once && repeatedBatch(once, error, this.#http, this.#identity, this.#context)
      if (repeated) return await repeated
      throw transactionError(error, this.#identity.role !== config.dbAnonRole)
    }
  }

  /** Completes the first group of requests and all further ones, and builds the response. */
  async #finish(
    first: Running[],
    transaction?: { readonly run: RunSteps; readonly isolation: IsolationLevel | null },
  ): Promise<Answered['response']> {
    for (let group = first; group.length > 0; group = this.#begin()) {
      await quiet(group)
      while (transaction && (await this.#send(group, transaction.run, transaction.isolation))) await quiet(group)
      for (const { part, outcome } of group) {
        if (!outcome) throw new Error(`the request ${part.id} of a batch has not ended`)
        if ('error' in outcome) throw outcome.error
        this.#responses.push(outcome.response)
        this.#bodies.set(part.id, outcome.response.json)
      }
    }
    return batchResponse(this.#responses, this.#transaction)
  }

  /** Sends what requests wait for, up to the first that has failed. Returns whether there was anything. */
  async #send(group: readonly Running[], run: RunSteps, isolation: IsolationLevel | null): Promise<boolean> {
    const failed = group.findIndex(({ outcome }) => outcome && 'error' in outcome)
    const running = failed < 0 ? group : group.slice(0, failed)
    const steps = running.flatMap(({ database }) => database.take() ?? [])
    const unfit = steps.findIndex(({ transaction }) => stricter(isolation, transaction.isolation) !== isolation)
    const fit = unfit < 0 ? steps : steps.slice(0, unfit)
    const results = fit.length > 0 ? await run(fit.map(({ transaction }) => transaction)) : []
    results.forEach((result, index) => settle(fit[index], result))
    if (unfit >= 0 && results.length === fit.length) {
      const needed = steps[unfit]?.transaction.isolation ?? ''
      steps[unfit]?.reject(batchErrors.isolation(needed, isolation ?? 'read committed'))
    }
    // An earlier error is reported; the requests after it only have to end.
    for (const step of steps.slice(results.length)) step.reject(batchErrors.notRun())
    return steps.length > 0
  }

  /** Begins the requests that refer to no request whose result is not known yet. */
  #begin(): Running[] {
    const group: Running[] = []
    for (let part = this.#parts[this.#next]; part; part = this.#parts[this.#next]) {
      if (!part.references.every(({ id }) => this.#bodies.has(id))) break
      this.#next++
      const running = this.#start(part)
      group.push(running)
      if (running.outcome) break
    }
    return group
  }

  #start(part: BatchPart): Running {
    const database = new PartDatabase()
    const failed = (error: ApiError): Running => ({
      part,
      database,
      settled: Promise.resolve(),
      outcome: { error: ofRequest(error, part.id) },
    })
    let http: HttpRequest
    try {
      http = this.#httpOf(part, this.#lookup)
    } catch (error) {
      if (error instanceof ApiError) return failed(error)
      throw error
    }
    const { trace } = this.#context
    const own = { route: undefined, statements: trace.statements, warning: undefined as string | undefined }
    const answered = answer(http, this.#identity, {
      ...this.#context,
      database,
      authenticationTime: undefined,
      idempotencyKey: undefined,
      exports: undefined,
      isPart: true,
      trace: own,
    })
    if (answered instanceof ApiError) return failed(this.#bodyTypeError(answered, http))
    const settled = answered.then((result) => {
      trace.warning ??= own.warning
      running.outcome = this.#outcomeOf(part, http, result)
    })
    const running: Running = {
      part,
      database,
      outcome: undefined,
      settled: settled.catch((error: unknown) => {
        running.outcome = { error: ofRequest(asApiError(error), part.id) }
      }),
    }
    return running
  }

  /** @throws ApiError when the responses are too large, or one has the status of an error */
  #outcomeOf(part: BatchPart, http: HttpRequest, { response, notices }: Answered): Outcome {
    const { config } = this.#context.snapshot
    const { serverTraceHeader } = config
    if (response.status >= 400) throw ofResponse(response.status, bytesOf(response).toString())
    this.#bytes += bytesOf(response).length
    if (this.#bytes > config.batchMaxBytes) throw batchErrors.responsesTooLarge(config.batchMaxBytes)
    const trace = serverTraceHeader === null ? undefined : traceHeader(serverTraceHeader, http.headers)
    const finished = finish(response, { notices, cors: [], closesConnection: false, trace })
    return { response: { id: part.id, response: finished, json: jsonOf(response) } }
  }

  #bodyTypeError(error: ApiError, http: HttpRequest): ApiError {
    const { snapshot, validator } = this.#context
    return asApiError(bodyTypeError(error, http, snapshot.config.dbSchemas, validator))
  }

  /** The request of a part, as if it had come alone. */
  #httpOf({ method, url, headers, body }: BatchPart, lookup: Lookup): HttpRequest {
    const { path, query } = fillUrl(url, method === 'GET' || method === 'HEAD', lookup)
    if (isBatchPath(path, this.#context)) throw batchErrors.invalid('A batch cannot contain a batch.')
    return {
      method,
      path,
      query,
      headers: headersOfPart(this.#http.headers, headers, body?.kind === 'json', this.#transaction),
      body:
        body === undefined
          ? Buffer.alloc(0)
          : body.kind === 'bytes'
            ? body.bytes
            : Buffer.from(fillBody(body.json, lookup)),
    }
  }

  /**
   * The isolation level that later requests will need. It is that of the role and of their functions, which are chosen by
   * the names of their arguments, so references may have any value here.
   */
  #laterIsolation(parts: readonly BatchPart[]): IsolationLevel | null {
    return parts.reduce<IsolationLevel | null>((level, part) => {
      try {
        const prepared = prepare(
          this.#httpOf(part, () => '0'),
          this.#context,
          () => undefined,
        )
        if (prepared instanceof ApiError || prepared.plan.kind !== 'call') return level
        return stricter(level, isolationOf(prepared.plan, this.#identity, this.#context.snapshot))
      } catch {
        // It will fail again, or get a value that fits, when its turn comes.
        return level
      }
    }, null)
  }
}

const noResponse = (): never => {
  throw new Error('a batch is committed before it has a response')
}

const isRead = ({ method }: BatchPart): boolean =>
  method !== 'POST' && method !== 'PATCH' && method !== 'PUT' && method !== 'DELETE'

/** Waits until each request has ended, or waits for the database. */
const quiet = (group: readonly Running[]): Promise<unknown> =>
  Promise.all(group.map(({ settled, database }) => Promise.race([settled, database.whenWaiting()])))

/** Passes the result of a step to its request. */
function settle(step: WaitingStep | undefined, result: Awaited<ReturnType<RunSteps>>[number]): void {
  const error = 'error' in result ? result.error : step?.transaction.checkResult?.(result.rows)
  if (error) step?.reject(error)
  else if ('rows' in result) step?.resolve({ rows: result.rows })
}

/** @throws the error if it is no expected one */
function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  throw error
}
