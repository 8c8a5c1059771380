// Requests with an Idempotency-Key take effect once: their response is stored in the same transaction, and repeated
// requests get it again.
import { respondTo } from '../../answer.ts'
import type { AnswerContext, Prepared, Results } from '../../extension.ts'
import type { Claim, ClaimRefusal, PipelineStatement } from '../../database.ts'
import { errors } from '../../errors.ts'
import type { Identity } from '../../../identity/identity.ts'
import type { ActionPlan, CrudPlan } from '../../plan/plan.ts'
import type { HttpRequest } from '../../request/api-request.ts'
import { idempotentRequest, type IdempotentRequest } from './idempotency-key.ts'
import { explainStatement } from '../limits/cost-check.ts'
import { errorResponse } from '../../response/error.ts'
import { unstreamedBytes, type RestResponse } from '../../response/result.ts'
import type { RestSettings } from '../../settings.ts'
import { rowOf, run, runCrud } from '../../run-plan.ts'
import { refusalOf } from '../../sql-errors.ts'
import { claimStatement, storedStatements, storeStatement, type StoredResponse } from './stored-response.ts'

/**
 * The key of a request that takes effect once; undefined for one without a key, for reads, and for a database that does
 * not keep responses. As in PostgREST, the header then has no meaning.
 *
 * @throws ApiError PGRSTX90 for an invalid key
 */
export function requestOnce(
  http: HttpRequest,
  plan: ActionPlan,
  identity: Identity,
  { idempotencyKey, schemaCache }: AnswerContext,
): IdempotentRequest | undefined {
  if (idempotencyKey === undefined || !schemaCache.keepsResponses || !mayHaveEffect(plan)) return undefined
  return idempotentRequest(idempotencyKey, http, identity)
}

const mayHaveEffect = (plan: ActionPlan): boolean =>
  (plan.kind === 'mutate' || plan.kind === 'call') && !plan.readOnly && !plan.explain

/** The settings of keys and of what is kept for them. */
export type OnceSettings = Pick<RestSettings, 'idempotencyMaxBytes' | 'idempotencyMaxKeys' | 'clientErrorVerbosity'>

/** What is stored of a response: all of it, or, if it is too large, the error that the repetition of the request gets. */
export function keptResponse(
  { key }: IdempotentRequest,
  response: RestResponse,
  { idempotencyMaxBytes: limit, clientErrorVerbosity }: OnceSettings,
): StoredResponse {
  const stored = ({ status, statusText, headers, body }: RestResponse): StoredResponse => ({
    status,
    statusText,
    headers,
    body: unstreamedBytes(body),
  })
  const whole = stored(response)
  const bytes = whole.body.length + JSON.stringify(response.headers).length
  if (bytes <= limit) return whole
  return stored(
    errorResponse(errors.idempotentResponseTooLarge(key, response.status, bytes, limit), clientErrorVerbosity),
  )
}

/** Statements that fail if the caller may not execute a request any more. They execute nothing of it. */
export const admissionStatements = ({
  nested,
  main,
}: Pick<Prepared, 'nested' | 'main'>): readonly PipelineStatement[] =>
  [...(nested?.statements ?? []), ...(main ? [main] : [])].map(explainStatement)

/** The claim of a request that takes effect once, and its response after the transaction. */
export class ResponseOnce {
  readonly claim: Claim
  #response: RestResponse | undefined

  /** @param respond writes the response from the rows of the transaction's statements */
  constructor(request: IdempotentRequest, settings: OnceSettings, respond: (results: Results) => RestResponse) {
    this.claim = {
      statement: claimStatement(request, settings.idempotencyMaxKeys),
      record: (results) => {
        const response = respond(results)
        this.#response = response
        return [storeStatement(request, keptResponse(request, response, settings))]
      },
    }
  }

  /** The response that was stored; undefined if none was, as with `tx=rollback`. */
  get response(): RestResponse | undefined {
    return this.#response
  }
}

/**
 * The response to a repeated request.
 *
 * @param reason why the claim was refused
 * @param read runs statements in the transaction of the request, after its settings and the pre-request function
 * @throws ApiError PGRSTX91 when the key stands for another request, PGRSTX92 when that request is still running, PGRSTX94
 *   when the caller has too many keys; the errors of `read`
 */
export async function repeatedResponse(
  { key, request }: IdempotentRequest,
  reason: ClaimRefusal['reason'],
  { idempotencyMaxKeys }: OnceSettings,
  read: () => Promise<Results>,
): Promise<RestResponse> {
  if (reason === 'too many') throw errors.tooManyIdempotencyKeys(idempotencyMaxKeys)
  const rows = reason === 'running' ? [] : await read()
  const [found] = rows.at(-1) ?? []
  if (!found) throw errors.idempotentRequestRunning(key)
  const [stored, status, statusText, headers, body] = found
  if (stored?.equals(request) !== true) throw errors.otherIdempotentRequest(key)
  return {
    status: Number(status),
    statusText: statusText?.toString(),
    headers: [...(JSON.parse(String(headers)) as RestResponse['headers']), ['Idempotency-Replayed', 'true']],
    body: body ?? '',
  }
}

/** Answers a request that takes effect once. */
export async function answerOnce(
  request: IdempotentRequest,
  plan: CrudPlan,
  prepared: Prepared,
  identity: Identity,
  context: AnswerContext,
): Promise<RestResponse> {
  const { config } = context.snapshot
  const once = new ResponseOnce(request, config, (results) =>
    respondTo(plan, rowOf(plan, prepared, results), prepared, context),
  )
  try {
    const row = await runCrud(plan, prepared, identity, context, once.claim)
    return once.response ?? respondTo(plan, row, prepared, context)
  } catch (error) {
    const reason = refusalOf(error)
    if (!reason) throw error
    // Who may not execute the request any more gets no response of it.
    const statements = [...admissionStatements(prepared), ...storedStatements(request)]
    return repeatedResponse(
      request,
      reason,
      config,
      async () => (await run(plan, prepared, identity, context, statements)).rows,
    )
  }
}
