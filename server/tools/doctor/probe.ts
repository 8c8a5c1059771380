// Looks at the connections of the program: encryption, poolers, and the clock of the database.
import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { TLSSocket } from 'node:tls'
import { isInTime } from '../../common/timers.ts'
import { connectionSocket, type Client } from '../../postgres/connection/client.ts'
import { isLoopbackHost } from '../../text/loopback-host.ts'
import type { ClockReading } from './clocks.ts'
import type { Pooling } from './pooler.ts'
import type { Encryption } from './tls.ts'

/** The encryption of a connection, as this end sees it: a pooler may encrypt its own otherwise. */
export function encryptionOf(client: Client): Encryption {
  const socket = connectionSocket(client)
  const address = socket.remoteAddress?.replace(/^::ffff:/, '')
  const isLocal = address === undefined || (isIP(address) > 0 && isLoopbackHost(address))
  if (!(socket instanceof TLSSocket)) return { isLocal, isEncrypted: false, isVerified: false, validTo: undefined }
  const { valid_to: end } = socket.getPeerCertificate()
  return {
    isLocal,
    isEncrypted: true,
    isVerified: socket.authorized,
    // Without a certificate, the object is empty.
    validTo: (end as string | undefined) === undefined ? undefined : Date.parse(end),
  }
}

const processOf = async (client: Client): Promise<number> =>
  (await client.query<{ pid: number }>('select pg_catalog.pg_backend_pid() as pid')).rows[0]?.pid ?? 0

/** SQLSTATE invalid_sql_statement_name. */
const noStatement = '26000'

/** Milliseconds that a statement may wait for a server process: a pool may have no other one. */
const patience = 2000

/**
 * Whether there is a pooler in front of the database. A server process that two open connections use in turn is certain;
 * the server process may also differ from the one that the pooler named.
 *
 * @param first a connection without an open transaction
 * @param second another one, to the same address
 */
export async function examinePooling(first: Client, second: Client): Promise<Pooling> {
  const announced = (first as Client & { readonly processID?: number | null }).processID
  const own = await processOf(first)
  const other = await processOf(second)
  const isPooled = announced !== own || own === other
  const sharesSessions = own === other || (isPooled && (await isMoved(first, second, own)))
  return { isPooled, sharesSessions, keepsPrepared: sharesSessions ? await keepsPrepared(first, second) : undefined }
}

/** Whether the first connection gets another server process while the second one uses its own. */
async function isMoved(first: Client, second: Client, own: number): Promise<boolean> {
  await second.query('begin')
  const moved = first.query('select').then(() => processOf(first))
  try {
    return (await isInTime(patience, moved)) && (await moved) !== own
  } finally {
    await second.query('rollback')
    // Without a server process of its own, it has waited for this one.
    await moved.catch(() => undefined)
  }
}

/** Attempts to get the server process where a statement was prepared. */
const attempts = 20

/** Undefined when that cannot be tried, because the pool has one server process, or another client has the one that matters. */
async function keepsPrepared(first: Client, second: Client): Promise<boolean | undefined> {
  const prepared = { name: `rowhouse_doctor_${randomBytes(4).toString('hex')}`, text: 'select 1' }
  await first.query('begin')
  const pid = await processOf(first)
  await first.query(prepared)
  await first.query('commit')
  for (let attempt = 0; attempt < attempts; attempt++) {
    await second.query('begin')
    if ((await processOf(second)) === pid) return usePrepared(first, second, prepared)
    await second.query('rollback')
  }
  return undefined
}

/**
 * Runs a prepared statement in another server process.
 *
 * @param second has an open transaction in the server process where it was prepared
 */
async function usePrepared(
  first: Client,
  second: Client,
  prepared: { readonly name: string; readonly text: string },
): Promise<boolean | undefined> {
  const used = first.query(prepared).then(
    () => true,
    (error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === noStatement) return false
      throw error
    },
  )
  try {
    return (await isInTime(patience, used)) ? await used : undefined
  } finally {
    // A pooler that prepares statements itself has it under another name.
    await second.query(`deallocate "${prepared.name}"`).catch(() => undefined)
    await second.query('rollback')
    await used.catch(() => undefined)
  }
}

/** Reads the clock of the database, a few times, and keeps the reading that took the least time. */
export async function readClock(client: Client): Promise<ClockReading> {
  let best = await readOnce(client)
  for (let attempt = 0; attempt < 2; attempt++) {
    const reading = await readOnce(client)
    if (reading.after - reading.before < best.after - best.before) best = reading
  }
  return best
}

async function readOnce(client: Client): Promise<ClockReading> {
  const before = Date.now()
  const { rows } = await client.query<{ time: number }>(
    'select extract(epoch from pg_catalog.clock_timestamp())::float8 * 1000 as time',
  )
  return { name: 'the database', time: rows[0]?.time ?? NaN, before, after: Date.now(), unit: 1 }
}
