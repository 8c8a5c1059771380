// A client of `pg` that keeps track of its prepared statements.
import pg from 'pg'
import type { StatementObserver } from '../../rest/database.ts'
import { StatementCache, type StatementLimits } from './statement-cache.ts'

export class PipelineClient extends pg.Client {
  /** The prepared statements of the connection. */
  readonly statements: StatementCache
  /** Observes the statements of the task that the connection is lent to. */
  observer: StatementObserver | undefined

  /** @param limits of the prepared statements */
  constructor(config?: string | pg.ClientConfig, limits?: StatementLimits) {
    super(config)
    this.statements = new StatementCache(limits)
  }
}

/** A client that a pool has lent. */
export type LentClient = PipelineClient & pg.PoolClient

/** @throws TypeError for a client of another class */
export function lentClient(client: pg.PoolClient): LentClient {
  if (!(client instanceof PipelineClient)) throw new TypeError('the clients of the pool must be PipelineClients')
  return client
}
