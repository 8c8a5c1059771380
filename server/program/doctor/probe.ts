// Looks at the connections of the program: encryption, poolers, and the clock of the database.
import { isIP } from 'node:net'
import { TLSSocket } from 'node:tls'
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
    ...{ isLocal, isEncrypted: true, isVerified: socket.authorized },
    // Without a certificate, the object is empty.
    validTo: (end as string | undefined) === undefined ? undefined : Date.parse(end),
  }
}

const processOf = async (client: Client): Promise<number> =>
  (await client.query<{ pid: number }>('select pg_catalog.pg_backend_pid() as pid')).rows[0]?.pid ?? 0

/** SQLSTATE invalid_sql_statement_name. */
const noStatement = '26000'

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
  const isPooled = announced !== own
  if (own !== other)
    return { isPooled, sharesSessions: isPooled && (await isMoved(first, second, own)), keepsPrepared: undefined }
  return { isPooled: true, sharesSessions: true, keepsPrepared: await keepsPrepared(first, second) }
}

/** Whether the first connection gets another server process while the second one uses its own. */
async function isMoved(first: Client, second: Client, own: number): Promise<boolean> {
  await second.query('begin')
  try {
    await first.query('select')
    return (await processOf(first)) !== own
  } finally {
    await second.query('rollback')
  }
}

async function keepsPrepared(first: Client, second: Client): Promise<boolean> {
  const prepared = { name: 'rowhouse_doctor', text: 'select 1' }
  await first.query(prepared)
  // Occupies the server process where it was prepared, so that the first connection gets another one.
  await second.query('begin')
  try {
    await first.query(prepared)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === noStatement) return false
    throw error
  } finally {
    await second.query('rollback')
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
