// Runs statements of an explanation as different roles, each time undoing everything they did.
import type { RestTransaction, PipelineStatement } from '../../rest/database.ts'
import type { RawRow } from '../../rest/row-transfer.ts'
import type { ScratchTransaction } from '../../postgres/scratch-transaction.ts'
import { render, type Fragment } from '../../rest/sql/fragment.ts'

export type Row = Record<string, unknown>

type Request = Pick<RestTransaction, 'settings' | 'before' | 'caller'>

/** Statements within one transaction that is rolled back at the end. */
export class Stage {
  readonly #transaction: ScratchTransaction
  readonly #request: Request

  constructor(transaction: ScratchTransaction, request: Request) {
    this.#transaction = transaction
    this.#request = request
  }

  /** As the role that connects, with an empty search path, so that PostgreSQL qualifies all names. */
  asLogin<T>(use: () => Promise<T>): Promise<T> {
    return this.undone(async () => {
      await this.#transaction.query("select set_config('search_path', '', true), set_config('jit', 'off', true)", [])
      return use()
    })
  }

  /**
   * With the settings of the request: role, claims, time limits. The function that runs before each request may change
   * them, or reject the caller.
   */
  asCaller<T>(use: () => Promise<T>): Promise<T> {
    return this.undone(async () => {
      const { settings, before } = this.#request
      await this.#transaction.run(settings)
      for (const statement of before) await this.#transaction.run(statement)
      return use()
    })
  }

  /** With the settings of the request, but as a role that bypasses row-level security. */
  asBypass<T>(role: string, use: () => Promise<T>): Promise<T> {
    return this.asCaller(async () => {
      await this.#transaction.query("select set_config('role', $1, true)", [role])
      return use()
    })
  }

  /** Undoes what `use` did, whether it fails or not. */
  async undone<T>(use: () => Promise<T>): Promise<T> {
    // Nothing more is explained to a caller who has disconnected.
    if (this.#request.caller.isGone) throw new CallerGone('the caller has disconnected')
    await this.#transaction.query('savepoint rowhouse_explain', [])
    try {
      return await use()
    } finally {
      await this.#transaction.query('rollback to savepoint rowhouse_explain', [])
      await this.#transaction.query('release savepoint rowhouse_explain', [])
    }
  }

  /** The result of `use`; undefined if a statement of it fails. */
  async attempt<T>(use: () => Promise<T>): Promise<T | undefined> {
    try {
      return await use()
    } catch (error) {
      if (error instanceof CallerGone) throw error
      return undefined
    }
  }

  run(statement: PipelineStatement): Promise<readonly RawRow[]> {
    return this.#transaction.run(statement)
  }

  /** The first column of each row, as text. */
  async texts(fragment: Fragment): Promise<string[]> {
    const rows = await this.#transaction.run(render(fragment))
    return rows.map(([field]) => field?.toString() ?? '')
  }

  query(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.#transaction.query(text, values)
  }
}

class CallerGone extends Error {
  override readonly name = 'CallerGone'
}
