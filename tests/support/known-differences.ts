// Where PostgREST 12.0.2 answers otherwise than we do, because a later version, up to 16.2, changed it.
// Versions and issues are those of PostgREST's changelog. A difference that no row explains is a fault of ours.
import { bodyOf, type Aspect, type Difference } from './differences.ts'
import type { RawAnswer, ReadRequest } from './exchange.ts'

export type Pair = { readonly request: ReadRequest; readonly theirs: RawAnswer; readonly ours: RawAnswer }

export type KnownDifference = {
  readonly version: string
  readonly issue: number
  readonly reason: string
  /** The aspects of an answer that it explains. */
  readonly aspects: readonly [Aspect, ...Aspect[]]
  /** Whether the difference in one of the aspects is this one. */
  readonly explains: (difference: Difference, pair: Pair) => boolean
}

type ErrorBody = Readonly<Partial<Record<'code' | 'message' | 'details' | 'hint', unknown>>>

const errorOf = (answer: RawAnswer): ErrorBody => {
  const body = bodyOf(answer)
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? body : {}
}

/** The text of a field of an error; empty when it has none. */
const said = (answer: RawAnswer, field: keyof ErrorBody): string => {
  const text = errorOf(answer)[field]
  return typeof text === 'string' ? text : ''
}

/** Whether two errors are the same but for some fields. */
const sameBut = ({ theirs, ours }: Pair, ...fields: readonly (keyof ErrorBody)[]): boolean => {
  const others = (['code', 'message', 'details', 'hint'] as const).filter((field) => !fields.includes(field))
  const [a, b] = [errorOf(theirs), errorOf(ours)]
  return a.code !== undefined && others.every((field) => a[field] === b[field])
}

const is = (answer: RawAnswer, status: number, code: string): boolean =>
  answer.status === status && (answer.body.length === 0 || errorOf(answer).code === code)

export const knownDifferences: readonly KnownDifference[] = [
  {
    version: '16.0',
    issue: 4609,
    reason: 'Answers of tables and functions say which request headers they depend on',
    aspects: ['Vary'],
    explains: ({ theirs, ours }) => theirs === null && ours === 'Accept, Prefer, Range',
  },
  {
    version: '13.0.0',
    issue: 4016,
    reason: 'Answers tell the length of their body',
    aspects: ['Content-Length'],
    explains: ({ theirs, ours }, pair) => theirs === null && ours === String(pair.ours.body.length),
  },
  {
    version: '13.0.0',
    issue: 2967,
    reason: "An error's code is repeated in a header",
    aspects: ['Proxy-Status'],
    explains: ({ theirs, ours }, pair) =>
      theirs === null &&
      typeof ours === 'string' &&
      (pair.request.method === 'HEAD'
        ? /^PostgREST; error=\w+$/.test(ours)
        : ours === `PostgREST; error=${said(pair.ours, 'code')}`),
  },
  {
    version: '16.0',
    issue: 4075,
    reason: 'To filter, order or limit an embed that has an alias by the name of its table is deprecated',
    aspects: ['Warning'],
    explains: ({ theirs, ours }) => theirs === null && typeof ours === 'string' && ours.startsWith('299 PostgREST'),
  },
  {
    version: '16.0',
    issue: 3957,
    reason: 'Without a range of its rows, an exact count is the number of rows that are answered',
    aspects: ['Content-Range', 'status'],
    explains: (_, { request, theirs, ours }) =>
      /count=(exact|estimated)/.test(request.headers?.Prefer ?? '') &&
      /\.(limit|offset)=/.test(request.path) &&
      theirs.status === 206 &&
      /^\*\/[1-9]/.test(theirs.header('Content-Range') ?? '') &&
      (ours.status === 200 ? ours.header('Content-Range') === '*/0' : ours.status === 206),
  },
  {
    version: '12.0.3',
    issue: 3224,
    reason: 'A media type that cannot be had is answered 406, no longer 415',
    aspects: ['status'],
    explains: (_, { theirs, ours }) => is(theirs, 415, 'PGRST107') && is(ours, 406, 'PGRST107'),
  },
  {
    version: '13.0.0',
    issue: 3795,
    reason: 'What is wrong with a single object is said more clearly',
    aspects: ['body'],
    explains: (_, pair) =>
      is(pair.ours, 406, 'PGRST116') &&
      sameBut(pair, 'message') &&
      said(pair.ours, 'message') === 'Cannot coerce the result to a single JSON object',
  },
  {
    version: '13.0.0',
    issue: 3747,
    reason: '`is.not_null` was added, and what `is` allows is told otherwise',
    aspects: ['body'],
    explains: (_, pair) =>
      is(pair.ours, 400, 'PGRST100') &&
      sameBut(pair, 'details') &&
      said(pair.ours, 'details') ===
        said(pair.theirs, 'details').replace(
          'null or trilean value (unknown, true, false)',
          'isVal: (null, not_null, true, false, unknown)',
        ),
  },
]

/** The row that explains a difference, if any. */
export const explanationOf = (difference: Difference, pair: Pair): KnownDifference | undefined =>
  knownDifferences.find((known) => known.aspects.includes(difference.aspect) && known.explains(difference, pair))
