// Cancels statements whose caller has disconnected, and ensures that the cancellation affects no other request.
// https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
import { setTimeout as pause } from 'node:timers/promises'
import { LibpqClient } from './pool-config.ts'
import type { Caller } from '../../rest/database.ts'
import { runPipeline, StatementError } from '../protocol/pipeline.ts'
import type { PipelineClient } from '../protocol/pipeline-client.ts'

/** Milliseconds before a statement without its caller is cancelled. Most end sooner, and a cancellation costs more. */
const grace = 25
/** Milliseconds before the next request to cancel: the statement may have started after the previous one. */
const repeatInterval = 1000
/** The longest `client_connection_check_interval` that is waited for, in milliseconds. */
const longestClosing = 10_000
/** SQLSTATE query_canceled */
export const cancelled = '57014'

/**
 * Runs a statement that absorbs a late cancellation, so that it hits no later statement of this connection.
 *
 * @returns whether the connection can be reused: not when it is lost or inside a failed transaction
 */
async function absorbCancel(client: PipelineClient): Promise<boolean> {
  try {
    await runPipeline(client, [[{ text: 'select pg_catalog.pg_sleep(0)', values: [] }]], false)
    return true
  } catch (error) {
    return error instanceof StatementError && error.server.code === cancelled
  }
}

/**
 * Cancels what runs on a connection that is closed afterwards, which ends a late cancellation, too. Repeated until then: the
 * server ignores a request that comes between two statements. Has no effect on connections that do not support it.
 */
export function cancelBeforeClose(client: PipelineClient): void {
  if (!(client instanceof LibpqClient && client.isDirect)) return
  const request = (): void => void client.requestCancel().catch(() => undefined)
  request()
  const timer = setInterval(request, repeatInterval).unref()
  client.once('end', () => clearInterval(timer))
}

/** Watches the caller of a connection, and cancels its statements once the caller has disconnected. */
export class Cancellation {
  readonly #client: PipelineClient
  readonly #forgetCaller: () => void
  #timer: NodeJS.Timeout | undefined
  /** Settles when all requests to cancel are done, with whether the server received each of them. */
  #requests: Promise<boolean> | undefined
  #isOver = false
  #hasClosed = false

  constructor(client: PipelineClient, caller: Caller) {
    this.#client = client
    this.#forgetCaller = caller.onGone(() => {
      this.#timer = setTimeout(this.#request, grace)
    })
  }

  readonly #request = (): void => {
    const client = this.#client
    if (this.#isOver || !(client instanceof LibpqClient)) return
    if (!client.isDirect) {
      this.#close(client)
      return
    }
    const before = this.#requests ?? Promise.resolve(true)
    this.#requests = client.requestCancel().then(
      () => before,
      () => false,
    )
    void this.#requests.then(() => {
      if (!this.#isOver) this.#timer = setTimeout(this.#request, repeatInterval)
    })
  }

  /**
   * Closes a connection to a pooler, if the server then ends the statement soon. The pooler does not use its own connection
   * for other clients any more, while it may forward a request to cancel to another client's statement.
   */
  #close(client: LibpqClient): void {
    const { closingInterval } = client
    if (closingInterval === 0 || closingInterval > longestClosing) return
    this.#hasClosed = true
    // Until then, the statement counts as one of the pool, so that disconnecting clients cannot start any number of them.
    this.#requests = pause(closingInterval, false)
    client.abandon()
  }

  /** Whether the connection was closed. It occupies its place in the pool until `end` has settled. */
  get hasClosed(): boolean {
    return this.#hasClosed
  }

  /** Whether a request to cancel was sent, or the connection was closed. */
  get hasCancelled(): boolean {
    return this.#requests !== undefined
  }

  /**
   * Stops watching, after the last statement has completed.
   *
   * @returns undefined when nothing was cancelled; otherwise a promise for whether the connection can be reused, which is
   *   never rejected: the caller does not wait for it when the connection is lost
   */
  end(): Promise<boolean> | undefined {
    this.#isOver = true
    this.#forgetCaller()
    clearTimeout(this.#timer)
    return this.#requests?.then((isCertain) => isCertain && absorbCancel(this.#client))
  }
}
