// Sessions that run statements of others: they are ended when they take too long or send too much. A request to cancel would not
// do: functions can catch it, and statements can change their time limit.
import { connectionSocket, withClient } from './client.ts'
import type { LibpqClient, PoolConfig } from './pool-config.ts'

export type SessionLimits = {
  /** Milliseconds. */
  readonly time: number
  /** Bytes that may be received, with rows that are not kept. */
  readonly received: number
}

/** Milliseconds between two looks at a session. */
const interval = 50
/** Milliseconds to wait for the end of a session. */
const terminationLimit = 10_000

/**
 * Watches a session.
 *
 * @param onExceeded may be called several times
 * @returns stops watching
 */
export function watchSession(
  client: LibpqClient,
  { time, received }: SessionLimits,
  onExceeded: (limit: keyof SessionLimits) => void,
): () => void {
  const socket = connectionSocket(client)
  const end = performance.now() + time
  const timer = setInterval(() => {
    if (performance.now() > end) onExceeded('time')
    else if (socket.bytesRead > received) onExceeded('received')
  }, interval)
  return () => clearInterval(timer)
}

/**
 * Closes a connection at once, and ends its session, whatever it does. Resolves when it has ended, or cannot be ended.
 *
 * @param config for a further connection, of the same role
 * @param pid process of the session
 */
export async function terminateSession(client: LibpqClient, config: PoolConfig, pid: number): Promise<void> {
  client.abandon()
  await withClient(config, (other) =>
    other.query('select pg_catalog.pg_terminate_backend($1, $2)', [pid, terminationLimit]),
  ).catch(() => undefined)
}
