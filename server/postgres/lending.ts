// Lends connections of a pool to tasks.
import type { Caller, StatementObserver } from '../rest/database.ts'
import type { Access } from './admission.ts'
import { Cancellation } from './connection/cancellation.ts'
import { connectionErrors } from './connection-error.ts'
import { isOutOfSlots } from './database-error.ts'
import type { LentClient } from './protocol/pipeline-client.ts'

export type Lending = {
  /** By default `read`. */
  readonly access?: Access
  /** When the caller disconnects, waiting for a connection ends, and what runs on it is cancelled. */
  readonly caller?: Caller | undefined
  /** When the request began to wait, as `performance.now()`; by default now. */
  readonly since?: number | undefined
  /** Number of requests that wait for the connection together, asked when it is lent; by default one. */
  readonly together?: () => number
  /** Observes what runs on the connection; by default the observer of the caller. */
  readonly observer?: StatementObserver | undefined
}

/** A pool that lends connections: see `ConnectionPool`. */
export type LendingPool = {
  /** Connections for what must work however busy the pool is. */
  readonly reserve: LendingPool | undefined
  canLend(access: Access): boolean
  take(lending: Lending): Promise<LentClient>
  giveBack(client: LentClient, access: Access, isBroken: boolean): void
}

/**
 * Lends a connection to `use`. It is closed instead of returned when `use` leaves a transaction open, or throws an
 * error for which `broken` returns true. What runs on the connection is cancelled when the caller disconnects.
 *
 * @throws ConnectionError as `ConnectionPool.take`, and when the caller was gone; the error of `use`
 */
export async function withConnection<T>(
  pool: LendingPool,
  use: (client: LentClient) => Promise<T>,
  broken: (error: unknown) => boolean,
  lending: Lending = {},
): Promise<T> {
  const { access = 'read', caller, observer = caller?.observer } = lending
  const begun = observer && performance.now()
  const client = await pool.take(lending)
  if (begun !== undefined) observer?.connectionTaken(lending.since ?? begun, performance.now())
  client.observer = observer
  let isBroken = false
  let cancellation: Cancellation | undefined
  try {
    // The caller may have disconnected while the connection was opened.
    if (caller?.isGone === true) throw connectionErrors.callerGone()
    cancellation = caller && new Cancellation(client, caller)
    return await use(client)
  } catch (error) {
    isBroken = broken(error)
    throw cancellation?.hasCancelled === true ? connectionErrors.callerGone() : error
  } finally {
    const settled = cancellation?.end()
    if (settled && (!isBroken || cancellation?.hasClosed === true)) isBroken = !(await settled)
    client.observer = undefined
    pool.giveBack(client, access, isBroken)
  }
}

/**
 * Lends a connection of the reserve when the pool has no free one. For what must work however busy the pool is:
 * sign-in, readiness checks, loading the schema.
 *
 * @param isLong whether requests would miss a connection of the pool: one of the reserve is preferred
 * @throws ConnectionError as `withConnection`
 */
export async function withReservedConnection<T>(
  pool: LendingPool,
  use: (client: LentClient) => Promise<T>,
  broken: (error: unknown) => boolean,
  observer?: StatementObserver,
  isLong = false,
): Promise<T> {
  const { reserve } = pool
  const prefersReserve = isLong && reserve?.canLend('read') === true
  if (!reserve || (pool.canLend('read') && !prefersReserve)) return withConnection(pool, use, broken, { observer })
  let hasBegun = false
  const begin = (client: LentClient): Promise<T> => {
    hasBegun = true
    return use(client)
  }
  try {
    return await withConnection(reserve, begin, broken, { observer })
  } catch (error) {
    // The pool may already use all connections that the server allows.
    if (hasBegun || !isOutOfSlots(error)) throw error
    return withConnection(pool, use, broken, { observer })
  }
}
