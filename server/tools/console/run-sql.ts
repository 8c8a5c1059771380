// Runs the statements of the console in one transaction, as the chosen caller, on a connection that is closed afterwards.
import { identityValues, setIdentity, SettingsText } from '../../identity/settings-text.ts'
import { runBounded, type BoundedColumn } from '../../postgres/connection/bounded-statement.ts'
import { withClient } from '../../postgres/connection/client.ts'
import type { LibpqClient, PoolConfig } from '../../postgres/connection/pool-config.ts'
import { transactionStatus } from '../../postgres/connection/simple-statement.ts'
import { sqlState } from '../../postgres/database-error.ts'
import type { BeforeCommit, SqlIdentity } from '../../services/console/database-tools.ts'
import type { SqlProblem, SqlRequest, SqlResult, SqlRun } from '../../services/console/sql-protocol.ts'
import { splitStatements, type SqlStatement } from '../../text/sql-statements.ts'
import { messageOf } from '../command-line/error-message.ts'
import { HardStop } from './hard-stop.ts'
import { refusalOfLogin } from './confined-login.ts'
import { refusalOf } from './refused-sql.ts'

/** The database on which statements run. */
export type SqlPlace = {
  /** Connection of a login role that can take the roles of requests only: statements can switch to all that it has. */
  readonly login: () => Promise<PoolConfig>
  /** Connection of the role that owns the schemas; undefined where it cannot be chosen. */
  readonly owner: PoolConfig | undefined
  /** Channel that hears of changes of the schema. */
  readonly channel: string
}

const limits = { rows: 1000, bytes: 4 * 1024 * 1024 } as const
const maxStatements = 1000
const maxNotices = 200
/** Characters of statements and notices that are returned. */
const maxText = 2000
const defaultTimeout = 10_000

/** First words of statements that EXPLAIN accepts. */
const explainable = new Set(['select', 'insert', 'update', 'delete', 'merge', 'values', 'with', 'table', 'execute'])
/** First words of statements after which the API reads its schema again. */
const changing = new Set(['create', 'alter', 'drop', 'grant', 'revoke', 'comment', 'do'])

/**
 * Runs statements. Nothing remains of a transaction that is not committed, except for the numbers that sequences gave out.
 *
 * @param signal aborted when the reader of the result is gone: the session is ended then
 * @param beforeCommit called when only the commit is left; where it fails, nothing is committed
 * @returns the results, and the error that ended the run
 */
export async function runSql(
  place: SqlPlace,
  request: SqlRequest,
  identity: SqlIdentity,
  signal: AbortSignal,
  beforeCommit: BeforeCommit,
): Promise<SqlRun> {
  const statements = splitStatements(request.sql)
  const refused = refusedOf(statements, request.sql) ?? ownerRefused(place, identity)
  const run = new Run(request, identity, statements)
  if (refused) return run.ended({ ...noPlace, ...refused })
  try {
    const config = identity === 'owner' && place.owner ? place.owner : await place.login()
    return await withClient(config, async (client) => {
      const stop = await HardStop.watch(client, config, signal, request.timeout ?? defaultTimeout)
      try {
        return await run.on(client, place, stop, beforeCommit)
      } finally {
        await stop.end()
      }
    })
  } catch (error) {
    return run.ended(problemOf(error))
  }
}

const noPlace = { code: null, detail: null, hint: null, position: null }

function refusedOf(
  statements: readonly SqlStatement[],
  sql: string,
): (Partial<SqlProblem> & { message: string }) | undefined {
  if (statements.length === 0) return { message: 'There is no statement to run.' }
  if (statements.length > maxStatements) {
    return {
      message: `These are ${statements.length} statements: at most ${maxStatements} run at once. Use \`rowhouse psql\` for more.`,
    }
  }
  if (sql.includes('\0')) return { message: 'SQL cannot contain the character U+0000.' }
  for (const statement of statements) {
    const message = refusalOf(statement)
    if (message !== undefined) return { message, position: statement.start }
  }
  return undefined
}

const ownerRefused = ({ owner }: SqlPlace, identity: SqlIdentity): { readonly message: string } | undefined =>
  identity === 'owner' && owner === undefined
    ? { message: 'The owner of the database can be chosen in development only. Choose a role or a user.' }
    : undefined

/** One run, from its first statement to the end of its transaction. */
class Run {
  readonly #request: SqlRequest
  readonly #identity: SqlIdentity
  readonly #statements: readonly SqlStatement[]
  readonly #results: SqlResult[] = []
  readonly #notices: { severity: string; message: string }[] = []
  readonly #types = new Map<string, string>()
  #noticesCut = false
  #line = 1
  /** Characters whose line breaks are counted. */
  #counted = 0
  #role = ''

  constructor(request: SqlRequest, identity: SqlIdentity, statements: readonly SqlStatement[]) {
    this.#request = request
    this.#identity = identity
    this.#statements = statements
  }

  ended(error: SqlProblem | null, outcome: SqlRun['outcome'] = 'rolled back'): SqlRun {
    const results = this.#results
    return { results, error, notices: this.#notices, noticesCut: this.#noticesCut, role: this.#role, outcome }
  }

  async on(client: LibpqClient, place: SqlPlace, stop: HardStop, beforeCommit: BeforeCommit): Promise<SqlRun> {
    client.on('notice', ({ severity = 'NOTICE', message = '' }: { severity?: string; message?: string }) => {
      if (this.#notices.length < maxNotices) this.#notices.push({ severity, message: message.slice(0, maxText) })
      else this.#noticesCut = true
    })
    try {
      await client.query('begin isolation level read committed read write')
      const refused = this.#identity === 'owner' ? undefined : await refusalOfLogin(client)
      if (refused) return this.ended({ ...noPlace, ...refused })
      await this.#enter(client)
      const error = await this.#runAll(client)
      if (error) {
        await client.query('rollback')
        return this.ended(error)
      }
      return await this.#end(client, place, beforeCommit)
    } catch (error) {
      return this.ended(stop.problem ?? problemOf(error))
    }
  }

  /** Sets the time limit, then role and claims. */
  async #enter(client: LibpqClient): Promise<void> {
    const { timeout = defaultTimeout } = this.#request
    await client.query("select set_config('statement_timeout', $1, true)", [String(timeout)])
    if (this.#identity !== 'owner') await client.query(settings, [...identityValues(this.#identity)])
    const { rows } = await client.query<{ role: string }>('select current_user as role')
    this.#role = rows[0]?.role ?? ''
  }

  async #runAll(client: LibpqClient): Promise<SqlProblem | undefined> {
    for (const statement of this.#statements) {
      const prefix = this.#prefixOf(statement)
      const since = performance.now()
      try {
        const { columns, rows, isCut, tag } = await runBounded(client, prefix + statement.text, limits)
        const time = performance.now() - since
        // Refused statements are recognised by their words. Should one be missed, nothing else runs.
        if (transactionStatus(client) === 'I') {
          return {
            ...noPlace,
            message: 'This statement has ended the transaction: its effects may remain.',
            position: statement.start,
          }
        }
        this.#results.push({
          sql: statement.text.slice(0, maxText),
          line: this.#lineOf(statement),
          tag: prefix === '' ? tag : 'EXPLAIN',
          columns: prefix === '' ? columns && (await this.#described(client, columns)) : null,
          rows: prefix === '' ? rows : [],
          isCut,
          time: Math.round(time * 1000) / 1000,
          plan: prefix === '' ? null : (JSON.parse(rows[0]?.[0] ?? 'null') as unknown),
        })
      } catch (error) {
        if (sqlState(error) === undefined) throw error
        return placed(problemOf(error), error, statement, prefix.length)
      }
    }
    return undefined
  }

  /** Line of the first word. Statements are asked for in their order. */
  #lineOf({ start }: SqlStatement): number {
    const { sql } = this.#request
    for (let end = sql.indexOf('\n', this.#counted); end >= 0 && end < start; end = sql.indexOf('\n', end + 1)) {
      this.#line++
      this.#counted = end + 1
    }
    return this.#line
  }

  #prefixOf({ words: [first = ''], text }: SqlStatement): string {
    const { explain } = this.#request
    if (explain === undefined || (!explainable.has(first) && !text.startsWith('('))) return ''
    return `explain (${explain === 'analyze' ? 'analyze, buffers, ' : ''}format json) `
  }

  /** Looks up the types while those that the statements created exist. */
  async #described(client: LibpqClient, columns: readonly BoundedColumn[]): Promise<SqlResult['columns']> {
    const keyOf = ({ dataTypeID, dataTypeModifier }: BoundedColumn): string => `${dataTypeID}, ${dataTypeModifier}`
    const unknown = [...new Set(columns.map(keyOf))].filter((key) => !this.#types.has(key))
    if (unknown.length > 0) {
      const list = unknown.map((key) => `pg_catalog.format_type(${key})`).join(', ')
      const { rows } = await runBounded(client, `select array_to_json(array[${list}])`, limits)
      const names = JSON.parse(rows[0]?.[0] ?? '[]') as readonly (string | null)[]
      unknown.forEach((key, index) => this.#types.set(key, names[index] ?? '?'))
    }
    return columns.map((column) => ({ name: column.name, type: this.#types.get(keyOf(column)) ?? '?' }))
  }

  async #end(client: LibpqClient, { channel }: SqlPlace, beforeCommit: BeforeCommit): Promise<SqlRun> {
    const { commit = false } = this.#request
    try {
      // A transaction that is rolled back fails like one that is committed.
      await client.query('set constraints all immediate')
      if (!commit) {
        await client.query('rollback')
        return this.ended(null)
      }
      if (this.#statements.some(({ words: [first = ''] }) => changing.has(first))) {
        await client.query('select pg_catalog.pg_notify($1, $2)', [channel, 'reload schema'])
      }
      const { rows } = await client.query<{ id: string | null }>(currentTransaction)
      await beforeCommit(rows[0]?.id ?? null)
      await client.query('commit')
      return this.ended(null, 'committed')
    } catch (error) {
      if (sqlState(error) === undefined) throw error
      await client.query('rollback')
      return this.ended(problemOf(error))
    }
  }
}

/** Statements before may have changed the search path. */
const currentTransaction = 'select pg_catalog.pg_current_xact_id_if_assigned()::pg_catalog.text as id'

const settings = new SettingsText(setIdentity).plain

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

function problemOf(error: unknown): SqlProblem {
  const { detail, hint } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>
  return {
    message: messageOf(error),
    code: sqlState(error) ?? null,
    detail: textOf(detail),
    hint: textOf(hint),
    position: null,
  }
}

/** @param prefix number of characters before the statement in what was run */
function placed(problem: SqlProblem, error: unknown, { start, text }: SqlStatement, prefix: number): SqlProblem {
  const position = Number((error as { readonly position?: string }).position ?? 0) - prefix
  // PostgreSQL counts characters, from 1.
  const offset = position > 0 ? [...text].slice(0, position - 1).join('').length : 0
  return { ...problem, position: start + offset }
}
