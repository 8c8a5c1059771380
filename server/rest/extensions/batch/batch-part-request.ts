// The request that a part of a batch stands for, as if it had come alone.
import type { AnswerContext, Prepared } from '../../extension.ts'
import type { HttpRequest } from '../../request/api-request.ts'
import { batchErrors } from './batch-errors.ts'
import { prepare } from '../../cache/prepare.ts'
import { ApiError } from '../../errors.ts'
import type { RoleColumns } from '../readable-columns/starred.ts'
import { isBatchPath } from './batch-path.ts'
import type { BatchPart } from './batch-request.ts'
import { headersOfPart, requireHeadSize } from './part-headers.ts'
import { fillBody, type Lookup } from './references.ts'
import { fillUrl } from './url-template.ts'

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
 * @throws ApiError PGRSTX10 for a batch in the batch; PGRSTX11 for a url that is too large; the errors of `lookup`; PGRSTX12
 */
export function partRequest(
  { method, url, headers, body }: BatchPart,
  lookup: Lookup,
  { http, transaction, context }: BatchFrame,
): HttpRequest {
  const { path, query } = fillUrl(url, method === 'GET' || method === 'HEAD', lookup)
  requireHeadSize([path, query], headers, context.snapshot.config.requestHeaderLimit)
  if (isBatchPath(path, context)) throw batchErrors.invalid('A batch cannot contain a batch.')
  return {
    method,
    path,
    query,
    headers: headersOfPart(http.headers, headers, body?.kind === 'json', transaction),
    body: bytesOf(body, lookup),
  }
}

/**
 * Parts as they are planned before any of them has run: references have any value. Leaves out parts that fail: each fails
 * again, or gets a value that fits, when its turn comes.
 *
 * @param columns the columns that the role may read, if `*` depends on them
 */
export const preparedParts = (
  parts: readonly BatchPart[],
  frame: BatchFrame,
  columns?: RoleColumns,
): readonly Prepared[] =>
  parts.flatMap((part) => {
    try {
      const http = partRequest(part, () => '0', frame)
      const prepared = prepare(http, frame.context, () => undefined, columns)
      return prepared instanceof ApiError ? [] : [prepared]
    } catch {
      return []
    }
  })

function bytesOf(body: BatchPart['body'], lookup: Lookup): Buffer {
  if (!body) return Buffer.alloc(0)
  return body.kind === 'bytes' ? body.bytes : Buffer.from(fillBody(body.json, lookup))
}
