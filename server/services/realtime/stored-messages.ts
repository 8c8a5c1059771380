// Reads stored messages of private topics for clients that join.
import { lastingIdentity, type Identity } from '../../identity/identity.ts'
import { realtimeAdminRole } from '../../identity/internal-role.ts'
import type { Database } from '../../postgres/database.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { Broadcast } from './frames.ts'
import type { Replay } from './join.ts'

/** Not later than a minute from now: the clocks of the database and of what inserts may differ, and later partitions are empty. */
const newest = new JsonStatement(
  `select id, event, payload, encode(binary_payload, 'hex')
     from realtime.messages
    where topic = $1 and private and extension = 'broadcast'
      and inserted_at >= (to_timestamp($2::float8 / 1000) at time zone 'utc')
      and inserted_at < (now() at time zone 'utc') + interval '1 minute'
    order by inserted_at desc
    limit $3`,
  { access: 'read', hasNoEffect: true },
)

/** The role that owns the messages, so that row-level security does not apply to it. */
const owner: Identity = lastingIdentity(realtimeAdminRole, {})

/** The newest messages of a topic, in their order. Whether the client may have them has been decided. */
export async function storedMessages(
  database: Pick<Database, 'askRows'>,
  topic: string,
  { since, limit }: Replay,
): Promise<readonly Broadcast[]> {
  const rows = await database.askRows(newest, owner, [topic, since, limit])
  return rows.reverse().map(([id, event, payload, binary]) => {
    const isJson = binary === null || binary === undefined
    return new Broadcast({
      topic,
      id: id ?? '',
      isReplayed: true,
      event: event ?? '',
      payload: isJson ? Buffer.from(payload ?? 'null') : Buffer.from(binary, 'hex'),
      isJson,
    })
  })
}

const keepPartitions = new JsonStatement('select rowhouse.keep_realtime_partitions()', { access: 'write' })

/** Creates the partitions of the next days, and drops those of messages that are no longer kept. */
export async function keepMessagePartitions(database: Pick<Database, 'askRows'>): Promise<void> {
  await database.askRows(keepPartitions, undefined, [])
}
