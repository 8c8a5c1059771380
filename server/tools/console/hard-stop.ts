// Ends the session of a run that takes too long or sends too much, or whose reader is gone.
import { terminateSession, watchSession } from '../../postgres/connection/watched-session.ts'
import type { LibpqClient, PoolConfig } from '../../postgres/connection/pool-config.ts'
import type { SqlProblem } from '../../services/console/sql-protocol.ts'

/** Bytes that a run may receive, with rows that are not kept. */
const maxReceived = 64 * 1024 * 1024
/** Milliseconds that PostgreSQL has to end a run at its own time limit. */
const grace = 1000

export class HardStop {
  readonly #client: LibpqClient
  readonly #config: PoolConfig
  readonly #pid: number
  readonly #signal: AbortSignal
  readonly #stopWatching: () => void
  readonly #gone = (): void => this.#stop('The run was cancelled.')
  #stopped: { readonly problem: SqlProblem; readonly terminated: Promise<unknown> } | undefined

  private constructor(client: LibpqClient, config: PoolConfig, pid: number, signal: AbortSignal, timeout: number) {
    this.#client = client
    this.#config = config
    this.#pid = pid
    this.#signal = signal
    this.#stopWatching = watchSession(client, { time: timeout + grace, received: maxReceived }, (limit) =>
      this.#stop(
        limit === 'time'
          ? `The statements took longer than ${timeout / 1000} s.`
          : `The results are larger than ${maxReceived / 1024 / 1024} MiB. Select fewer or shorter values.`,
      ),
    )
    if (signal.aborted) this.#gone()
    else signal.addEventListener('abort', this.#gone)
  }

  /** Watches an open connection, until `end`. */
  static async watch(client: LibpqClient, config: PoolConfig, signal: AbortSignal, timeout: number): Promise<HardStop> {
    const { rows } = await client.query<{ pid: number }>('select pg_catalog.pg_backend_pid() as pid')
    return new HardStop(client, config, rows[0]?.pid ?? 0, signal, timeout)
  }

  /** Why the session was ended; undefined if it was not. */
  get problem(): SqlProblem | undefined {
    return this.#stopped?.problem
  }

  /** Stops watching. Resolves when the session of a stopped run has been terminated. */
  async end(): Promise<void> {
    this.#stopWatching()
    this.#signal.removeEventListener('abort', this.#gone)
    await this.#stopped?.terminated
  }

  #stop(message: string): void {
    if (this.#stopped) return
    this.#stopped = {
      problem: { message, code: '57014', detail: null, hint: 'Nothing of the transaction remains.', position: null },
      terminated: terminateSession(this.#client, this.#config, this.#pid),
    }
  }
}
