// Runs the transaction of one request on a connection, in as few round trips as it allows.
import type { Claim, PipelineStatement, RestTransaction } from '../rest/database.ts'
import type { RawRow } from '../rest/row-transfer.ts'
import { claimRefused, recordedMeanwhile } from './claim-refused.ts'
import type { PipelineClient } from './protocol/pipeline-client.ts'
import type { PipelinePart } from './protocol/pipeline-part.ts'
import { isLostConnection, Refusal, runPipeline, type PipelineObserver } from './protocol/pipeline.ts'
import {
  asLoginRole,
  begin,
  checkConstraints,
  cleanupAfter,
  commit,
  rollback,
  undo,
  type Cleanup,
} from './transaction-commands.ts'

/** Whether the statements can run as one implicit transaction. */
export const isPlain = ({ isolation, rollback, checkResult, claim, precheck }: RestTransaction): boolean =>
  isolation === null && !rollback && checkResult === undefined && claim === undefined && precheck === undefined

/** Whether the session of the connection is the same after a transaction as before. */
export const keepsSession = ({ keepsSession, hasNoEffect }: RestTransaction): boolean => keepsSession ?? hasNoEffect

/** How the statements of a transaction are sent. */
export type StageOptions = {
  /** Whether statements are prepared and kept on the connection. */
  readonly prepare: boolean
  readonly observer: PipelineObserver
}

/**
 * Runs a transaction on a connection.
 *
 * @param before what precedes the statements: claim, settings, pre-request function
 * @returns the rows of its `statements`
 * @throws StatementError; Refusal after a rollback; any other error means a lost connection
 */
export async function runStages(
  client: PipelineClient,
  transaction: RestTransaction,
  before: PipelinePart,
  options: StageOptions,
): Promise<RawRow[][]> {
  const { statements } = transaction
  if (isPlain(transaction)) {
    const all = [...before, ...statements]
    const observer = { ...options.observer, ...cleanupAfter(options.prepare && !keepsSession(transaction)) }
    const results = await runPipeline(client, [all], options.prepare, observer)
    return results.slice(before.length)
  }
  return new Stages(client, transaction, options).run(before)
}

class Stages {
  readonly #client: PipelineClient
  readonly #transaction: RestTransaction
  readonly #options: StageOptions

  constructor(client: PipelineClient, transaction: RestTransaction, options: StageOptions) {
    this.#client = client
    this.#transaction = transaction
    this.#options = options
  }

  get #cleanup(): Cleanup {
    return cleanupAfter(this.#options.prepare && !keepsSession(this.#transaction))
  }

  async run(before: PipelinePart): Promise<RawRow[][]> {
    const { statements, checkResult, claim, precheck, receiver } = this.#transaction
    const opening = [begin(this.#transaction), ...before]
    const claimed = claim ? opening.indexOf(claim.statement) : -1
    if (!precheck) {
      const all = [...opening, ...statements]
      if (!checkResult && !claim) {
        const { onExcess, largeBodies } = this.#options.observer
        const observer = { hasReceiver: receiver !== undefined, largeBodies, ...(onExcess && { onExcess }) }
        const results = await this.#runToEnd(all, this.#options.prepare, observer)
        return results.slice(opening.length, all.length)
      }
      const results = await this.#runPart(all, this.#options.prepare, claimed)
      return this.#finish(results.slice(opening.length))
    }
    const checked = await this.#runPart([...opening, ...precheck.statements], this.#options.prepare, claimed)
    await this.#refuseIf(precheck.check(checked.slice(opening.length)))
    // A transaction that has begun cannot run again when a prepared statement turns out to be stale.
    if (checkResult || claim) return this.#finish(await this.#runPart(statements, false))
    const results = await this.#runToEnd(statements, false, this.#options.observer)
    return results.slice(0, statements.length)
  }

  /** Runs the last statements together with the end of the transaction. */
  #runToEnd(part: readonly PipelineStatement[], prepare: boolean, observer: PipelineObserver): Promise<RawRow[][]> {
    const parts = this.#transaction.rollback ? [[...part, checkConstraints], [rollback]] : [part, [commit]]
    return runPipeline(this.#client, parts, prepare, { ...observer, ...this.#cleanup })
  }

  /**
   * Runs statements that leave the transaction open, and ends it if one of them fails.
   *
   * @param claimed position of the statement of the claim
   */
  async #runPart(part: PipelinePart, prepare: boolean, claimed = -1): Promise<RawRow[][]> {
    try {
      const { largeBodies } = this.#options.observer
      return await runPipeline(this.#client, [part], prepare, { largeBodies })
    } catch (error) {
      if (!isLostConnection(error) && this.#client.getTransactionStatus() !== 'I') await this.#rollBack()
      throw claimRefused(error, claimed) ?? error
    }
  }

  async #refuseIf(error: Error | undefined): Promise<void> {
    if (!error) return
    await this.#rollBack()
    throw new Refusal(error)
  }

  /** Checks and records the results, and ends the transaction. */
  async #finish(results: RawRow[][]): Promise<RawRow[][]> {
    const { rollback: isUndone, checkResult, claim } = this.#transaction
    await this.#refuseIf(checkResult?.(results))
    if (isUndone) await endWith(this.#client, undo, this.#cleanup)
    else if (claim) await this.#record(claim, results)
    else await endWith(this.#client, [[commit]], this.#cleanup)
    return results
  }

  async #record({ record }: Claim, results: readonly RawRow[][]): Promise<void> {
    let statements: PipelinePart
    try {
      statements = record(results)
    } catch (error) {
      await this.#rollBack()
      throw error instanceof Error ? new Refusal(error) : error
    }
    await recordAndCommit(this.#client, statements, this.#cleanup)
  }

  async #rollBack(): Promise<void> {
    await endWith(this.#client, [[rollback]], this.#cleanup)
  }
}

/** Ends a transaction, and cleans the session. */
export async function endWith(client: PipelineClient, parts: readonly PipelinePart[], cleanup: Cleanup): Promise<void> {
  await runPipeline(client, parts, false, cleanup)
}

/**
 * Runs the statements that record the effect of a transaction with a claim, as the login role, and commits it as the caller.
 *
 * @throws Refusal when another transaction has recorded the same effect; StatementError; other errors mean a lost connection
 */
export async function recordAndCommit(client: PipelineClient, record: PipelinePart, cleanup: Cleanup): Promise<void> {
  try {
    await runPipeline(client, [asLoginRole(record), [commit]], false, cleanup)
  } catch (error) {
    throw recordedMeanwhile(error) ?? error
  }
}
