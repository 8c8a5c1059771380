// Outgoing calls for people: lists, one with all that is known of it, and sending again.
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import {
  requestHeaders,
  responseHeaders,
  shownHeaders,
  urlWithoutSecrets,
} from '../../services/console/hidden-secrets.ts'
import { WebhookError } from './webhook-sql.ts'

export type CallState = 'waiting' | 'sending' | 'delivered' | 'dead'

export type CallFilter = {
  /** Undefined for calls of all states. */
  readonly states?: readonly CallState[] | undefined
  /** Name of a webhook, or its end: `public.orders.hook`, `orders.hook` or `hook`. */
  readonly webhook?: string | undefined
}

export type CallSummary = {
  readonly id: string
  readonly webhook: string | null
  readonly method: string
  readonly url: string
  readonly state: CallState
  readonly attempts: number
  readonly createdAt: string
  readonly nextAt: string | null
  readonly status: number | null
  readonly error: string | null
}

/** Parameters $1 and $2: states and webhook, or null. */
const matches = `($1::text[] is null or state = any ($1)) and ($2::text is null or '.' || webhook like '%.' || $2)`

const valuesOf = ({ states, webhook }: CallFilter): unknown[] => [
  states ?? null,
  // Wildcards of `like` are part of the name.
  webhook?.replaceAll(/[\\%_]/g, (sign) => `\\${sign}`) ?? null,
]

/** The newest calls that match, the newest first. Their URLs are without values that may be secret. */
export async function listCalls(
  query: RunClientQuery,
  filter: CallFilter,
  limit: number,
): Promise<readonly CallSummary[]> {
  const { rows } = await query(
    `select id::text, webhook, method, url, state, attempts, to_json(created_at) #>> '{}' as "createdAt",
       case when state = 'waiting' then to_json(next_at) #>> '{}' end as "nextAt", last_status as status, last_error as error
     from rowhouse.calls where ${matches} order by id desc limit $3`,
    [...valuesOf(filter), limit],
  )
  return (rows as unknown as readonly CallSummary[]).map((call) => ({ ...call, url: urlWithoutSecrets(call.url) }))
}

/**
 * All that is known of a call. Values of headers and of parameters of the URL that may be secret are left out.
 *
 * @throws WebhookError for an unknown id
 */
export async function showCall(query: RunClientQuery, given: string): Promise<Readonly<Record<string, unknown>>> {
  const id = readId(given)
  const { rows } = await query('select to_jsonb(call) as call from rowhouse.calls as call where id = $1', [id])
  const found = rows[0]?.call
  if (typeof found !== 'object' || found === null) throw new WebhookError(`There is no call ${given}.`)
  const call = found as Readonly<Record<string, unknown>>
  return {
    ...call,
    url: urlWithoutSecrets(String(call.url)),
    headers: shownHeaders(requestHeaders(call.headers)),
    response_headers: call.response_headers === null ? null : shownHeaders(responseHeaders(call.response_headers)),
  }
}

/**
 * Sends calls again that were put aside.
 *
 * @returns how many
 * @throws WebhookError for an id of another call; then none is sent
 */
export async function sendAgain(query: RunClientQuery, ids: readonly string[]): Promise<number> {
  const wanted = [...new Set(ids.map(readId))]
  const { rows } = await query("select id::text from rowhouse.calls where id = any ($1::uuid[]) and state = 'dead'", [
    wanted,
  ])
  const dead = new Set(rows.map(({ id }) => String(id)))
  const others = wanted.filter((id) => !dead.has(id))
  if (others.length > 0) {
    throw new WebhookError(
      `Not put aside, so not sent again: ${others.join(', ')}. rowhouse calls --dead lists those that are.`,
    )
  }
  return resend(query, 'select id from rowhouse.calls where id = any ($1::uuid[])', [wanted])
}

/** Sends all calls again that were put aside and match. Returns how many. */
export const sendAllAgain = (query: RunClientQuery, filter: Pick<CallFilter, 'webhook'>): Promise<number> =>
  resend(
    query,
    `select id from rowhouse.calls where ${matches} order by number`,
    valuesOf({ ...filter, states: ['dead'] }),
  )

async function resend(query: RunClientQuery, idsSql: string, values: unknown[]): Promise<number> {
  const { rows } = await query(
    `select count(*) filter (where rowhouse.resend_call(id))::integer as count from (${idsSql}) as call`,
    values,
  )
  return Number(rows[0]?.count)
}

/** Ids as receivers see them have a prefix. */
function readId(given: string): string {
  const id = given.replace(/^msg_/, '').toLowerCase()
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return id
  throw new WebhookError(`${JSON.stringify(given)} is not the id of a call. rowhouse calls lists them.`)
}
