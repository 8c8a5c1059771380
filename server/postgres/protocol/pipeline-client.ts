// A client of `pg` on whose connection statements are prepared.
import pg from 'pg'
import { StatementCache } from './statement-cache.ts'

export class PipelineClient extends pg.Client {
  /** What is known of the statements that are prepared on the connection. */
  readonly statements: StatementCache

  /** @param mostStatements maximum number of prepared statements */
  constructor(config?: string | pg.ClientConfig, mostStatements?: number) {
    super(config)
    this.statements = new StatementCache(mostStatements)
  }
}

/** One that a pool has lent. */
export type LentClient = PipelineClient & pg.PoolClient

/** @throws TypeError for a client of another class */
export function lentClient(client: pg.PoolClient): LentClient {
  if (!(client instanceof PipelineClient)) throw new TypeError('the clients of a pool have to be PipelineClients')
  return client
}
