// Known differences of PostgREST 12.0.2's responses to writes and calls, due to changes in later versions, up to 16.2.
// Versions and issues are those of PostgREST's changelog. A difference without an entry is a bug in this server.
import { errorOf, is, said, sameBut, type Pair } from './answer-pair.ts'
import type { Difference } from './differences.ts'
import { explanationIn, type KnownDifference } from './known-difference.ts'
import type { SentRequest } from './sent-request.ts'

const prefer = ({ headers }: SentRequest): string => headers.Prefer ?? ''

export const knownDifferences: readonly KnownDifference[] = [
  {
    version: '16.0',
    issue: 4609,
    reason: 'Responses list the request headers that they depend on',
    aspects: ['Vary'],
    explains: ({ theirs, ours }) =>
      theirs === null &&
      ['Accept, Prefer, Range', 'Accept, Prefer, Range, Accept-Profile, Authorization, apikey, Cookie'].includes(
        String(ours),
      ),
  },
  {
    version: '13.0.0',
    issue: 4016,
    reason: 'Responses contain the length of their body',
    aspects: ['Content-Length'],
    explains: ({ theirs, ours }, { request, ours: answer }) =>
      theirs === null && (request.method === 'HEAD' || ours === String(answer.body.length)),
  },
  {
    version: '13.0.0',
    issue: 2967,
    reason: 'A header repeats the error code',
    aspects: ['Proxy-Status'],
    explains: ({ theirs, ours }, pair) =>
      theirs === null &&
      typeof ours === 'string' &&
      (pair.request.method === 'HEAD'
        ? /^PostgREST; error=\w+$/.test(ours)
        : ours === `PostgREST; error=${said(pair.ours, 'code')}`),
  },
  {
    version: '12.0.3',
    issue: 3224,
    reason: 'An unavailable media type gets 406 instead of 415',
    aspects: ['status'],
    explains: (_, { theirs, ours }) => is(theirs, 415, 'PGRST107') && is(ours, 406, 'PGRST107'),
  },
  {
    version: '13.0.0',
    issue: 3795,
    reason: 'The error about a single object is clearer',
    aspects: ['body'],
    explains: (_, pair) =>
      is(pair.ours, 406, 'PGRST116') &&
      sameBut(pair, 'message') &&
      said(pair.ours, 'message') === 'Cannot coerce the result to a single JSON object',
  },
  {
    version: '14.4',
    issue: 3707,
    reason: 'Logical operators no longer apply to the rows that an update returns',
    aspects: ['status', 'Content-Range', 'body'],
    explains: (_, { request }) => request.method === 'PATCH' && /[?&](?:not\.)?(?:and|or)=/.test(request.path),
  },
  {
    version: '12.0.3',
    issue: 3361,
    reason: 'The message about an unknown column of a body has changed',
    aspects: ['body'],
    explains: (_, pair) => is(pair.ours, 400, 'PGRST204') && sameBut(pair, 'message'),
  },
  {
    version: '12.0.3',
    issue: 3205,
    reason: 'A statement that affects a row twice is no longer a client error',
    aspects: ['status'],
    explains: (_, { theirs, ours }) => is(theirs, 400, '21000') && is(ours, 500, '21000'),
  },
  {
    version: '12.2.0',
    issue: 2887,
    reason: '`max-affected` became a preference',
    aspects: 'all',
    explains: (_, { request, theirs }) =>
      prefer(request).includes('max-affected=') &&
      is(theirs, 400, 'PGRST122') &&
      /^Invalid preferences: max-affected=\d+$/.test(said(theirs, 'details')),
  },
  {
    version: '13.0.0',
    issue: 3757,
    reason: '`params=single-object` is no longer a preference',
    aspects: 'all',
    explains: (_, { request }) => prefer(request).includes('params=single-object'),
  },
  {
    version: '13.0.0',
    issue: 3013,
    reason: '`limit` no longer applies to updates and deletes; what an insert returns can be ordered',
    aspects: ['body', 'Content-Range'],
    explains: (_, { request: { method, path }, theirs, ours }) =>
      theirs.status === ours.status && (method === 'POST' ? /order=/ : /order=.*limit=|limit=.*order=/).test(path),
  },
  {
    version: '13.0.0',
    issue: 3697,
    reason: 'An unknown table is reported without a query',
    aspects: ['body'],
    explains: (_, { theirs, ours }) => is(theirs, 404, '42P01') && is(ours, 404, 'PGRST205'),
  },
  {
    version: '13.0.0',
    issue: 3965,
    reason: 'The rows of a function can be filtered by columns that are not selected',
    aspects: 'all',
    explains: (_, { request, theirs, ours }) =>
      request.path.startsWith('/rpc/') && is(theirs, 400, '42703') && ours.status < 300,
  },
  {
    version: '14.4',
    issue: 3707,
    reason: 'The result of an update or a delete is no longer filtered by `and` and `or`',
    aspects: 'all',
    explains: (_, { request: { method, path }, theirs, ours }) =>
      (method === 'PATCH' || method === 'DELETE') &&
      /(and|or)=\(/.test(path) &&
      is(theirs, 400, '42703') &&
      ours.status === 200,
  },
  {
    version: '14.13',
    issue: 4955,
    reason: 'A role may set `work_mem`',
    aspects: 'all',
    explains: (_, { theirs }) => is(theirs, 400, '22023') && said(theirs, 'message').includes('work_mem'),
  },
  {
    version: '14.2',
    issue: 4553,
    reason: 'A single named parameter no longer receives the whole body',
    aspects: ['body'],
    explains: (_, { theirs, ours }) => is(theirs, 404, '42883') && is(ours, 404, 'PGRST202'),
  },
  {
    version: '14.6',
    issue: 4675,
    reason: 'Hints contain only names that are similar',
    aspects: ['body'],
    explains: (_, pair) => is(pair.ours, 404, 'PGRST202') && sameBut(pair, 'hint') && errorOf(pair.ours).hint === null,
  },
  {
    version: '13.0.0',
    issue: 2858,
    reason: 'Arguments in a URL or a form are values of their type instead of JSON strings',
    aspects: 'all',
    explains: (_, { request: { path, method, headers }, theirs, ours }) =>
      path.startsWith('/rpc/') &&
      (method !== 'POST' || headers['Content-Type'] === 'application/x-www-form-urlencoded') &&
      (path.startsWith('/rpc/named_json')
        ? theirs.status !== 400
        : /(limit|offset)=/.test(path) && is(ours, 400, '22P02')),
  },
  {
    version: '12.2.0',
    issue: 2676,
    reason: 'The message of PostgreSQL about a body that is neither object nor array has changed',
    aspects: ['body'],
    explains: (_, pair) => is(pair.theirs, 400, '22023') && is(pair.ours, 400, '22023') && sameBut(pair, 'message'),
  },
  {
    version: '16.2',
    issue: null,
    reason: 'Unknown preferences are rejected, also with a time zone',
    aspects: 'all',
    explains: (_, { request, ours }) => prefer(request).includes('timezone=') && is(ours, 400, 'PGRST122'),
  },
]

/** The entry that explains a difference, if any. */
export const explanationOf = (difference: Difference, pair: Pair): KnownDifference | undefined =>
  explanationIn(knownDifferences, difference, pair)
