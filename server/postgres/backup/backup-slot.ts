// The replication slot that keeps the write-ahead log on the server until it is in the archive.
// https://www.postgresql.org/docs/current/warm-standby.html#STREAMING-REPLICATION-SLOTS
import { parseLsn } from '../../common/wal-position.ts'
import type { Client } from '../connection/client.ts'

export const slotName = 'rowhouse_backup'

export async function hasSlot(client: Client): Promise<boolean> {
  const { rowCount } = await client.query('select from pg_replication_slots where slot_name = $1', [slotName])
  return rowCount === 1
}

/** Creates the slot if it is missing, or the server has given it up. Returns the oldest position that it keeps. */
export async function ensureSlot(client: Client): Promise<bigint> {
  const { rows } = await client.query<{ lsn: string | null }>(
    `select case when to_jsonb(slot) ->> 'invalidation_reason' is null then restart_lsn::text end as lsn
     from pg_replication_slots as slot where slot_name = $1`,
    [slotName],
  )
  const kept = rows[0]?.lsn === null || rows[0] === undefined ? undefined : parseLsn(rows[0].lsn)
  if (kept !== undefined) return kept
  if (rows.length > 0) await client.query('select pg_drop_replication_slot($1)', [slotName])
  // The second argument reserves the log from now on, not only from the first connection on.
  const { rows: made } = await client.query<{ lsn: string }>(
    'select restart_lsn::text as lsn from pg_create_physical_replication_slot($1, true), pg_replication_slots as slot where slot.slot_name = $1',
    [slotName],
  )
  return parseLsn(made[0]?.lsn ?? '') ?? 0n
}

/** Removes the slot, so that the server no longer keeps the log for an archive. Returns whether there was one. */
export async function dropSlot(client: Client): Promise<boolean> {
  const { rowCount } = await client.query(
    'select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = $1 and not active',
    [slotName],
  )
  return rowCount === 1
}
