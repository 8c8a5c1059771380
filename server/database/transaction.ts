// A transaction of the service's own endpoints, under the same roles, claims and policies as the REST API.
import type pg from 'pg'
import { claimsText, type Identity } from '../identity/identity.ts'
import { leavesConnection } from './database-error.ts'
import { withConnection } from './pool.ts'

/** Runs one statement and gives its rows. */
export type Query = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>

/** Runs `run` in a transaction that acts for `identity`; its error undoes everything. */
export type InTransaction = <T>(identity: Identity, run: (query: Query) => Promise<T>) => Promise<T>

/** Statements one by one, each its own transaction, as the role that the pool connects as. */
export const queryOn =
  (pool: pg.Pool): Query =>
  (text, values) =>
    withConnection(
      pool,
      async (client) => (await client.query<Record<string, unknown>>(text, values)).rows,
      (error) => !leavesConnection(error),
    )

/**
 * Transactions on a pool.
 *
 * @throws ApiError when there is no connection (see `withConnection`); the error of the statement or of `run`
 */
export const transactionOn =
  (pool: pg.Pool): InTransaction =>
  (identity, run) => {
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
    )
  }

const settings = "select set_config('role', $1, true), set_config('request.jwt.claims', $2, true)"
