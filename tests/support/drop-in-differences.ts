// Known differences of PostgREST 12.0.2's responses to the script of `drop-in-script.ts`, due to changes in later
// versions, up to 16.2. Differences of writes and calls in general are in `known-write-differences.ts`.
import type { Pair } from './answer-pair.ts'
import { bodyOf, type Difference } from './differences.ts'
import { explanationIn, type KnownDifference } from './known-difference.ts'
import { explanationOf as explanationOfWrite } from './known-write-differences.ts'
import { modernDocument, withoutExtensions } from './modern-document.ts'

type Answer = Pair['theirs']

/** The value of a field of an error. */
function said(answer: Answer, field: 'code' | 'message' | 'hint'): unknown {
  const body = bodyOf(answer)
  return typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>)[field] : undefined
}

const is = (answer: Answer, status: number, code: string): boolean =>
  answer.status === status && said(answer, 'code') === code

const isEmptyObject = (answer: Answer, status: number): boolean =>
  answer.status === status && answer.body.toString() === '{}'

/** Messages of 12.0.2 about a token, and those of later versions. */
const aboutTokens: Readonly<Record<string, readonly [code: string, message: string]>> = {
  'JWSError (CompactDecodeError Invalid number of parts: Expected 3 parts; got 1)': [
    'PGRST301',
    'Expected 3 parts in JWT; got 1',
  ],
  'JWSError (CompactDecodeError Invalid number of parts: Expected 3 parts; got 2)': [
    'PGRST301',
    'Expected 3 parts in JWT; got 2',
  ],
  'JWSError (JSONDecodeError "Not valid base64url")': ['PGRST301', 'JWT cryptographic operation failed'],
  'JWSError JWSInvalidSignature': ['PGRST301', 'No suitable key or wrong key type'],
  'JWSError JWSNoSignatures': ['PGRST301', 'Wrong or unsupported encoding algorithm'],
  'JWT expired': ['PGRST303', 'JWT expired'],
  JWTNotYetValid: ['PGRST303', 'JWT not yet valid'],
  JWTIssuedAtFuture: ['PGRST303', 'JWT issued at future'],
  JWTNotInAudience: ['PGRST303', 'JWT not in audience'],
}

export const dropInDifferences: readonly KnownDifference[] = [
  {
    version: '13.0.0',
    issue: 3926,
    reason: 'Errors about tokens have messages, and invalid claims have their own code',
    aspects: ['body', 'WWW-Authenticate'],
    explains: (_, { theirs, ours }) => {
      const [code, message] = aboutTokens[String(said(theirs, 'message'))] ?? []
      return is(theirs, 401, 'PGRST301') && is(ours, 401, String(code)) && said(ours, 'message') === message
    },
  },
  {
    version: '13.0.0',
    issue: 3600,
    reason: 'A bearer scheme without a token is refused',
    aspects: 'all',
    explains: (_, { request, theirs, ours }) =>
      /^bearer *$/i.test(request.headers.Authorization ?? '') && theirs.status === 200 && is(ours, 401, 'PGRST301'),
  },
  {
    version: '13.0.1',
    issue: 3601,
    reason: 'An unknown role gets 401 instead of 400',
    aspects: ['status', 'WWW-Authenticate'],
    explains: (_, { theirs, ours }) => is(theirs, 400, '22023') && is(ours, 401, '22023'),
  },
  {
    version: '12.2.0',
    issue: 3267,
    reason: 'Reaching a configuration limit gets 500 instead of 503',
    aspects: ['status'],
    explains: (_, { theirs, ours }) => is(theirs, 503, '53400') && is(ours, 500, '53400'),
  },
  {
    version: '13.0.7',
    issue: 4089,
    reason: 'The error about a schema that is not exposed names it, and lists the exposed ones in its hint',
    aspects: ['body'],
    explains: (_, { theirs, ours }) =>
      is(theirs, 406, 'PGRST106') &&
      is(ours, 406, 'PGRST106') &&
      String(said(ours, 'hint')).startsWith('Only the following'),
  },
  {
    version: '13.0.0',
    issue: 3697,
    reason: 'OPTIONS of an unknown table has its own error',
    aspects: ['body'],
    explains: (_, { request, theirs, ours }) =>
      request.method === 'OPTIONS' && isEmptyObject(theirs, 404) && is(ours, 404, 'PGRST205'),
  },
  {
    version: '13.0.0',
    issue: 3906,
    reason: 'Methods that the API root does not support are reported as unsupported',
    aspects: ['status', 'body'],
    explains: (_, { request, theirs, ours }) =>
      request.path === '/' && isEmptyObject(theirs, 404) && is(ours, 405, 'PGRST117'),
  },
  {
    version: 'ours',
    issue: null,
    reason: 'A row can be addressed by its key in the path',
    aspects: 'all',
    explains: (_, { request, theirs, ours }) =>
      request.path === '/customers/1' && isEmptyObject(theirs, 404) && ours.status === 200,
  },
  {
    version: '14.8',
    issue: 4641,
    reason: 'The OpenAPI document has changed: see `modernDocument`; it also has what PostgREST does not have',
    aspects: ['body'],
    explains: ({ theirs, ours }, { request }) =>
      request.path === '/' &&
      JSON.stringify(sorted(modernDocument(theirs))) === JSON.stringify(sorted(withoutExtensions(ours))),
  },
  {
    version: '16.2',
    issue: null,
    reason: 'Pages may read entity tags, which PostgREST does not have',
    aspects: ['Access-Control-Expose-Headers'],
    explains: ({ theirs, ours }) => ours === `${String(theirs)}, ETag`,
  },
]

/** A value with sorted keys, whose order PostgREST takes from hash tables. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return entries.map(([key, member]) => [key, sorted(member)])
}

/** The entry that explains a difference, if any: of this table, or of that of all writes and calls. */
export const explanationOf = (difference: Difference, pair: Pair): KnownDifference | undefined =>
  explanationIn(dropInDifferences, difference, pair) ?? explanationOfWrite(difference, pair)
