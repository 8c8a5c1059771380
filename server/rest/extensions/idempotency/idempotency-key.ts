// The header `Idempotency-Key`. https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
import { createHash } from 'node:crypto'
import { lastingClaims, subjectText, type Identity } from '../../../identity/identity.ts'
import { errors } from '../../errors.ts'
import type { HttpRequest } from '../../request/api-request.ts'

const longestKey = 255
/** A string of RFC 8941, section 3.3.3. */
const quotedString = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/
/** What clients send that do not know structured fields: visible characters without quotes and separators. */
const bareKey = /^[^"\\,;\s]+$/

/** A key with what it stands for. */
export type IdempotentRequest = {
  /** SHA-256 hash of the role and subject of the caller. */
  readonly caller: Buffer
  readonly key: string
  /** SHA-256 hash of the request and of the claims. */
  readonly request: Buffer
}

/**
 * The key in the value of the header: a quoted string, or the same without quotes.
 *
 * @throws ApiError PGRSTX90
 */
function parseIdempotencyKey(value: string): string {
  const text = value.trim()
  const [, quoted] = quotedString.exec(text) ?? []
  const key = quoted?.replace(/\\(.)/g, '$1') ?? (bareKey.test(text) ? text : '')
  if (key === '' || key.length > longestKey || /[^\x20-\x7e]/.test(key)) throw errors.idempotencyKey(value, longestKey)
  return key
}

/** Headers that change what a request means. Others may differ when it is repeated, such as those of traces. */
const meaningful = new Set([
  'accept',
  'accept-profile',
  'content-profile',
  'content-type',
  'if-match',
  'if-none-match',
  'prefer',
  'range',
  'content-encoding',
  'accept-encoding',
])

/**
 * Identifies a request that a key stands for, and its caller: the role, and the subject of the token.
 *
 * @throws ApiError PGRSTX90 for an invalid key
 */
export function idempotentRequest(
  value: string,
  { method, path, query, headers, body }: HttpRequest,
  identity: Identity,
): IdempotentRequest {
  const described = [
    method,
    path,
    query,
    headers.filter(([name]) => meaningful.has(name)).sort(byName),
    lastingClaims(identity),
  ]
  return {
    key: parseIdempotencyKey(value),
    caller: sha256(`[${JSON.stringify(identity.role)},${subjectText(identity)}]`),
    // The text of the description ends before the body: it is one JSON array.
    request: sha256(JSON.stringify(described), body),
  }
}

const byName = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number =>
  one < other ? -1 : one > other ? 1 : 0

function sha256(...parts: readonly (string | Buffer)[]): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
