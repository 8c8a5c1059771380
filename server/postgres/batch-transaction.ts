// The transaction of a batch: several requests on one connection. BEGIN and the first requests take one round trip, each
// further group of requests one, and the end one.
import type {
  BatchStep,
  BatchStepResult,
  BatchTransaction,
  PipelineStatement,
  RawRow,
  RunSteps,
  TransactionOptions,
} from '../rest/database.ts'
import { TracelessError } from '../common/traceless-error.ts'
import { withConnection } from './lending.ts'
import type { ConnectionPool } from './pool.ts'
import type { PipelineClient } from './protocol/pipeline-client.ts'
import { command, isLostConnection, Refusal, runPipeline, StatementError } from './protocol/pipeline.ts'

const commit = command('COMMIT')
const rollback = command('ROLLBACK')
// Checks deferred constraints as a commit would, so that a rolled-back batch fails like a committed one.
const checkConstraints = command('SET CONSTRAINTS ALL IMMEDIATE')
/** Only the login role may check sessions and set the settings of a role. */
const loginRole = command('RESET ROLE', { hasNoEffect: true })
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
  try {
    return await withConnection(
      pool,
      (client) => new BatchRun(client, transaction, prepare).run(use),
      isLostConnection,
      { caller, access: readOnly ? 'read' : 'write' },
    )
  } catch (error) {
    throw error instanceof Refusal ? error.error : error
  }
}

class BatchRun {
  readonly #client: PipelineClient
  readonly #transaction: BatchTransaction
  readonly #prepare: boolean
  #hasBegun = false
  /** The error that made the connection unusable. */
  #loss: unknown

  constructor(client: PipelineClient, transaction: BatchTransaction, prepare: boolean) {
    this.#client = client
    this.#transaction = transaction
    this.#prepare = prepare
  }

  async run<T>(use: (run: RunSteps) => Promise<T>): Promise<T> {
    let result: T
    try {
      result = await use((steps) => this.#runSteps(steps))
    } catch (error) {
      if (this.#loss !== undefined) throw error
      if (this.#client.getTransactionStatus() !== 'I') await runPipeline(this.#client, [[rollback]], false)
      throw new Refusal(error instanceof Error ? error : new TracelessError(String(error)))
    }
    if (this.#hasBegun) {
      const end = this.#transaction.rollback ? [[checkConstraints], [rollback]] : [[commit]]
      await runPipeline(this.#client, end, false)
    }
    return result
  }

  async #runSteps(steps: readonly BatchStep[]): Promise<readonly BatchStepResult[]> {
    const { isolation, readOnly } = this.#transaction
    const isFirst = !this.#hasBegun
    this.#hasBegun = true
    const begin = command(
      `BEGIN ISOLATION LEVEL ${isolation ?? 'read committed'} READ ${readOnly ? 'ONLY' : 'WRITE'}`,
      {
        hasNoEffect: true,
      },
    )
    try {
      // A statement prepared earlier may be stale. The first round trip can be repeated then, further ones cannot.
      const prepare = this.#prepare && isFirst
      return await runSteps(this.#client, steps, { before: isFirst ? [begin] : [], isReadOnly: readOnly, prepare })
    } catch (error) {
      this.#loss = error
      throw error
    }
  }
}

type StepOptions = {
  /** What precedes the steps. */
  readonly before: readonly PipelineStatement[]
  /** Whether the whole transaction is read-only. */
  readonly isReadOnly: boolean
  readonly prepare: boolean
}

/** Runs steps in an open transaction, in one round trip: see `RunSteps`. */
export async function runSteps(
  client: PipelineClient,
  steps: readonly BatchStep[],
  { before, isReadOnly, prepare }: StepOptions,
): Promise<readonly BatchStepResult[]> {
  const all = [...before]
  const positions = steps.map((step) => addStep(step, isReadOnly, all))
  let completed: readonly RawRow[][] = []
  let failure: StatementError | undefined
  try {
    completed = await runPipeline(client, [all], prepare, { onFailure: (results) => (completed = results) })
  } catch (error) {
    if (!(error instanceof StatementError) || isLostConnection(error)) throw error
    failure = error
  }
  const results = positions
    .filter(({ end }) => end <= completed.length)
    .map(({ first, last }): BatchStepResult => ({ rows: completed.slice(first, last) }))
  failure?.numberIn(steps[results.length]?.statements ?? [])
  return failure ? [...results, { error: failure }] : results
}

/** Adds the statements of a step, and returns where those are whose rows are its results, and where it ends. */
function addStep(
  { settings, preRequest, statements, readOnly }: BatchStep,
  isReadOnly: boolean,
  all: PipelineStatement[],
): { readonly first: number; readonly last: number; readonly end: number } {
  const isNarrower = readOnly && !isReadOnly
  if (settings.checksSession) all.push(loginRole)
  if (isNarrower) all.push(beginRead)
  all.push(settings)
  if (preRequest) all.push(preRequest)
  const first = all.length
  all.push(...statements)
  const last = all.length
  if (isNarrower) all.push(endRead)
  all.push(...(settings.ofRequest ?? []).map(resetSetting))
  return { first, last, end: all.length }
}
