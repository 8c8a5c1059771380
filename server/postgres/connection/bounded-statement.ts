// Runs one statement by the extended query protocol, and receives a bounded number of rows: for statements of people, whose
// results may have any size.
// https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
import type { EventEmitter } from 'node:events'
import type pg from 'pg'
import type { Client } from './client.ts'

export type BoundedColumn = { readonly name: string; readonly dataTypeID: number; readonly dataTypeModifier: number }

export type BoundedLimits = {
  readonly rows: number
  /** Bytes of the values that are kept. */
  readonly bytes: number
}

export type BoundedResult = {
  /** Null for a statement without a result. */
  readonly columns: readonly BoundedColumn[] | null
  /** Values as the server writes them. */
  readonly rows: readonly (readonly (string | null)[])[]
  /** Whether there are more rows than these. */
  readonly isCut: boolean
  /** Such as `INSERT 0 1`; null if the rows were cut before the statement was complete. */
  readonly tag: string | null
}

/** The parts of `pg`'s connection that its types lack. */
type Connection = EventEmitter & {
  parse(query: { readonly name: string; readonly text: string }): void
  bind(config: { readonly portal: string; readonly statement: string }): void
  describe(message: { readonly type: 'P'; readonly name: string }): void
  execute(config: { readonly portal: string; readonly rows: number }): void
  sync(): void
  sendCopyFail(message: string): void
}

class BoundedStatement implements pg.Submittable {
  readonly #text: string
  readonly #limits: BoundedLimits
  readonly #settle: (outcome: BoundedResult | Error) => void
  readonly #rows: (readonly (string | null)[])[] = []
  #columns: readonly BoundedColumn[] | null = null
  #bytes = 0
  #isCut = false
  #tag: string | null = null

  constructor(text: string, limits: BoundedLimits, settle: (outcome: BoundedResult | Error) => void) {
    this.#text = text
    this.#limits = limits
    this.#settle = settle
  }

  submit(connection: unknown): void {
    const to = connection as Connection
    to.parse({ name: '', text: this.#text })
    to.bind({ portal: '', statement: '' })
    to.describe({ type: 'P', name: '' })
    // One row more than is kept says whether there are more.
    to.execute({ portal: '', rows: this.#limits.rows + 1 })
    to.sync()
  }

  handleRowDescription({ fields }: { readonly fields: readonly BoundedColumn[] }): void {
    this.#columns = fields.map(({ name, dataTypeID, dataTypeModifier }) => ({ name, dataTypeID, dataTypeModifier }))
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.#bytes += fields.reduce((sum, value) => sum + (value?.length ?? 0), 0)
    this.#isCut ||= this.#rows.length === this.#limits.rows || this.#bytes > this.#limits.bytes
    if (!this.#isCut) this.#rows.push(fields)
  }

  handlePortalSuspended(): void {
    this.#isCut = true
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#tag = text
  }

  handleEmptyQuery(): void {
    // Nothing to keep.
  }

  handleCopyInResponse(connection: Connection): void {
    connection.sendCopyFail('there are no rows to copy')
  }

  handleCopyData(): void {
    // What a COPY sends is discarded.
  }

  /** The client forgets a statement that fails, but the server sends ReadyForQuery unless the connection is lost. */
  handleError(error: Error, connection: Connection): void {
    if (!('severity' in error) || error.severity === 'FATAL') return this.#settle(error)
    const settle = (): void => this.#settle(error)
    connection.once('readyForQuery', settle)
    connection.once('end', settle)
  }

  handleReadyForQuery(): void {
    this.#settle({ columns: this.#columns, rows: this.#rows, isCut: this.#isCut, tag: this.#tag })
  }
}

/**
 * Runs one statement, without parameters. The server refuses a text with several.
 *
 * @throws the error of the server, or of the connection
 */
export const runBounded = (client: Client, text: string, limits: BoundedLimits): Promise<BoundedResult> =>
  new Promise((resolve, reject) => {
    client.query(
      new BoundedStatement(text, limits, (outcome) => {
        if (outcome instanceof Error) reject(outcome)
        else resolve(outcome)
      }),
    )
  })
