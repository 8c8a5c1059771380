// The statements of the sender. The functions are in `sql/migrations/000021_calls.sql`.
import type { Database } from '../../postgres/database.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { isStorable } from '../../text/storable-text.ts'
import type { ClaimedCall, Outcome } from './claimed-call.ts'

type Asking = Pick<Database, 'ask'>

const claim = new JsonStatement(
  `select json_build_object(
  'id', id, 'attempt', attempt, 'webhook', webhook, 'method', method, 'url', url, 'headers', headers, 'body', body,
  'timeout', timeout_ms, 'secretName', secret_name, 'secrets', coalesce(secrets, '{}'), 'depth', depth, 'retries', retries,
  'position', position)
from rowhouse.claim_calls($1, $2::integer, $3::bigint, $4::integer, $5::uuid[])`,
  { access: 'write' },
)
const finish = new JsonStatement('select to_json(rowhouse.finish_calls($1, $2::jsonb))', { access: 'write' })
const nextCall = new JsonStatement('select to_json(rowhouse.next_call_in())', { access: 'read', hasNoEffect: true })
const remove = new JsonStatement('select to_json(rowhouse.remove_old_calls($1::integer, $2::integer, $3::integer))', {
  access: 'write',
})
const figures = new JsonStatement('select to_json(figures) from rowhouse.call_figures() as figures', {
  access: 'read',
  hasNoEffect: true,
})

export type ClaimLimits = {
  readonly calls: number
  readonly bytes: number
  readonly callsPerHost: number
}

/**
 * Calls to be sent now, of which this process must report what became of them. None if it does not have the lease.
 *
 * @param inFlight the calls that it has already: others in its name never arrived
 */
export const claimCalls = (
  database: Asking,
  holder: string,
  { calls, bytes, callsPerHost }: ClaimLimits,
  inFlight: readonly string[],
): Promise<ClaimedCall[]> =>
  database.ask(claim, undefined, [holder, calls, bytes, callsPerHost, `{${inFlight.join(',')}}`]) as Promise<
    ClaimedCall[]
  >

/** Records what became of calls. Those that another process has claimed since are left out. */
export async function finishCalls(database: Asking, holder: string, outcomes: readonly Outcome[]): Promise<void> {
  await database.ask(finish, undefined, [holder, JSON.stringify(outcomes, storable)])
}

const unstorable = /[\0\p{Cs}]/gu

/** Texts of others, without what Postgres does not store. */
const storable = (_: string, value: unknown): unknown =>
  typeof value === 'string' && !isStorable(value) ? value.replace(unstorable, '\u{fffd}') : value

/** Milliseconds until a call is due, 0 if one is; undefined if none waits. */
export async function nextCallIn(database: Asking): Promise<number | undefined> {
  const [milliseconds] = await database.ask(nextCall, undefined, [])
  return typeof milliseconds === 'number' ? milliseconds : undefined
}

/** Calls that are removed in one statement. */
const mostRemoved = 1000

/** Removes calls that need not be kept any longer. Both are ages in seconds. */
export async function removeOldCalls(database: Asking, delivered: number, dead: number): Promise<void> {
  let removed: unknown
  do [removed] = await database.ask(remove, undefined, [delivered, dead, mostRemoved])
  while (typeof removed === 'number' && removed >= mostRemoved)
}

/** What the table of calls contains. */
export type StoredCalls = {
  readonly waiting: number
  readonly sending: number
  readonly dead: number
  /** Age of the oldest call that waits, in milliseconds; null if none waits. */
  readonly oldest_waiting_ms: number | null
}

export async function storedCalls(database: Asking): Promise<StoredCalls> {
  const [stored] = await database.ask(figures, undefined, [])
  return stored as StoredCalls
}
