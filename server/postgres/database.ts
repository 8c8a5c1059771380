// The program's database: runs the transactions of the REST API and of the services on one connection pool.
import type { EventEmitter } from 'node:events'
import type pg from 'pg'
import type {
  BatchTransaction,
  EngineDatabase,
  RestTransaction,
  RunSteps,
  SettingsStatement,
  StagedRows,
  TransactionOptions,
  TransactionResult,
} from '../rest/database.ts'
import type { Access } from './admission.ts'
import { runBatch } from './batch-transaction.ts'
import type { PoolConfig } from './connection/pool-config.ts'
import { requireSupportedVersion } from './connection/server-version.ts'
import { isUnreachable, leavesConnection, sqlState } from './database-error.ts'
import { identitySettings, isSessionOwner, SessionNotApplied, type Actor } from './identity-settings.ts'
import { jsonRows, textRows, type JsonStatement, type Parameter, type TextRow } from './json-statement.ts'
import { runImport } from './import-transaction.ts'
import { withConnection, withReservedConnection } from './lending.ts'
import { Listener, type ListenerEvent } from './listener.ts'
import type { ConnectionPool } from './pool.ts'
import { observed } from './observed-query.ts'
import type { LentClient, PipelineClient } from './protocol/pipeline-client.ts'
import { runTransaction } from './request-transaction.ts'
import type { SharingStatistics } from './sharing/shared-connections.ts'
import { runScratch, type ScratchTransaction } from './scratch-transaction.ts'
import type { RunQuery } from './run-query.ts'

/** Current numbers of connections. */
export type DatabaseStatistics = {
  readonly total: number
  readonly idle: number
  /** Requests that wait for a connection. */
  readonly waiting: number
  /** Whether a write would get a connection, or start opening one, at once. */
  readonly admitsWrites: boolean
  readonly sharing: SharingStatistics
  /** Bytes of completely arrived results that do not fit into the space for slow readers. */
  readonly unplacedBytes: number
}

const preparedAndShared: TransactionOptions = { prepare: true, sharing: 'all' }

export type DatabaseOptions = {
  /** How the services' statements use connections, read at each of them. By default prepared and shared. */
  readonly usage?: () => TransactionOptions
  /** What `listen` connects to: the primary, because a standby sends no notifications. Required for `listen`. */
  readonly primary?: PoolConfig
}

export class Database implements EngineDatabase {
  readonly #pool: ConnectionPool
  readonly #usage: () => TransactionOptions
  readonly #primary: PoolConfig | undefined
  #closing: Promise<void> | undefined
  #lastRequest = -Infinity

  /** @param pool the connections; `close` closes them */
  constructor(pool: ConnectionPool, { usage = () => preparedAndShared, primary }: DatabaseOptions = {}) {
    this.#pool = pool
    this.#usage = usage
    this.#primary = primary
  }

  run(transaction: RestTransaction, options: TransactionOptions): Promise<TransactionResult> {
    this.#lastRequest = performance.now()
    return runTransaction(this.#pool, transaction, options)
  }

  batch<T>(transaction: BatchTransaction, use: (run: RunSteps) => Promise<T>, options: TransactionOptions): Promise<T> {
    this.#lastRequest = performance.now()
    return runBatch(this.#pool, transaction, use, options)
  }

  importRows(transaction: RestTransaction, rows: StagedRows): Promise<TransactionResult> {
    this.#lastRequest = performance.now()
    return runImport(this.#pool, transaction, rows, this.#usage())
  }

  /** Milliseconds since the REST API began its last transaction. */
  sinceRequest(): number {
    return performance.now() - this.#lastRequest
  }

  /**
   * Runs one statement in its own transaction, in one round trip. Without an actor it runs as the login role of the
   * program, and gets a connection however busy the pool is: see `withReservedConnection`.
   *
   * @returns the parsed first column of every row
   * @throws StatementError of the server; ConnectionError when there is no connection; SessionNotApplied
   */
  async ask(statement: JsonStatement, actor: Actor | undefined, values: readonly Parameter[]): Promise<unknown[]> {
    return jsonRows(await this.#runStatement(statement, actor, values))
  }

  /** The same with all columns of every row as text, for JSON that is sent as it is. */
  async askRows(statement: JsonStatement, actor: Actor | undefined, values: readonly Parameter[]): Promise<TextRow[]> {
    return textRows(await this.#runStatement(statement, actor, values))
  }

  /**
   * Runs one statement in its own transaction with settings of the service: role, claims and others.
   *
   * @param more.rollback whether the transaction is rolled back at the end
   * @returns all columns of every row as text
   * @throws StatementError of the server; ConnectionError when there is no connection
   */
  async runWith(
    statement: JsonStatement,
    settings: SettingsStatement,
    values: readonly Parameter[],
    { rollback = false }: { readonly rollback?: boolean } = {},
  ): Promise<TextRow[]> {
    const transaction = statement.transactionWith(settings, values, rollback)
    return textRows(await runTransaction(this.#pool, transaction, this.#usage(), { source: 'pool', streams: false }))
  }

  /**
   * Runs one statement without effect in one transaction once after each of the settings, in one round trip.
   *
   * @returns all columns of every row as text, for each of the settings
   * @throws as `runWith`, if the statement fails for one of them
   */
  async runForEach(
    statement: JsonStatement,
    [first, ...others]: readonly SettingsStatement[],
    values: readonly Parameter[],
  ): Promise<TextRow[][]> {
    if (!first) return []
    const transaction = statement.transactionForEach([first, ...others], values)
    const source = { source: 'pool', streams: false } as const
    const { rows } = await runTransaction(this.#pool, transaction, this.#usage(), source)
    // The results of commands and settings are between those of the statement.
    return rows.filter((_, index) => index % 3 === 0).map((one) => textRows({ rows: [one] }))
  }

  /**
   * Runs `use` in a transaction that is rolled back, on a connection of the pool which is reset afterwards. What runs is
   * cancelled when the caller disconnects.
   *
   * @throws ConnectionError when there is no connection, or the caller is gone; the error of `use`
   */
  scratch<T>(
    { caller, isolation }: Pick<RestTransaction, 'caller' | 'isolation'>,
    use: (transaction: ScratchTransaction) => Promise<T>,
  ): Promise<T> {
    const run = (client: LentClient): Promise<T> => runScratch(client, isolation, use)
    return withConnection(this.#pool, run, () => true, { access: 'write', caller })
  }

  #runStatement(
    statement: JsonStatement,
    actor: Actor | undefined,
    values: readonly Parameter[],
  ): Promise<TransactionResult> {
    return runTransaction(this.#pool, statement.transaction(actor, values), this.#usage(), {
      source: actor ? 'pool' : 'reserve',
      streams: false,
      ...(isSessionOwner(actor) ? { settingsError: notApplied } : {}),
    })
  }

  /**
   * Runs `use` in a transaction that acts for `actor`. An error of `use` rolls it back.
   *
   * @param access `read` for a read-only transaction
   * @throws ConnectionError when there is no connection; the error of a statement or of `use`; SessionNotApplied
   */
  async transaction<T>(actor: Actor, use: (query: RunQuery) => Promise<T>, access: Access = 'write'): Promise<T> {
    let broken = false
    return withConnection(
      this.#pool,
      async (client) => {
        try {
          await client.query('begin')
          await applySettings(client, actor, access)
          const result = await use(queryOn(client))
          // One round trip. The second command is a transaction of its own: what functions have set for the session ends, too.
          const ended = (await client.query('commit; reset all')) as unknown as readonly pg.QueryResult[]
          const [{ command } = { command: '' }] = ended
          // The response of the server when a statement failed, and `use` did not rethrow the error.
          if (command === 'ROLLBACK') throw new Error('the transaction was rolled back: one of its statements failed')
          return result
        } catch (error) {
          // A connection that cannot roll back must not be lent again: it would still act for this actor.
          await client.query('rollback').catch(() => (broken = true))
          throw error
        }
      },
      () => broken,
      { access, observer: this.#pool.observe() },
    )
  }

  /**
   * Runs one statement as the login role of the program, in its own transaction. It must be brief: it gets a connection
   * however busy the pool is, see `withReservedConnection`.
   *
   * @throws ConnectionError when there is no connection; the error of the statement
   */
  readonly query: RunQuery = (text, values) =>
    withReservedConnection(
      this.#pool,
      async (client) => {
        const run = queryOn(client)
        try {
          return await run(text, values)
        } catch (error) {
          // insufficient_privilege: a function may have set the role for the whole session of the connection. The
          // refused statement has had no effect.
          if (sqlState(error) !== '42501') throw error
          await client.query('reset role')
          return await run(text, values)
        }
      },
      (error) => !leavesConnection(error),
      this.#pool.observe(),
    )

  /**
   * Runs `use` in a read-only transaction as the login role of the program. All statements see the same snapshot.
   *
   * @param isLong whether it takes so long that requests would miss a connection of the pool
   * @throws ConnectionError when there is no connection; UnsupportedPostgres when the server is too old; the error of a
   *   statement or of `use`
   */
  read<T>(use: (query: RunQuery) => Promise<T>, isLong = false): Promise<T> {
    return withReservedConnection(
      this.#pool,
      async (client) => {
        await client.query('begin isolation level repeatable read read only')
        try {
          const query = queryOn(client)
          await requireSupportedVersion(query)
          return await use(query)
        } finally {
          // A failed rollback means that the connection is lost, which does not change the outcome.
          await client.query('rollback').catch(() => undefined)
        }
      },
      () => true,
      this.#pool.observe(),
      isLong,
    )
  }

  /**
   * Listens on channels, on a connection outside the pool. Resolves after the first attempt to connect.
   *
   * @param others further channels, see `Listener`
   * @returns a function that stops listening
   * @throws TypeError without the option `primary`
   */
  async listen(
    channel: string,
    onEvent: (event: ListenerEvent) => void,
    others: readonly string[] = [],
  ): Promise<() => Promise<void>> {
    if (!this.#primary) throw new TypeError('Database: listen needs the option primary')
    const listener = new Listener(this.#primary, channel, onEvent, others)
    await listener.start()
    return () => listener.stop()
  }

  /**
   * The same for one channel.
   *
   * @param applicationName of the connection, by which others find it in `pg_stat_activity`
   */
  async listenAs(
    applicationName: string,
    channel: string,
    onEvent: (event: ListenerEvent) => void,
  ): Promise<() => Promise<void>> {
    if (!this.#primary) throw new TypeError('Database: listenAs needs the option primary')
    const listener = new Listener({ ...this.#primary, application_name: applicationName }, channel, onEvent)
    await listener.start()
    return () => listener.stop()
  }

  get statistics(): DatabaseStatistics {
    const { totalCount: total, idleCount: idle, waitingCount, shared } = this.#pool
    const { unplacedBytes } = this.#pool.streams
    return {
      total,
      idle,
      waiting: waitingCount + shared.waitingTogether('read') + shared.waitingTogether('write'),
      admitsWrites: this.#pool.canLend('write'),
      sharing: shared.statistics,
      unplacedBytes,
    }
  }

  /** Whether a transaction would be refused, because those that wait for a connection already take too long. */
  isOverloaded(access: Access): boolean {
    return this.#pool.isOverloaded(access)
  }

  /** Emits `connect`, `acquire`, `release` and `remove` as `pg.Pool` does. */
  get events(): EventEmitter {
    return this.#pool
  }

  /** See `EngineDatabase` and `flushPool`. */
  renewConnections(time: number, signal?: AbortSignal): Promise<void> {
    return this.#pool.flush(time, signal)
  }

  /** Closes all connections, once those in use have been returned. Further calls wait for the same. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    await this.#pool.shared.end()
    await this.#pool.end()
  }
}

const notApplied = (error: unknown): SessionNotApplied => new SessionNotApplied(error)

async function applySettings(client: PipelineClient, actor: Actor, access: Access): Promise<void> {
  const { text, values } = identitySettings(actor, access)
  try {
    await queryOn(client)(text, [...values])
  } catch (error) {
    throw isSessionOwner(actor) && !isUnreachable(error) ? notApplied(error) : error
  }
}

const queryOn =
  (client: PipelineClient): RunQuery =>
  async (text, values) =>
    (await observed(client.observer, text, () => client.query<Record<string, unknown>>(text, values))).rows
