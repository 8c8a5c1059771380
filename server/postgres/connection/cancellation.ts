// Ends what a connection runs for a caller who no longer waits, and makes sure that the cancellation hits no other request.
// https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
import { LibpqClient } from './pool-config.ts'
import type { Caller } from '../../rest/database.ts'
import { runPipeline, StatementError } from '../protocol/pipeline.ts'
import type { PipelineClient } from '../protocol/pipeline-client.ts'

/** Milliseconds that a statement may go on without its caller: most end by themselves, and to cancel one costs more. */
const grace = 25
/** Milliseconds until a statement that still runs is cancelled again: it may have begun after the first time. */
const again = 1000
/** SQLSTATE query_canceled */
export const cancelled = '57014'

/**
 * Runs a statement that takes a cancellation which comes too late, so that no later statement of this connection does.
 *
 * @throws Error when the connection is lost or inside a failed transaction
 */
export async function absorbCancel(client: PipelineClient): Promise<void> {
  try {
    await runPipeline(client, [[{ text: 'select pg_catalog.pg_sleep(0)', values: [] }]], false)
  } catch (error) {
    if (!(error instanceof StatementError) || error.server.code !== cancelled) throw error
  }
}

/** Watches a caller while a connection is in use, and cancels what it runs once the caller is gone. */
export class Cancellation {
  readonly #client: PipelineClient
  readonly #forgetCaller: () => void
  #timer: NodeJS.Timeout | undefined
  /** Settles when the server has received all requests to cancel, with whether that is certain. */
  #requests: Promise<boolean> | undefined
  #isOver = false

  constructor(client: PipelineClient, caller: Caller) {
    this.#client = client
    this.#forgetCaller = caller.onGone(() => {
      this.#timer = setTimeout(this.#request, grace)
    })
  }

  readonly #request = (): void => {
    const client = this.#client
    // Others cannot cancel.
    if (this.#isOver || !(client instanceof LibpqClient) || !client.isDirect) return
    const before = this.#requests ?? Promise.resolve(true)
    this.#requests = client.requestCancel().then(
      () => before,
      () => false,
    )
    void this.#requests.then(() => {
      if (!this.#isOver) this.#timer = setTimeout(this.#request, again)
    })
  }

  /** Whether the server was asked to cancel. */
  get hasCancelled(): boolean {
    return this.#requests !== undefined
  }

  /**
   * Ends the watch, after the last statement has been answered.
   *
   * @returns undefined when nothing was cancelled; otherwise whether the connection can be used again, once that is known
   */
  end(): Promise<boolean> | undefined {
    this.#isOver = true
    this.#forgetCaller()
    clearTimeout(this.#timer)
    return this.#requests?.then(async (isCertain) => {
      if (!isCertain) return false
      await absorbCancel(this.#client)
      return true
    })
  }
}
