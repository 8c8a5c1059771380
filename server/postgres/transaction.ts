// A transaction of the service's own endpoints, under the same roles, claims and policies as the REST API.
import { claimsText, type Identity } from '../identity/identity.ts'
import type { Access } from './admission.ts'
import { leavesConnection, sqlState } from './database-error.ts'
import { withConnection, withReservedConnection } from './lending.ts'
import type { ConnectionPool } from './pool.ts'

/** Runs one statement and gives its rows. */
export type Query = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>

/**
 * Runs `run` in a transaction that acts for `identity`; its error undoes everything. `access` tells whether it only reads;
 * it is `write` when left out.
 */
export type InTransaction = <T>(identity: Identity, run: (query: Query) => Promise<T>, access?: Access) => Promise<T>

/**
 * Statements one by one, each its own transaction, as the role that the pool connects as. They are brief and must work
 * however busy the pool is: see `withReservedConnection`.
 */
export const queryOn =
  (pool: ConnectionPool): Query =>
  (text, values) =>
    withReservedConnection(
      pool,
      async (client) => {
        const run = async (): Promise<Record<string, unknown>[]> =>
          (await client.query<Record<string, unknown>>(text, values)).rows
        try {
          return await run()
        } catch (error) {
          // insufficient_privilege: a function may have set the role for the whole session of the connection. What was
          // refused has had no effect.
          if (sqlState(error) !== '42501') throw error
          await client.query('reset role')
          return await run()
        }
      },
      (error) => !leavesConnection(error),
    )

/**
 * Transactions on a pool.
 *
 * @throws ConnectionError when there is no connection (see `withConnection`); the error of the statement or of `run`
 */
export const transactionOn =
  (pool: ConnectionPool): InTransaction =>
  (identity, run, access = 'write') => {
    let broken = false
    return withConnection(
      pool,
      async (client) => {
        try {
          await client.query('begin')
          await client.query(settings, [identity.role, claimsText(identity)])
          const result = await run(
            async (text, values) => (await client.query<Record<string, unknown>>(text, values)).rows,
          )
          const { command } = await client.query('commit')
          // The server answers so when a statement failed and `run` did not pass the error on.
          if (command === 'ROLLBACK') throw new Error('the transaction was rolled back: one of its statements failed')
          return result
        } catch (error) {
          // A connection that cannot roll back must not be lent again: it would go on as this identity.
          await client.query('rollback').catch(() => (broken = true))
          throw error
        }
      },
      () => broken,
      { access },
    )
  }

const settings = "select set_config('role', $1, true), set_config('request.jwt.claims', $2, true)"
