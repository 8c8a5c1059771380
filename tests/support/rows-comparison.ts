// Two services on one database: one encodes rows itself, and streams exports, for the other Postgres aggregates. Their responses
// must be equal.
import type { Test } from 'tap'
import type { Environment } from '../../server/config/config-sources.ts'
import { RowEncoder } from '../../server/rest/encode/row-encoder.ts'
import { startApplication, type Application } from './application.ts'
import { comparable } from './cache-comparison.ts'
import { RawConnection, requestHead, type RawResponse } from './raw-connection.ts'
import type { SentRequest } from './sent-request.ts'

export type RowsComparison = {
  readonly encoding: Application
  readonly aggregating: Application
  /** The responses of both services to a request, that of the one that encodes rows first. */
  readonly ask: (request: SentRequest, connection?: number) => Promise<readonly [RawResponse, RawResponse]>
  /** What is different in both responses to a request; undefined if they are equal. */
  readonly difference: (request: SentRequest, connection?: number) => Promise<string | undefined>
  /** The same, and the status of the response in which Postgres has written the JSON. */
  readonly compare: (
    request: SentRequest,
    connection?: number,
  ) => Promise<{ readonly status: number; readonly difference: string | undefined }>
}

/** Requests of a shape after which it is cached. */
export const untilCached = 2

/** Characters that a request line cannot contain, and all others but ASCII. */
const unsendable = /[^\x21-\x7e]/gu

/** @param connections of each service, each of which has one request at a time */
export async function startRowsComparison(
  t: Pick<Test, 'teardown'>,
  uri: string,
  env: Environment = {},
  connections = 1,
): Promise<RowsComparison> {
  const common = { PGRST_DB_POOL: '2', PGRST_LOG_LEVEL: 'crit', REST_BASE_PATH: '/', ...env }
  const encoding = await startApplication(t, uri, common)
  const aggregating = await startApplication(t, uri, { ...common, REST_EXPORT_LIMIT: '0' }, { encodesRows: false })
  const pairs = Array.from({ length: connections }, () =>
    [encoding, aggregating].map(({ url }) => new RawConnection(url)),
  )
  t.teardown(() => pairs.flat().forEach((connection) => connection.close()))
  const ask: RowsComparison['ask'] = async ({ method, path, headers, body = '' }, connection = 0) => {
    const [first, second] = pairs[connection % connections] ?? []
    if (!first || !second) throw new Error('there are no connections')
    const bytes = Buffer.from(body).toString('latin1')
    const length = bytes === '' ? {} : { 'Content-Length': String(bytes.length) }
    const target = path.replace(unsendable, encodeURIComponent)
    const head = requestHead(method, target, Object.entries({ Host: 'test', ...headers, ...length }))
    const request = { head, body: bytes, isHead: method === 'HEAD' }
    return Promise.all([first.send(request), second.send(request)])
  }
  const compare: RowsComparison['compare'] = async (request, connection) => {
    const responses = await ask(request, connection)
    return { status: responses[1].status, difference: differenceOf(request, responses) }
  }
  return {
    encoding,
    aggregating,
    ask,
    compare,
    difference: async (request, connection) => (await compare(request, connection)).difference,
  }
}

function differenceOf(request: SentRequest, responses: readonly [RawResponse, RawResponse]): string | undefined {
  const isStreamed = responses[0].headers.some(([name]) => name === 'transfer-encoding')
  // A large body that one of the services sends in parts, in whichever way, has no entity tag.
  const isTagged = responses.every(
    ({ headers, body }) => body.length < leastStreamed || headers.some(([name]) => name === 'etag'),
  )
  const [one, other] = responses.map((response) =>
    comparable(isStreamed ? withoutEnd(response) : isTagged ? response : withoutTag(response)),
  )
  if (!one || !other) throw new Error('two responses are needed')
  const found = {
    ...(one.status === other.status ? {} : { status: [one.status, other.status] }),
    ...(one.headers.join('\n') === other.headers.join('\n') ? {} : { headers: [one.headers, other.headers] }),
    ...(one.body === other.body ? {} : { body: firstDifference(one.body, other.body) }),
  }
  return Object.keys(found).length === 0 ? undefined : JSON.stringify({ request, found })
}

/** Characters of a body from which on Postgres sends it as a large row, in parts. */
const leastStreamed = 64 * 1024 - 1000

/** Headers that a response cannot have, or has in addition, when it begins before its end is known. */
const ofStreams = new Set(['content-length', 'transfer-encoding', 'vary', 'etag'])

const withoutTag = ({ headers, ...response }: RawResponse): RawResponse => ({
  ...response,
  headers: headers.filter(([name]) => name !== 'etag'),
})

/** A response without what depends on whether it is streamed: the last row of NDJSON is not known. */
const withoutEnd = ({ headers, ...response }: RawResponse): RawResponse => ({
  ...response,
  headers: headers
    .filter(([name]) => !ofStreams.has(name))
    .map(([name, value]) => [name, name === 'content-range' ? value.replace(/-(?:\d+|\*)\//, '-*/') : value]),
})

/** The place of the first different byte, and some of the text around it. */
function firstDifference(one: string, other: string): unknown {
  let at = 0
  while (one[at] === other[at]) at++
  const around = (body: string): string => Buffer.from(body.slice(Math.max(at - 60, 0), at + 160), 'latin1').toString()
  return { at, encoded: around(one), aggregated: around(other) }
}

/** Counts the results that this process encodes from now on. */
export function countEncodedResults(): { readonly results: number } {
  const counts = { results: 0 }
  // Replaced for the rest of the process.
  const begin: RowEncoder['begin'] = Reflect.get<RowEncoder, 'begin'>(RowEncoder.prototype, 'begin')
  RowEncoder.prototype.begin = function () {
    const rows = begin.call(this)
    const end = rows.end.bind(rows)
    rows.end = () => {
      counts.results++
      return end()
    }
    return rows
  }
  return counts
}
