// Outgoing calls for the command line: lists, one with all that is known of it, and sending again.
import { rowsOf, type RunClientQuery } from '../../catalogue/introspection.ts'
import { findCall, listCalls, resendCalls, type CallSelection } from '../../services/console/call-list.ts'
import { shownHeaders } from '../../services/console/hidden-secrets.ts'
import type { CallEntry } from '../../services/console/webhook-protocol.ts'
import { WebhookError } from './webhook-sql.ts'

/** The newest calls that match, the newest first. Their URLs are without values that may be secret. */
export async function newestCalls(
  query: RunClientQuery,
  selection: Pick<CallSelection, 'states' | 'webhook'>,
  limit: number,
): Promise<readonly CallEntry[]> {
  const calls: CallEntry[] = []
  let before: string | undefined
  do {
    const page = await listCalls(rowsOf(query), { ...selection, before, limit: limit - calls.length })
    calls.push(...page.items)
    before = page.next ?? undefined
  } while (before !== undefined && calls.length < limit)
  return calls
}

/** No text in the database is longer. */
const whole = 2 ** 31 - 1

/**
 * All that is known of a call. Values of headers and of parameters of the URL that may be secret are left out.
 *
 * @throws WebhookError for an unknown id
 */
export async function showCall(query: RunClientQuery, given: string): Promise<Readonly<Record<string, unknown>>> {
  const call = await findCall(rowsOf(query), readId(given), whole)
  if (call === undefined) throw new WebhookError(`There is no call ${given}.`)
  const { headers, responseHeaders, body, response, ...fields } = call
  return {
    ...fields,
    headers: shownHeaders(headers),
    responseHeaders: responseHeaders === null ? null : shownHeaders(responseHeaders),
    body: body?.text ?? null,
    response: response?.text ?? null,
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
  const { rows: sent } = await query(
    'select count(*) filter (where rowhouse.resend_call(id))::integer as count from unnest($1::uuid[]) as id',
    [wanted],
  )
  return Number(sent[0]?.count)
}

/** Sends all calls again that were put aside and match. Returns how many. */
export async function sendAllAgain(query: RunClientQuery, webhook: string | undefined): Promise<number> {
  let sent = 0
  let after: string | null = null
  do {
    const report = await resendCalls(rowsOf(query), {
      ...(webhook !== undefined && { webhook }),
      ...(after !== null && { after }),
    })
    sent += report.sent
    after = report.last
  } while (after !== null)
  return sent
}

/** Ids as receivers see them have a prefix. */
function readId(given: string): string {
  const id = given.replace(/^msg_/, '').toLowerCase()
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return id
  throw new WebhookError(`${JSON.stringify(given)} is not the id of a call. rowhouse calls lists them.`)
}
