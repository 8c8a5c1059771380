// A connection for checking a server. A server that does not respond is given up after a second, however long its
// connections stay open.
import type { PoolConfig } from '../connection/pool-config.ts'
import { sqlState } from '../database-error.ts'

type Row = Readonly<Record<string, unknown>>
type ProbeClient = InstanceType<PoolConfig['Client']>

/** Milliseconds for connecting and for the query. */
const timeout = 1000

/** A role that sees the timeline that a standby receives. The login role usually has the option NOINHERIT. */
const statisticsRole = 'pg_read_all_stats'
/** insufficient_privilege, invalid_parameter_value */
const refused: ReadonlySet<string | undefined> = new Set(['42501', '22023'])

export class Probe {
  readonly #config: PoolConfig
  #client: ProbeClient | undefined
  #isClosed = false
  #mayReadStatistics = true

  constructor(config: PoolConfig) {
    this.#config = config
  }

  /**
   * Runs a statement that returns one row, in a transaction of its own. Connects first if necessary.
   *
   * @throws Error of the connection or of the server, or after the timeout; the next call connects again
   */
  async ask(text: string): Promise<Row> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const giveUp = (): void => reject(new Error('the server does not respond'))
      // An answer may have arrived while this process was busy: it is read before the immediate runs.
      timer = setTimeout(() => setImmediate(giveUp), timeout)
    })
    try {
      return await Promise.race([this.#ask(text), late])
    } catch (error) {
      this.#drop()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#drop()
  }

  async #ask(text: string): Promise<Row> {
    if (!this.#mayReadStatistics) return this.#run(text)
    try {
      return await this.#run(text, `set local role ${statisticsRole};`)
    } catch (error) {
      if (!refused.has(sqlState(error))) throw error
      this.#mayReadStatistics = false
      this.#drop()
      return this.#run(text)
    }
  }

  /** Changes no setting of the session, which a pooler may lend to others. */
  async #run(text: string, role = ''): Promise<Row> {
    const client = this.#client ?? (await this.#connect())
    const statements = `begin; set local statement_timeout = ${timeout}; ${role} ${text}; commit`
    const results: unknown = await client.query(statements)
    const rows = (results as readonly { readonly rows: readonly Row[] }[]).flatMap((result) => result.rows)
    const [row] = rows
    if (!row) throw new Error('the server returned no row')
    return row
  }

  async #connect(): Promise<ProbeClient> {
    const client = new this.#config.Client(this.#config)
    this.#client = client
    // Losing the connection also fails the next query.
    client.on('error', () => undefined)
    await client.connect()
    if (this.#isClosed) throw new Error('the probe is closed')
    return client
  }

  /** Closes the connection without waiting for the server. */
  #drop(): void {
    const client = this.#client
    this.#client = undefined
    client?.end().catch(() => undefined)
    client?.connection?.stream?.destroy?.()
  }
}
