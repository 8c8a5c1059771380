// The transaction of a batch: several requests on one connection. BEGIN and the first requests take one round trip, each
// further group of requests one, and the end one.
import type {
  BatchStep,
  BatchStepResult,
  BatchTransaction,
  PipelineStatement,
  RunSteps,
  TraceNote,
  TransactionOptions,
} from '../rest/database.ts'
import type { RawRow } from '../rest/row-transfer.ts'
import { TracelessError } from '../common/traceless-error.ts'
import { claimRefused, isClaimRefused } from './claim-refused.ts'
import { cancelBeforeClose } from './connection/cancellation.ts'
import { withConnection } from './lending.ts'
import type { ConnectionPool } from './pool.ts'
import type { PipelineClient } from './protocol/pipeline-client.ts'
import { command, isLostConnection, Refusal, runPipeline, StatementError } from './protocol/pipeline.ts'
import { RowBudget } from './row-budget.ts'
import { withNote } from './trace-note.ts'
import { endWith, recordAndCommit } from './transaction-stages.ts'
import { begin, cleanupAfter, commit, loginRole, rollback, undo, type Cleanup } from './transaction-commands.ts'

/** A read within a writing transaction is read-only up to the release of its savepoint. */
const beginRead = command('SAVEPOINT batch_read', { hasNoEffect: true })
const endRead = command('RELEASE SAVEPOINT batch_read', { hasNoEffect: true })

/** Resets a setting of one request, so that the next one does not have it. */
const resetSetting = (name: string): PipelineStatement => ({
  ...command('select set_config($1, null, true)', { hasNoEffect: true }),
  values: [name],
})

/**
 * Runs `use` in one transaction on a connection of the pool, and commits it.
 *
 * @throws StatementError of the end of the transaction; ConnectionError when there is no connection; the error of `use`
 */
export async function runBatch<T>(
  pool: ConnectionPool,
  transaction: BatchTransaction,
  use: (run: RunSteps) => Promise<T>,
  { prepare }: TransactionOptions,
): Promise<T> {
  const { caller, readOnly } = transaction
  const rows = new RowBudget(transaction.maxBytes)
  try {
    return await withConnection(
      pool,
      (client) => new BatchRun(client, transaction, rows, prepare).run(use),
      // After an excess the server may still send rows.
      (error) => rows.isExceeded || isLostConnection(error),
      { caller, access: readOnly ? 'read' : 'write' },
    )
  } catch (error) {
    throw error instanceof Refusal ? error.error : error
  }
}

class BatchRun {
  readonly #client: PipelineClient
  readonly #transaction: BatchTransaction
  readonly #rows: RowBudget
  readonly #prepare: boolean
  #hasBegun = false
  /** The error that made the connection unusable. */
  #loss: unknown

  constructor(client: PipelineClient, transaction: BatchTransaction, rows: RowBudget, prepare: boolean) {
    this.#client = client
    this.#transaction = transaction
    this.#rows = rows
    rows.onExcess = () => cancelBeforeClose(client)
    this.#prepare = prepare
  }

  async run<T>(use: (run: RunSteps) => Promise<T>): Promise<T> {
    const cleanup = cleanupAfter(this.#prepare)
    let result: T
    try {
      result = await use((steps) => this.#runSteps(steps))
    } catch (error) {
      if (this.#loss !== undefined) throw error
      if (!this.#rows.isExceeded && this.#client.getTransactionStatus() !== 'I')
        await endWith(this.#client, [[rollback]], cleanup)
      throw new Refusal(error instanceof Error ? error : new TracelessError(String(error)))
    }
    if (this.#hasBegun) await this.#end(cleanup)
    return result
  }

  async #end(cleanup: Cleanup): Promise<void> {
    const { rollback: isUndone, claim } = this.#transaction
    if (isUndone) await endWith(this.#client, undo, cleanup)
    else if (claim) await recordAndCommit(this.#client, claim.record([]), cleanup)
    else await endWith(this.#client, [[commit]], cleanup)
  }

  async #runSteps(steps: readonly BatchStep[]): Promise<readonly BatchStepResult[]> {
    const { readOnly, claim, caller } = this.#transaction
    const isFirst = !this.#hasBegun
    const note = caller.observer?.note
    const noted = note
      ? steps.map((step, index) =>
          notesStep(note, isFirst && index === 0) ? { ...step, ...withNote(step, note) } : step,
        )
      : steps
    this.#hasBegun = true
    const opening = claim ? [loginRole, claim.statement] : []
    const before = isFirst ? [begin(this.#transaction), ...opening] : []
    const claimed = claim ? before.indexOf(claim.statement) : -1
    let results: readonly BatchStepResult[]
    try {
      // A statement prepared earlier may be stale. The first round trip can be repeated then, further ones cannot.
      const prepare = this.#prepare && isFirst
      results = await runSteps(this.#client, noted, {
        before,
        claimed,
        isReadOnly: readOnly,
        prepare,
        rows: this.#rows,
      })
    } catch (error) {
      this.#loss = error
      throw error
    }
    const last = results.at(-1)
    if (last && 'error' in last && isClaimRefused(last.error)) throw last.error
    return results
  }
}

/** The name of the application is set once for the whole transaction. */
const notesStep = ({ place }: TraceNote, isFirst: boolean): boolean => place === 'comment' || isFirst

type StepOptions = {
  /** What precedes the steps. */
  readonly before: readonly PipelineStatement[]
  /** Number of the claim in `before`; negative without one. */
  readonly claimed: number
  /** Whether the whole transaction is read-only. */
  readonly isReadOnly: boolean
  readonly prepare: boolean
  /** Limits the rows of all steps. */
  readonly rows: RowBudget
}

/** A step, or one half of a step whose precheck decides in between whether its statements run. */
type Stage = Omit<BatchStep, 'precheck'> & { readonly half?: 'opening' | 'rest' }

/**
 * Runs steps in an open transaction: see `RunSteps`. They take one round trip, and one more for each step with a precheck,
 * which must succeed before the statements of the step are sent.
 */
export async function runSteps(
  client: PipelineClient,
  steps: readonly BatchStep[],
  options: StepOptions,
): Promise<readonly BatchStepResult[]> {
  const results: BatchStepResult[] = []
  let stages: Stage[] = []
  let isFirst = true
  /** Sends the stages so far. Returns whether all have succeeded. */
  const flush = async (): Promise<boolean> => {
    const how = isFirst ? options : { ...options, before: [], claimed: -1, prepare: false }
    isFirst = false
    const sent = await sendStages(client, stages, how)
    stages = []
    results.push(...sent)
    return !sent.some((result) => 'error' in result)
  }
  for (const step of steps) {
    const { precheck } = step
    if (!precheck) {
      stages.push(step)
      continue
    }
    stages.push({ ...step, statements: precheck.statements, half: 'opening' })
    if (!(await flush())) return results
    const checked = results.pop()
    const error = checked && 'rows' in checked ? precheck.check(checked.rows) : undefined
    if (error) return [...results, { error }]
    stages.push({ ...step, half: 'rest' })
  }
  if (stages.length > 0) await flush()
  return results
}

async function sendStages(
  client: PipelineClient,
  stages: readonly Stage[],
  { before, claimed, isReadOnly, prepare, rows }: StepOptions,
): Promise<readonly BatchStepResult[]> {
  const all = [...before]
  const positions = stages.map((stage) => addStage(stage, isReadOnly, all))
  let completed: readonly RawRow[][] = []
  let failure: StatementError | undefined
  try {
    completed = await runPipeline(client, [all], prepare, {
      onFailure: (results) => (completed = results),
      maxBytes: rows.left,
      onExcess: () => rows.exceed(),
    })
  } catch (error) {
    if (!(error instanceof StatementError) || isLostConnection(error)) throw error
    failure = error
    const at = error.position.statement
    const failed = positions.findIndex(({ first, last }) => first <= at && at < last)
    const number = at - (positions[failed]?.first ?? 0)
    if (stages[failed]?.half === 'opening') failure.checked = number
    else if (failed >= 0) failure.statement = number
  }
  const results = positions
    .filter(({ end }) => end <= completed.length)
    .map(({ first, last }): BatchStepResult => ({ rows: completed.slice(first, last) }))
  for (const result of results) if ('rows' in result) rows.take(result.rows)
  // Only the first round trip has the claim: an error at its place in another one is of user code.
  const refusal = claimed < 0 ? undefined : claimRefused(failure, claimed)
  return failure ? [...results, { error: refusal?.error ?? failure }] : results
}

/** Adds the statements of a stage, and returns where those are whose rows are its results, and where it ends. */
function addStage(
  { settings, before, statements, readOnly, half }: Stage,
  isReadOnly: boolean,
  all: PipelineStatement[],
): { readonly first: number; readonly last: number; readonly end: number } {
  const isNarrower = readOnly && !isReadOnly
  if (half !== 'rest') {
    if (settings.checksSession) all.push(loginRole)
    if (isNarrower) all.push(beginRead)
    all.push(settings)
    all.push(...before)
  }
  const first = all.length
  all.push(...(half === 'opening' ? statements : statements.map((each) => ({ ...each, isCounted: true }))))
  const last = all.length
  if (half !== 'opening') {
    if (isNarrower) all.push(endRead)
    all.push(...(settings.ofRequest ?? []).map(resetSetting))
  }
  return { first, last, end: all.length }
}
