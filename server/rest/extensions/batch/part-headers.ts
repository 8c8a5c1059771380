// The headers of a batch's requests, and those that they inherit from the batch.
import type { HttpRequest } from '../../request/api-request.ts'
import { batchErrors } from './batch-errors.ts'

export type PartHeaders = HttpRequest['headers']

/**
 * Headers of a single request. All others describe the caller and the connection: they are those of the batch, where
 * proxies see them, so that no request of it can pass as another caller's.
 */
export const ofPart: ReadonlySet<string> = new Set([
  'accept',
  'accept-profile',
  'content-profile',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-unmodified-since',
  'prefer',
  'range',
  'range-unit',
])

/** Headers of the batch that are about its own message. */
const ofMessage: ReadonlySet<string> = new Set([
  ...ofPart,
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'expect',
  'idempotency-key',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

export const isHeaderOfPart = (name: string): boolean => ofPart.has(name.toLowerCase())

/**
 * The headers that a request of a batch runs with.
 *
 * @param transaction the end of the transaction that the batch prefers, which its requests echo
 */
export function headersOfPart(
  batch: PartHeaders,
  own: PartHeaders,
  hasJson: boolean,
  transaction: 'commit' | 'rollback' | undefined,
): PartHeaders {
  const inherited = batch.filter(([name]) => !ofMessage.has(name))
  const headers = [...inherited, ...own]
  if (hasJson && !own.some(([name]) => name === 'content-type')) headers.push(['content-type', 'application/json'])
  if (transaction) headers.push(['prefer', `tx=${transaction}`])
  return headers
}

/**
 * Checks the size of a request's own url and headers.
 *
 * @param url or its parts, in characters of one byte
 * @param limit in bytes
 * @throws ApiError PGRSTX11
 */
export function requireHeadSize(url: readonly string[], own: PartHeaders, limit: number): void {
  let bytes = 0
  for (const text of url) bytes += text.length
  for (const [name, value] of own) bytes += name.length + value.length
  if (bytes > limit) throw batchErrors.headTooLarge(bytes, limit)
}

/** Whether a body of the type is a JSON value. */
export const isJsonType = (type: string): boolean => /^\s*application\/(?:json|[\w.+-]+\+json)\s*(?:;|$)/i.test(type)

/** Whether a body of the type is text. */
export const isTextType = (type: string): boolean =>
  /^\s*(?:text\/|application\/(?:xml|x-ndjson|x-www-form-urlencoded|[\w.+-]+\+(?:xml|text))\s*(?:;|$))/i.test(type)
