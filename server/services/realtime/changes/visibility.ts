// Which rows of a table the policies show to a viewer.
import { isUnreachable, sqlState } from '../../../postgres/database-error.ts'
import type { JsonStatement, TextRow } from '../../../postgres/json-statement.ts'
import type { CheckBatch } from '../policies/check-batch.ts'
import { rowsText } from '../policies/row-check.ts'
import type { Viewer } from './audience.ts'
import type { LoggedRow } from './logged-row.ts'
import type { RoleTable } from './published-table.ts'

/** Milliseconds after which a statement is sent again, while the database cannot be reached. */
const delays = [50, 100, 200, 400, 800, 1600, 3200, 3200]

/** Runs a task again while the database cannot be reached, for some seconds. */
export async function persist<T>(task: () => Promise<T>): Promise<T> {
  for (const delay of delays) {
    try {
      return await task()
    } catch (error) {
      if (!isUnreachable(error)) throw error
      await new Promise((resolve) => setTimeout(resolve, delay))
    }
  }
  return task()
}

/** The session of a token has ended. */
export const isOfSession = (error: unknown): boolean => sqlState(error) === 'PGRST'

/** Names and types in the statement do not fit, for whatever rows: class 42 except insufficient_privilege. */
function isOfStatement(error: unknown): boolean {
  const state = sqlState(error)
  return state !== undefined && state.startsWith('42') && state !== '42501'
}

export class Visibility {
  readonly table: RoleTable
  readonly viewer: Viewer
  readonly #batch: CheckBatch
  readonly #onFailure: (error: unknown) => void
  readonly #onCheck: (rows: number) => void

  /** @param onFailure is called for the error of a policy; the rows count as invisible */
  constructor(
    table: RoleTable,
    viewer: Viewer,
    batch: CheckBatch,
    handlers: { readonly onFailure: (error: unknown) => void; readonly onCheck: (rows: number) => void },
  ) {
    this.table = table
    this.viewer = viewer
    this.#batch = batch
    this.#onFailure = handlers.onFailure
    this.#onCheck = handlers.onCheck
  }

  /** Whether the policies can be decided for a row of the log. */
  isDecidable(row: LoggedRow): boolean {
    return !this.table.needsStoredRows && this.table.checkedColumns.every((index) => row.isKnown(index))
  }

  /** Those of the rows that the policies show. */
  async check(rows: readonly LoggedRow[]): Promise<ReadonlySet<LoggedRow>> {
    const { check, access } = this.table
    if (access.select.kind === 'always') return new Set(rows)
    if (!check || rows.length === 0) return new Set()
    try {
      const found = await this.#run(check, rows)
      return new Set(found.map(({ row }) => row))
    } catch (error) {
      if (!isOfStatement(error)) throw error
      this.table.needsStoredRows = true
      return new Set()
    }
  }

  /**
   * Finds rows in the table by their keys, as the viewer sees them now.
   *
   * @param indexes columns whose values are wanted
   * @returns the values of these columns by row
   */
  async lookUp(rows: readonly LoggedRow[], indexes: readonly number[]): Promise<ReadonlyMap<LoggedRow, TextRow>> {
    if (rows.length === 0) return new Map()
    const found = await this.#run(this.table.lookup(indexes), rows)
    return new Map(found.map(({ row, values }) => [row, values]))
  }

  /** Runs a statement that returns numbers of rows. Rows for which it fails are left out, and reported. */
  async #run(statement: JsonStatement, rows: readonly LoggedRow[]): Promise<{ row: LoggedRow; values: TextRow }[]> {
    this.#onCheck(rows.length)
    try {
      const { settings } = this.viewer
      const text = rowsText(rows.map(({ element }) => element))
      const found = await persist(() => this.#batch.run(statement, settings, text))
      return found.flatMap(([number, ...values]) => {
        const row = rows[Number(number) - 1]
        return row ? [{ row, values }] : []
      })
    } catch (error) {
      if (isOfStatement(error) || isUnreachable(error) || isOfSession(error)) throw error
      if (rows.length > 1) {
        const middle = rows.length >> 1
        const halves = [rows.slice(0, middle), rows.slice(middle)].map((half) => this.#run(statement, half))
        return (await Promise.all(halves)).flat()
      }
      this.#onFailure(error)
      return []
    }
  }
}
