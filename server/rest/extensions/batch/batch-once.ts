// A batch with an Idempotency-Key takes effect once: its response is stored in its transaction, and a repeated batch gets
// it again.
import type { Identity } from '../../../identity/identity.ts'
import type { AnswerContext } from '../../extension.ts'
import { keptResponse, repeatedResponse, type OnceSettings } from '../idempotency/answer-once.ts'
import type { BatchFrame } from './batch-part-request.ts'
import { requireAdmission } from './batch-admission.ts'
import type { BatchPart } from './batch-request.ts'
import type { BatchDatabase, Claim } from '../../database.ts'
import type { HttpRequest } from '../../request/api-request.ts'
import { idempotentRequest, type IdempotentRequest } from '../idempotency/idempotency-key.ts'
import { parseApiRequest } from '../../request/parse-api-request.ts'
import { requestTransaction } from '../../request-transaction.ts'
import { unstreamedBytes, type RestResponse } from '../../response/result.ts'
import { refusalOf, transactionError } from '../../sql-errors.ts'
import { claimStatement, storedStatements, storeStatement } from '../idempotency/stored-response.ts'

/**
 * The key of a batch; undefined without a key, and for a database that does not keep responses.
 *
 * @throws ApiError PGRSTX90 for an invalid key
 */
export const batchOnce = (
  http: HttpRequest,
  identity: Identity,
  { idempotencyKey, schemaCache }: AnswerContext,
): IdempotentRequest | undefined =>
  idempotencyKey === undefined || !schemaCache.keepsResponses
    ? undefined
    : idempotentRequest(idempotencyKey, http, identity)

/**
 * The claim of a batch.
 *
 * @param response called before the commit, when all requests have been answered
 */
export const batchClaim = (
  request: IdempotentRequest,
  settings: OnceSettings,
  response: () => RestResponse,
): Claim => ({
  statement: claimStatement(request, settings.idempotencyMaxKeys),
  record: () => [storeStatement(request, keptResponse(request, response(), settings))],
})

/**
 * The response to a repeated batch.
 *
 * @param error what the transaction of the batch failed with
 * @returns undefined if the error says nothing of a repetition
 * @throws ApiError PGRSTX91, PGRSTX92 and PGRSTX94 as a rejection, see `repeatedResponse`; the errors of the settings of the
 *   caller; those of a request of the batch that the caller may not execute any more
 */
export function repeatedBatch(
  request: IdempotentRequest,
  error: unknown,
  parts: readonly BatchPart[],
  identity: Identity,
  frame: BatchFrame & { readonly context: { readonly database: BatchDatabase } },
): Promise<RestResponse> | undefined {
  const reason = refusalOf(error)
  if (!reason) return undefined
  return replay(request, reason, parts, identity, frame)
}

async function replay(
  request: IdempotentRequest,
  reason: NonNullable<ReturnType<typeof refusalOf>>,
  parts: readonly BatchPart[],
  identity: Identity,
  frame: BatchFrame & { readonly context: { readonly database: BatchDatabase } },
): Promise<RestResponse> {
  const { http, context } = frame
  const { config } = context.snapshot
  const response = await repeatedResponse(request, reason, config, async () => {
    // The caller has to be allowed in still, so the settings and the pre-request function precede the stored response.
    const headers = http.headers.filter(([name]) => !ofBody.has(name))
    const { request: parsed } = parseApiRequest(
      { ...http, method: 'GET', path: '/', query: '', headers, body: empty },
      config,
    )
    const { schema } = parsed.shape
    const plan = { kind: 'inspect', schema, headersOnly: false, readOnly: false } as const
    const transaction = requestTransaction(plan, parsed, identity, context, storedStatements(request))
    try {
      const options = { prepare: config.dbPreparedStatements, sharing: 'none' } as const
      return (await context.database.run({ ...transaction, isolation: null, rollback: false }, options)).rows
    } catch (failure) {
      throw transactionError(failure, identity.role !== config.dbAnonRole)
    }
  })
  if (response.status < 300) {
    await requireAdmission(parts, unstreamedBytes(response.body).toString(), identity, frame)
  }
  return response
}

/** Headers that are about the batch's own body. */
const ofBody = new Set(['accept', 'accept-profile', 'content-profile', 'content-type', 'prefer', 'range'])
const empty = Buffer.alloc(0)
