// The request that a part of a batch stands for, as if it had come alone.
import type { AnswerContext } from './answer.ts'
import type { HttpRequest } from './request/api-request.ts'
import { batchErrors } from './batch/batch-errors.ts'
import { isBatchPath } from './batch-path.ts'
import type { BatchPart } from './batch/batch-request.ts'
import { headersOfPart } from './batch/part-headers.ts'
import { fillBody, type Lookup } from './batch/references.ts'
import { fillUrl } from './batch/url-template.ts'

/** What the requests of a batch have in common. */
export type BatchFrame = {
  /** The batch. */
  readonly http: HttpRequest
  /** The preference of the batch for the end of its transaction, if clients may choose it. */
  readonly transaction: 'commit' | 'rollback' | undefined
  readonly context: AnswerContext
}

/**
 * Fills in the references of a part.
 *
 * @throws ApiError PGRSTX10 for a batch in the batch; the errors of `lookup`; PGRSTX12
 */
export function partRequest(
  { method, url, headers, body }: BatchPart,
  lookup: Lookup,
  { http, transaction, context }: BatchFrame,
): HttpRequest {
  const { path, query } = fillUrl(url, method === 'GET' || method === 'HEAD', lookup)
  if (isBatchPath(path, context)) throw batchErrors.invalid('A batch cannot contain a batch.')
  return {
    method,
    path,
    query,
    headers: headersOfPart(http.headers, headers, body?.kind === 'json', transaction),
    body: bytesOf(body, lookup),
  }
}

function bytesOf(body: BatchPart['body'], lookup: Lookup): Buffer {
  if (!body) return Buffer.alloc(0)
  return body.kind === 'bytes' ? body.bytes : Buffer.from(fillBody(body.json, lookup))
}
