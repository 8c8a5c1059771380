// Outgoing calls, as the page of webhooks and `rowhouse calls` show them. A statement looks at a bounded number of rows.
import type { RunQuery } from '../../catalogue/introspection.ts'
import { requestHeaders, responseHeaders, urlWithoutSecrets } from './hidden-secrets.ts'
import type {
  CallDetails,
  CallEntry,
  CallPage,
  CallState,
  CutText,
  ResendReport,
  ResendRequest,
} from './webhook-protocol.ts'

/** Which calls a page has. */
export type CallSelection = {
  /** Undefined for calls of all states. */
  readonly states?: readonly CallState[] | undefined
  /** Name of a webhook, or its end: `public.orders.hook`, `orders.hook` or `hook`. */
  readonly webhook?: string | undefined
  /** What the URL before its query string contains. */
  readonly text?: string | undefined
  /** Id of a call: older ones are returned. */
  readonly before?: string | undefined
  /** The most calls of a page. */
  readonly limit?: number | undefined
}

/** Calls of a page. */
const pageSize = 50
/** Calls that one statement looks at, for conditions without an index. */
const mostSeen = 10_000
/** Calls that one statement sends again. */
const mostSent = 500
/** Characters of URLs and errors in lists. */
const longest = 500
/** Characters of bodies. */
const longestBody = 64 * 1024

const conditions = (webhook: string, text: string): string =>
  `(${webhook}::text is null or right('.' || webhook, length(${webhook}) + 1) = '.' || ${webhook})
    and (${text}::text is null or strpos(lower(split_part(url, '?', 1)), lower(${text})) > 0)`

const entry = `
  'id', id, 'webhook', webhook, 'method', method, 'url', left(url, ${longest}), 'state', state, 'attempts', attempts,
  'createdAt', created_at, 'nextAt', case when state = 'waiting' then next_at end, 'status', last_status,
  'error', left(last_error, ${longest})`

const list = `
  with seen as (
    select id, webhook, method, url, state, attempts, created_at, next_at, last_status, last_error from rowhouse.calls
    where ($1::text[] is null or state = any ($1)) and ($4::uuid is null or id < $4)
    order by id desc limit ${mostSeen}
  ), found as (
    select * from seen where ${conditions('$2', '$3')} order by id desc limit $5::int + 1
  )
  select coalesce(json_agg(json_build_object(${entry}) order by id desc), '[]') as calls,
    (select id from seen order by id limit 1) as last, (select count(*)::int from seen) as seen
  from found`

/** A page of calls, the newest first. Where few calls fulfil the conditions, a page can be empty and have a next one. */
export async function listCalls(query: RunQuery, selection: CallSelection): Promise<CallPage> {
  const { states, webhook, text, before, limit = pageSize } = selection
  const [row] = await query(list, [states ?? null, webhook ?? null, text ?? null, before ?? null, limit])
  const found = (row?.calls ?? []) as readonly CallEntry[]
  const items = found.slice(0, limit).map((call) => ({ ...call, url: urlWithoutSecrets(call.url) }))
  if (found.length > limit) return { items, next: items.at(-1)?.id ?? null }
  return { items, next: row?.seen === mostSeen ? String(row.last) : null }
}

/** The beginning of a text, which is not read as a whole. */
const cutText = (column: string): string => `
  case when ${column} is not null then json_build_object(
    'text', left(${column}, $2), 'bytes', octet_length(${column}), 'isCut', length(${column}) > $2
  ) end`

const details = `
  select json_build_object(${entry}) as entry, url, last_error, headers, ${cutText('body')} as body, created_by, secret_name, key,
    behind, depth, retries, timeout_ms, to_json(first_attempt_at) as first_at, to_json(last_attempt_at) as last_at,
    to_json(finished_at) as finished_at, last_duration_ms, response_headers, ${cutText('response')} as response
  from rowhouse.calls where id = $1`

/**
 * The call with an id; undefined if no call has it.
 *
 * @param longest characters of its body and of the response
 */
export async function findCall(
  query: RunQuery,
  id: string,
  longest: number = longestBody,
): Promise<CallDetails | undefined> {
  const [row] = await query(details, [id, longest])
  if (!row) return undefined
  return {
    ...(row.entry as CallEntry),
    url: urlWithoutSecrets(String(row.url)),
    error: row.last_error as string | null,
    headers: requestHeaders(row.headers),
    body: row.body as CutText | null,
    createdBy: String(row.created_by),
    secret: row.secret_name as string | null,
    key: row.key as string | null,
    isBehind: row.behind === true,
    depth: Number(row.depth),
    retries: row.retries === true,
    timeout: Number(row.timeout_ms),
    firstAttemptAt: row.first_at as string | null,
    lastAttemptAt: row.last_at as string | null,
    finishedAt: row.finished_at as string | null,
    duration: row.last_duration_ms as number | null,
    responseHeaders: row.response_headers === null ? null : responseHeaders(row.response_headers),
    response: row.response as CutText | null,
  }
}

/** Calls that are put aside again meanwhile are behind `after`, so that no call is sent twice by repeated requests. */
const resend = `
  with seen as (
    select id, webhook, url from rowhouse.calls
    where state = 'dead' and ($3::uuid is null or id > $3) order by id limit ${mostSeen}
  ), found as materialized (
    select id from seen where ${conditions('$1', '$2')} order by id limit ${mostSent}
  ), sent as materialized (
    select id, rowhouse.resend_call(id) as is_sent from found
  )
  select (select count(*)::int from found) as found, (select count(*)::int from sent where is_sent) as sent,
    (select id from found order by id desc limit 1) as last_found, (select id from seen order by id desc limit 1) as last_seen,
    (select count(*)::int from seen) as seen`

/** Sends calls again that were put aside, the oldest first. */
export async function resendCalls(query: RunQuery, { webhook, text, after }: ResendRequest): Promise<ResendReport> {
  const [row] = await query(resend, [webhook ?? null, text ?? null, after ?? null])
  const sent = Number(row?.sent)
  if (row?.found === mostSent) return { sent, last: String(row.last_found) }
  return { sent, last: row?.seen === mostSeen ? String(row.last_seen) : null }
}
