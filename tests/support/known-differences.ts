// Known differences of PostgREST 12.0.2's responses, due to changes in later versions, up to 16.2.
// Versions and issues are those of PostgREST's changelog. A difference without an entry is a bug in this server.
import type { Difference } from './differences.ts'
import { explanationIn, type KnownDifference } from './known-difference.ts'
import { code, hasTotalOfItsRows, is, sameBut, said, type Pair } from './answer-pair.ts'

/** PostgREST's value, and for reads that of conditional requests. */
const variesBy = ['Accept, Prefer, Range', 'Accept, Prefer, Range, Accept-Profile, Authorization, apikey, Cookie']

export const knownDifferences: readonly KnownDifference[] = [
  {
    version: '16.0',
    issue: 4609,
    reason: 'Responses of tables and functions list the request headers that they depend on',
    aspects: ['Vary'],
    explains: ({ theirs, ours }) => theirs === null && [...variesBy, 'X-Garage'].includes(String(ours)),
  },
  {
    version: '13.0.0',
    issue: 4016,
    reason: 'Responses contain the length of their body',
    aspects: ['Content-Length'],
    explains: ({ theirs, ours }, { request, ours: answer }) =>
      theirs === null &&
      // The length of an error is reported even if its body is omitted.
      (request.method === 'HEAD' && answer.status >= 300
        ? /^[1-9][0-9]+$/.test(String(ours))
        : ours === String(answer.body.length)),
  },
  {
    version: '13.0.0',
    issue: 2967,
    reason: 'A header repeats the error code',
    aspects: ['Proxy-Status'],
    explains: ({ theirs, ours }, pair) =>
      theirs === null &&
      (pair.request.method === 'HEAD'
        ? /^PostgREST; error=\w+$/.test(String(ours))
        : ours === `PostgREST; error=${code(pair.ours)}`),
  },
  {
    version: '16.0',
    issue: 4075,
    reason: 'Filtering, ordering or limiting an embed with an alias by the name of its table is deprecated',
    aspects: ['Warning'],
    explains: ({ theirs, ours }) => theirs === null && typeof ours === 'string' && ours.startsWith('299 PostgREST'),
  },
  {
    version: '16.0',
    issue: 3957,
    reason: 'Without a range, the exact count is the number of returned rows',
    aspects: ['Content-Range', 'status'],
    explains: (_, { request, theirs, ours }) =>
      /count=(exact|estimated)/.test(request.headers.Prefer ?? '') &&
      request.headers.Range === undefined &&
      !/[?&](limit=|offset=[1-9])/.test(request.path) &&
      // Aggregates and limits of inner embeds make the number of rows differ from the count.
      /\w\(\)|\.(limit|offset)=/.test(request.path) &&
      [200, 206].includes(theirs.status) &&
      [200, 206].includes(ours.status) &&
      (hasTotalOfItsRows(ours) || request.headers.Prefer?.includes('estimated') === true),
  },
  {
    version: '12.0.3',
    issue: 3224,
    reason: 'An unavailable media type gets 406 instead of 415',
    aspects: ['status'],
    explains: (_, { theirs, ours }) => is(theirs, 415, 'PGRST107') && is(ours, 406, 'PGRST107'),
  },
  {
    version: '12.2.0',
    issue: 3478,
    reason: 'Media types are case-insensitive',
    aspects: 'all',
    explains: (_, { request, theirs, ours }) =>
      /[A-Z]/.test(request.headers.Accept ?? '') && is(theirs, 415, 'PGRST107') && ours.status === 200,
  },
  {
    version: '12.0.3',
    issue: 3160,
    reason: 'A handler for the rows of a table is not applied to other columns',
    aspects: 'all',
    explains: (_, { request, theirs, ours }) =>
      request.path.includes('select=') && is(theirs, 400, '42846') && is(ours, 406, 'PGRST107'),
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
    version: '13.0.0',
    issue: 3747,
    reason: 'The message about values for `is` has changed',
    aspects: ['body'],
    explains: (_, pair) =>
      is(pair.ours, 400, 'PGRST100') &&
      sameBut(pair, 'details') &&
      said(pair.theirs, 'details').includes('trilean') &&
      said(pair.ours, 'details') ===
        said(pair.theirs, 'details').replace(
          'null or trilean value (unknown, true, false)',
          'isVal: (null, not_null, true, false, unknown)',
        ),
  },
  {
    version: '13.0.0',
    issue: 3747,
    reason: '`is.not_null` was added',
    aspects: 'all',
    explains: (_, { request, theirs, ours }) =>
      request.path.includes('is.not_null') &&
      is(theirs, 400, 'PGRST100') &&
      said(theirs, 'details').includes('trilean') &&
      ours.status === 200,
  },
  {
    version: '13.0.0',
    issue: 2255,
    reason: 'A column that is not a tsvector is converted to one for text search, in the language of the search',
    aspects: 'all',
    explains: (_, { request, theirs, ours }) =>
      /(?<!words)=(not\.)?(pl|ph|w)?fts/.test(request.path) &&
      (is(theirs, 404, '42883')
        ? said(theirs, 'message').endsWith(' @@ tsquery') && (ours.status === 200 || is(ours, 404, '42883'))
        : theirs.status === 200 && ours.status === 200 && request.path.includes('fts(')),
  },
  {
    version: '13.0.0',
    issue: 3697,
    reason: 'Only tables of the schema cache are queried, and others have their own error',
    aspects: 'all',
    explains: (_, { request, theirs, ours }) =>
      is(ours, 404, 'PGRST205') &&
      (is(theirs, 404, '42P01') ||
        // Partitions exist, but are not in the schema cache.
        (theirs.status === 200 && request.path.startsWith('/readings_2024')) ||
        (request.method === 'OPTIONS' && theirs.status === 404)),
  },
  {
    version: '13.0.0',
    issue: 3906,
    reason: 'An invalid path has its own error',
    aspects: ['body'],
    explains: (_, { theirs, ours }) =>
      theirs.status === 404 && theirs.body.toString() === '{}' && is(ours, 404, 'PGRST125'),
  },
  {
    version: '13.0.7',
    issue: 4089,
    reason: 'The error about a schema that is not exposed names it, and lists the exposed ones in its hint',
    aspects: ['body'],
    explains: (_, pair) =>
      is(pair.theirs, 406, 'PGRST106') && is(pair.ours, 406, 'PGRST106') && sameBut(pair, 'message', 'hint'),
  },
  {
    version: 'this server',
    issue: null,
    reason: 'Clients refuse long headers, so Content-Location does not repeat a long URL',
    aspects: ['Content-Location'],
    explains: ({ theirs, ours }) => ours === null && typeof theirs === 'string' && theirs.length > 2048,
  },
  {
    version: 'this server',
    issue: null,
    reason: 'A hint lists the related tables if none has a name similar to an unrelated one',
    aspects: ['body'],
    explains: (_, pair) =>
      is(pair.ours, 400, 'PGRST200') && sameBut(pair, 'hint') && said(pair.ours, 'hint').includes("' is related to '"),
  },
  {
    version: '14.6',
    issue: 4675,
    reason: 'Hints contain only names that are similar',
    aspects: ['body'],
    explains: (_, pair) =>
      is(pair.ours, 404, 'PGRST202') &&
      sameBut(pair, 'hint') &&
      said(pair.theirs, 'hint') !== '' &&
      said(pair.ours, 'hint') === '',
  },
  {
    version: '13.0.0',
    issue: 3041,
    reason: 'To-many embeds can be spread into arrays, but not their aggregates',
    aspects: 'all',
    explains: (_, { request, theirs, ours }) =>
      request.path.includes('...') && is(theirs, 400, 'PGRST119') && (ours.status === 200 || is(ours, 400, 'PGRST127')),
  },
  {
    version: '13.0.5',
    issue: 3887,
    reason: 'A spread embed can select no columns',
    aspects: 'all',
    explains: (_, { request, theirs, ours }) =>
      /\.\.\.[^(]*\(\)/.test(request.path) && is(theirs, 400, '42601') && ours.status === 200,
  },
  {
    version: '13.0.0',
    issue: 3693,
    reason: 'Aggregates in nested spreads are grouped at the top, and can have aliases',
    aspects: 'all',
    explains: (_, { request, theirs, ours }) =>
      /\.\.\..*\w\(\)/.test(request.path) && is(theirs, 400, '42703') && ours.status === 200,
  },
  {
    version: '12.2.2',
    issue: 3093,
    reason: 'An embed of empty embeds only is omitted',
    aspects: ['body'],
    explains: (_, { request, theirs, ours }) =>
      /\((\w+(!\w+)*\(\),?)+\)/.test(request.path) && theirs.status === 200 && ours.status === 200,
  },
  {
    version: '13.0.0',
    issue: 3965,
    reason: 'The rows of a function can be filtered by columns that are not selected',
    aspects: 'all',
    explains: (_, { request, theirs, ours }) =>
      request.path.startsWith('/rpc/') &&
      is(theirs, 400, '42703') &&
      // Another part of the request may then be invalid.
      !said(ours, 'message').startsWith('column cars.'),
  },
]

/** The entry that explains a difference, if any. */
export const explanationOf = (difference: Difference, pair: Pair): KnownDifference | undefined =>
  explanationIn(knownDifferences, difference, pair)
