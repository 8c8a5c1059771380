// Explains requests: the engine's own handler answers them, on a database that runs each transaction for its explanation.
import type { Identity } from '../../identity/identity.ts'
import type { BatchDatabase, RestTransaction, TransactionResult } from '../../rest/database.ts'
import { prepare } from '../../rest/cache/prepare.ts'
import { PlanCache } from '../../rest/cache/plan-cache.ts'
import { ApiError, errors } from '../../rest/errors.ts'
import { extensionsOf, type Extensions } from '../../rest/extension.ts'
import { createExtensions } from '../../rest/extensions/list.ts'
import { RestHandler, type RestObservation } from '../../rest/handler.ts'
import type { HttpRequest } from '../../rest/request/api-request.ts'
import type { BodyGate } from '../../rest/request/body.ts'
import { isStreamed, type RestResponse } from '../../rest/response/result.ts'
import type { RestRequest } from '../../rest/rest-request.ts'
import type { ExplainingOptions } from '../../running/serve-tools.ts'
import type { Explanation } from './explanation.ts'
import { explainTransaction, notExplained, type ExplainedRun, type ExplainOptions } from './transaction.ts'

/** `identify` authenticates the caller, and refuses those who may not have requests explained. */
export type ExplainerOptions = Pick<ExplainingOptions, 'database' | 'snapshot' | 'validator' | 'identify'> &
  Partial<Pick<ExplainingOptions, 'counting'>>

export type ExplainedRequest = {
  /** The response that the request would get, or that refuses to explain it. */
  readonly response: RestResponse
  /** Undefined if the caller was refused, or explaining failed. */
  readonly explanation: Explanation | undefined
  /** The error of explaining, such as that of the connection. The request itself may be in order. */
  readonly failure: unknown
  readonly observation: RestObservation | undefined
}

/** A request that is being explained. */
class Job implements RestRequest {
  readonly method: string
  readonly basePath: string
  readonly target: string
  readonly headers: RestRequest['headers']
  readonly source: unknown
  readonly isOpenEnded: boolean
  readonly options: ExplainOptions
  readonly #request: RestRequest
  body: Buffer | undefined
  identity: Identity | undefined
  run: ExplainedRun | undefined
  observation: RestObservation | undefined
  failure: unknown

  /** @param request its `Accept` header, which asks for the explanation, is replaced */
  constructor(request: RestRequest, options: ExplainOptions) {
    const { method, basePath, target, headers, source, isOpenEnded } = request
    this.method = method
    this.basePath = basePath
    this.target = target
    this.headers = [...headers.filter(([name]) => name !== 'accept'), ['accept', '*/*']]
    this.source = source
    this.isOpenEnded = isOpenEnded
    this.options = options
    this.#request = request
  }

  get isGone(): boolean {
    return this.#request.isGone
  }

  get isAborted(): boolean {
    return this.#request.isAborted
  }

  onGone(listener: () => void): () => void {
    return this.#request.onGone(listener)
  }

  header(name: string): string | undefined {
    return name === 'accept' ? '*/*' : this.#request.header(name)
  }

  async readBody(gate: BodyGate): Promise<Buffer> {
    this.body = await this.#request.readBody(gate)
    return this.body
  }

  /** The request as the stages of the engine take it. */
  get http(): HttpRequest {
    const question = this.target.indexOf('?')
    return {
      method: this.method,
      path: question < 0 ? this.target : this.target.slice(0, question),
      query: question < 0 ? '' : this.target.slice(question + 1),
      headers: this.headers,
      body: this.body ?? Buffer.alloc(0),
    }
  }
}

const methodsWithBody = new Set(['POST', 'PATCH', 'PUT'])

export class Explainer {
  readonly #options: ExplainerOptions
  readonly #extensions: Extensions
  readonly #handler: RestHandler

  constructor(options: ExplainerOptions) {
    const { snapshot, validator, identify, counting } = options
    this.#options = options
    this.#extensions = extensionsOf(createExtensions({ settings: snapshot().config, ...(counting && { counting }) }))
    const database: BatchDatabase = {
      run: (transaction) => this.#run(transaction),
      batch: () => Promise.reject(errors.notImplemented('Explain the requests of a batch one by one.')),
    }
    this.#handler = new RestHandler({
      extensions: this.#extensions,
      // Statements are explained one by one.
      streamsRows: false,
      state: {
        database,
        get snapshot() {
          return snapshot()
        },
        // The engine itself notices that its database was lost.
        recover: () => undefined,
      },
      validator,
      identify: async (request) => {
        const identity = await identify(request)
        if (request instanceof Job) request.identity = identity
        return identity
      },
      observe: (observation) => {
        if (observation.request instanceof Job) observation.request.observation = observation
      },
    })
  }

  async explain(request: RestRequest, options: ExplainOptions): Promise<ExplainedRequest> {
    const job = new Job(request, options)
    const response = await this.#handler.answer(job)
    const { identity, run, observation, failure } = job
    if (!identity || failure !== undefined) return { response, explanation: undefined, observation, failure }
    const isRun = run?.outcome.kind !== 'refused'
    const explanation: Explanation = {
      request: { method: job.method, target: job.target, role: identity.role, claims: identity.claims },
      response: isRun
        ? { status: response.status, error: errorOf(response), contentRange: headerOf(response, 'content-range') }
        : null,
      // A request may be rejected before the database is asked.
      ...(run?.explanation ?? notExplained),
    }
    return { response, explanation, observation, failure }
  }

  async #run(transaction: RestTransaction): Promise<TransactionResult> {
    const { caller } = transaction
    if (!(caller instanceof Job)) throw new Error('only requests that are explained run here')
    const { database, snapshot, validator } = this.#options
    // Before a large body is read, the engine asks whether the caller may write at all. Every body is read here, because
    // the explanation of the whole request says which privileges are missing.
    if (caller.body === undefined && methodsWithBody.has(caller.method)) {
      return { rows: transaction.statements.map(() => [[Buffer.from('t')]]) }
    }
    const current = snapshot()
    const { config, schemaCache, cursors } = current
    if (!schemaCache || !caller.identity) throw new Error('the schema cache is not loaded')
    // Plans of the cache contain markers instead of the values of the request.
    const extensions = this.#extensions
    const { mayRepeatPreRequest, encodesRows } = current
    const plans = new PlanCache(0)
    const within = { config, plans, cursors, mayRepeatPreRequest, encodesRows }
    const context = { snapshot: within, extensions, schemaCache, validator }
    const prepared = prepare(caller.http, context, () => undefined)
    if (prepared instanceof ApiError) throw prepared
    const { identity, options } = caller
    let run: ExplainedRun
    try {
      run = await database.scratch(transaction, (scratch) =>
        explainTransaction(scratch, transaction, prepared, identity, options),
      )
    } catch (error) {
      caller.failure = error
      throw error
    }
    caller.run = run
    switch (run.outcome.kind) {
      case 'succeeded':
        return { rows: run.outcome.rows }
      case 'failed':
        throw run.outcome.error
      case 'refused':
        throw errors.explainNotRun()
      default:
        return run.outcome satisfies never
    }
  }
}

function headerOf({ headers }: RestResponse, name: string): string | null {
  return headers.find(([known]) => known.toLowerCase() === name)?.[1] ?? null
}

function errorOf({ status, body }: RestResponse): unknown {
  if (status < 400 || isStreamed(body)) return null
  try {
    return JSON.parse(body.toString())
  } catch {
    return null
  }
}
