// A connection for checking a server. A server that does not respond is given up after a second, however long its
// connections stay open.
import type { PoolConfig } from '../connection/pool-config.ts'

type Row = Readonly<Record<string, unknown>>
type ProbeClient = InstanceType<PoolConfig['Client']>

/** Milliseconds for connecting and for the query. */
const timeout = 1000

export class Probe {
  readonly #config: PoolConfig
  #client: ProbeClient | undefined
  #isClosed = false

  constructor(config: PoolConfig) {
    this.#config = config
  }

  /**
   * Runs a statement that returns one row. Connects first if necessary.
   *
   * @throws Error of the connection or of the server, or after the timeout; the next call connects again
   */
  async ask(text: string): Promise<Row> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('the server does not respond')), timeout)
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
    const client = this.#client ?? (await this.#connect())
    const { rows } = await client.query<Row>(text)
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
    await client.query(`select set_config('statement_timeout', '${timeout}', false)`)
    // Shows the timeline that a standby receives. The login role usually has the option NOINHERIT.
    await client.query('set role pg_read_all_stats').catch(() => undefined)
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
