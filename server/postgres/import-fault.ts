// Finds the line of a body whose row made the statement of an import fail.
//
// PostgreSQL says what is wrong with a value, but not which of a million rows it is in. The statement runs again on
// halves of the staged rows, inside savepoints of the transaction that is rolled back anyway.
import type { PipelineStatement, StagedRows } from '../rest/database.ts'
import { command, isLostConnection, runPipeline, StatementError } from './protocol/pipeline.ts'
import type { PipelineClient } from './protocol/pipeline-client.ts'

/** Ends the search: milliseconds, and a multiple of the time that the statement took to fail. */
const shortestSearch = 5_000
const searchFactor = 3

/** Failures that have no row: of the connection, resources, the transaction, a timeout, the server. */
const withoutRow = /^(?:08|25|40|53|55|57|58|F0|XX)/
/** foreign_key_violation */
const foreignKey = '23503'
/** cardinality_violation: two rows of one statement update the same row, so that each half alone may succeed. */
const cardinality = '21000'

const backToStart = command('ROLLBACK TO SAVEPOINT rowhouse_import')
const attempt = command('SAVEPOINT rowhouse_attempt')
const undoAttempt = command('ROLLBACK TO SAVEPOINT rowhouse_attempt')

/**
 * Whether triggers may run again: no trigger function of the users of the database is in a language that can reach beyond
 * the transaction, as PL/Python can. Triggers of extensions work on their row.
 */
const mayRepeat = command(
  'select not exists (select from pg_catalog.pg_trigger t join pg_catalog.pg_proc p on p.oid = t.tgfoid' +
    ' join pg_catalog.pg_language l on l.oid = p.prolang where not t.tgisinternal and not l.lanpltrusted' +
    " and p.pronamespace <> 'pg_catalog'::pg_catalog.regnamespace and not exists (select from pg_catalog.pg_depend d" +
    " where d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.objid = p.oid and d.deptype = 'e'))",
)

const limitTimeout = (milliseconds: number): PipelineStatement => ({
  text: "select pg_catalog.set_config('statement_timeout', $1, true)",
  values: [`${Math.max(Math.ceil(milliseconds), 1)}ms`],
  isUnprepared: true,
})

/**
 * Searches for the row, for a limited time. The savepoint `rowhouse_import` precedes the statement that failed.
 *
 * @param took milliseconds that the statement took to fail
 * @returns the error, with the line if its row fails alone, or with the rows before it, in the same way
 */
export async function findBodyLine(
  client: PipelineClient,
  rows: StagedRows,
  error: StatementError,
  took: number,
): Promise<StatementError> {
  if (withoutRow.test(error.server.code)) return error
  const search = new Search(client, rows, error, performance.now() + Math.max(shortestSearch, took * searchFactor))
  const bodyLine = await search.run()
  return bodyLine === undefined ? error : new StatementError({ ...error.server, bodyLine }, error.position, error.cause)
}

/** `other` is another error; `late` means that there is no time left. */
type Outcome = 'succeeded' | 'same' | 'other' | 'late'

class Search {
  readonly #client: PipelineClient
  readonly #rows: StagedRows
  readonly #error: StatementError
  readonly #deadline: number

  constructor(client: PipelineClient, rows: StagedRows, error: StatementError, deadline: number) {
    this.#client = client
    this.#rows = rows
    this.#error = error
    this.#deadline = deadline
  }

  /** The line; undefined when no row is responsible, or there was not enough time. */
  async run(): Promise<number | undefined> {
    const results = await runPipeline(this.#client, [[backToStart, mayRepeat]], false)
    if (results.at(-1)?.[0]?.[0]?.toString() !== 't') return undefined
    // An error that occurs without rows, such as a missing privilege, is not one of a row.
    if ((await this.#write(0, 0)) !== 'succeeded') return undefined
    const last = this.#rows.lastLine()
    return this.#error.server.code === cardinality ? this.#findLast(last) : this.#findIn(0, last, 'same')
  }

  /**
   * Searches some lines. The rows before them are written, except for those with other errors.
   *
   * @param outcome what writing these lines leads to, if it is known
   */
  async #findIn(after: number, last: number, outcome?: Outcome): Promise<number | undefined> {
    const isOne = last - after <= 1
    const found = outcome === undefined || isOne ? await this.#write(after, last) : outcome
    // The error of an earlier row may hide the one that is searched.
    if (found === 'succeeded' || found === 'late') return undefined
    if (isOne) return found === 'same' ? last : undefined
    const middle = Math.floor((after + last) / 2)
    const first = await this.#write(after, middle)
    if (first === 'late') return undefined
    if (first === 'succeeded') return this.#findIn(middle, last, found)
    return (await this.#findIn(after, middle, first)) ?? this.#findIn(middle, last)
  }

  /** Searches the first line that fails together with all lines before it. */
  async #findLast(lines: number): Promise<number | undefined> {
    let before = 0
    let last = lines
    while (last - before > 1) {
      const middle = Math.floor((before + last) / 2)
      const outcome = await this.#write(0, middle)
      if (outcome === 'same') last = middle
      else if (outcome === 'succeeded') {
        before = middle
        await runPipeline(this.#client, [[undoAttempt]], false)
      } else return undefined
    }
    return (await this.#write(0, last)) === 'same' ? last : undefined
  }

  /** Writes the rows of some lines. They stay written if that succeeds. */
  async #write(after: number, last: number): Promise<Outcome> {
    const remaining = this.#deadline - performance.now()
    if (remaining <= 0) return 'late'
    const statements = [limitTimeout(remaining), attempt, this.#rows.write(after, last)]
    try {
      await runPipeline(this.#client, [statements], false)
      return 'succeeded'
    } catch (error) {
      if (!(error instanceof StatementError) || isLostConnection(error)) throw error
      await runPipeline(this.#client, [[undoAttempt]], false)
      return this.#isSame(error) ? 'same' : 'other'
    }
  }

  #isSame({ server }: StatementError): boolean {
    const { code, message, detail } = this.#error.server
    if (server.code !== code || server.message !== message) return false
    // A row may refer to a later one, so it matters which key is missing. Other details contain the defaults of the row,
    // which may differ in every attempt.
    return code !== foreignKey || server.detail === detail
  }
}
