// How a process without clients hears that clients of another one listen to changes of rows: by a notification on the connection that the server
// listens on anyway, so that it costs nothing until then.
import type { Database } from '../../postgres/database.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'

/** Of notices that are only a reason to ask the other processes. */
export const peersChannel = 'rowhouse_realtime_subscribers'
/** The connections on which processes tell each other the rest have it, with the name of the process. */
export const peerPrefix = 'rowhouse realtime '

const notice = new JsonStatement(`select pg_notify('${peersChannel}', '')`, { access: 'write' })

/** Tells all processes that this one has got its first subscriber. */
export async function noticePeers(database: Pick<Database, 'askRows'>): Promise<void> {
  await database.askRows(notice, undefined, [])
}

const peers = new JsonStatement(
  `select distinct application_name from pg_stat_activity
    where datname = current_database() and starts_with(application_name, '${peerPrefix}')`,
  { access: 'read', hasNoEffect: true },
)

/** Names of the processes that have clients, or listen to those that have. */
export async function peerNames(database: Pick<Database, 'askRows'>): Promise<ReadonlySet<string>> {
  const rows = await database.askRows(peers, undefined, [])
  return new Set(rows.map(([name]) => (name ?? '').slice(peerPrefix.length)))
}
