// The transaction of an import: the rows of a body arrive by COPY in a temporary table, and one statement writes them.
import type {
  PipelineStatement,
  RestTransaction,
  StagedRows,
  TransactionOptions,
  TransactionResult,
} from '../rest/database.ts'
import type { RawRow } from '../rest/row-transfer.ts'
import { runSimple } from './connection/simple-statement.ts'
import { findBodyLine } from './import-fault.ts'
import { withConnection } from './lending.ts'
import type { ConnectionPool } from './pool.ts'
import { command, isLostConnection, Refusal, runPipeline, StatementError } from './protocol/pipeline.ts'
import type { PipelineClient } from './protocol/pipeline-client.ts'
import { endWith } from './transaction-stages.ts'
import { asLoginRole, begin, cleanupAfter, commit, loginRole, rollback, undo } from './transaction-commands.ts'

const savepoint = command('SAVEPOINT rowhouse_import')

/** Switches the timeout off, because the time of the COPY depends on the client. Returns the timeout of the role. */
const pauseTimeout = command(
  "select pg_catalog.current_setting('statement_timeout'), pg_catalog.set_config('statement_timeout', '0', true)",
)
const resumeTimeout = (timeout: string): PipelineStatement => ({
  text: "select pg_catalog.set_config('statement_timeout', $1, true)",
  values: [timeout],
  isUnprepared: true,
})

/** Statements of an import are never prepared; `prepare` says whether those of other transactions are. */
type ImportOptions = Pick<TransactionOptions, 'prepare'>

/**
 * Runs an import on a connection of its own. The connection goes back to the pool without a transaction, whatever happens.
 *
 * @throws StatementError, with the line of the body if the row that caused it was found; ConnectionError; the error of
 *   `rows.data` or of `checkResult`
 */
export async function runImport(
  pool: ConnectionPool,
  transaction: RestTransaction,
  rows: StagedRows,
  options: ImportOptions,
): Promise<TransactionResult> {
  const { caller } = transaction
  try {
    return await withConnection(pool, (client) => runOn(client, transaction, rows, options), isLostConnection, {
      access: 'write',
      caller,
    })
  } catch (error) {
    throw error instanceof Refusal ? error.error : error
  }
}

async function runOn(
  client: PipelineClient,
  transaction: RestTransaction,
  rows: StagedRows,
  options: ImportOptions,
): Promise<TransactionResult> {
  try {
    return { rows: [await importRows(client, transaction, rows, options)] }
  } catch (error) {
    if (!isLostConnection(error) && client.getTransactionStatus() !== 'I') {
      await endWith(client, [[rollback]], cleanupAfter(options.prepare))
    }
    throw error
  }
}

async function importRows(
  client: PipelineClient,
  transaction: RestTransaction,
  rows: StagedRows,
  options: ImportOptions,
): Promise<readonly RawRow[]> {
  const { settings, before, rollback: isUndone, checkResult } = transaction
  // A function may have set the role for the whole session of the connection.
  const opening = [begin(transaction), loginRole]
  const open = [...opening, ...rows.create, settings, ...before, pauseTimeout]
  const opened = await runPipeline(client, [open], false).catch((error: unknown) => {
    throw stagingError(error, opening.length, opening.length + rows.create.length)
  })
  const timeout = opened.at(-1)?.[0]?.[0]?.toString() ?? '0'
  await copyRows(client, rows)
  const write = rows.write(0, rows.lastLine())
  const precheck = rows.precheck?.(write)
  if (precheck) {
    const statements = [...asLoginRole([rows.analyze]), resumeTimeout(timeout), ...precheck.statements]
    const planned = await runPipeline(client, [statements], false)
    const refusal = precheck.check(planned.slice(-precheck.statements.length))
    if (refusal) throw new Refusal(refusal)
  }
  const begun = performance.now()
  let written: readonly RawRow[]
  try {
    const statements = [resumeTimeout(timeout), savepoint, write]
    written = (await runPipeline(client, [statements], false)).at(-1) ?? []
  } catch (error) {
    if (!(error instanceof StatementError) || isLostConnection(error)) throw error
    throw await findBodyLine(client, rows, error, performance.now() - begun)
  }
  const refusal = checkResult?.([written])
  if (refusal) throw new Refusal(refusal)
  await endWith(client, isUndone ? undo : [[commit]], cleanupAfter(options.prepare))
  return written
}

/** Marks the error of one of the statements that create the table. */
function stagingError(error: unknown, from: number, to: number): unknown {
  if (!(error instanceof StatementError)) return error
  const { statement } = error.position
  if (statement < from || statement >= to) return error
  return new StatementError({ ...error.server, isOfStaging: true }, error.position, error)
}

/** Sends the rows at the pace of the server. */
async function copyRows(client: PipelineClient, rows: StagedRows): Promise<void> {
  let fault: { readonly error: unknown } | undefined
  let isOver = false
  try {
    await runSimple(client, rows.copy, {
      copyIn: async ({ write }) => {
        const data = rows.data[Symbol.asyncIterator]()
        for (;;) {
          const next = await data.next().catch((error: unknown) => {
            // The server has ended the COPY before, and the connection may have its next user.
            if (isOver) return never
            fault ??= { error }
            throw error
          })
          if (next.done === true) return
          await write(next.value)
        }
      },
    })
  } catch (error) {
    if (fault) throw new Refusal(asError(fault.error))
    throw copyError(error)
  } finally {
    isOver = true
  }
}

const never = new Promise<never>(() => undefined)

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** Converts an error of `pg` to the one that the other statements of a transaction fail with. */
function copyError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { severity, code, detail, hint, routine } = error as Error & Readonly<Record<string, unknown>>
  if (typeof severity !== 'string' || typeof code !== 'string') return error
  const [more, advice, raisedBy] = [detail, hint, routine].map(textOf)
  return new StatementError(
    {
      severity,
      code,
      message: error.message,
      ...(more === undefined ? {} : { detail: more }),
      ...(advice === undefined ? {} : { hint: advice }),
      ...(raisedBy === undefined ? {} : { routine: raisedBy }),
    },
    { part: 0, statement: 0, isBound: true },
    error,
  )
}
