// Runs a statement by the simple query protocol and hands over its results as they arrive, without collecting them.
// https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SIMPLE-QUERY
import type { EventEmitter } from 'node:events'
import type { Duplex, Writable } from 'node:stream'
import type pg from 'pg'
import type { Client } from './client.ts'

export type ResultColumn = { readonly name: string; readonly dataTypeID: number }

/** What to do with each part of a result. Everything without a handler is discarded. */
export type ResultHandlers = {
  readonly onColumns?: (columns: readonly ResultColumn[]) => void
  /** Values as the server writes them. */
  readonly onRow?: (values: readonly (string | null)[]) => void
  /** What `COPY … TO STDOUT` sends. */
  readonly onCopyData?: (chunk: Buffer) => void
  /** Writes the rows of `COPY … FROM STDIN`. Rejecting fails the statement. By default there are no rows. */
  readonly copyIn?: (rows: CopyRows) => Promise<void>
  /** Such as `INSERT 0 1`. Called once per statement of the text. */
  readonly onComplete?: (tag: string) => void
}

/** Receives the rows of `COPY … FROM STDIN`. */
export type CopyRows = {
  /** Resolves when more can be written. */
  readonly write: (chunk: Buffer) => Promise<void>
}

/**
 * Writes results to a stream. If it is full, the following results wait in the connection, so that they do not pile up in
 * memory.
 */
export type WriteTo = (output: Writable, chunk: string | Buffer) => void

/** The parts of `pg`'s connection that its types lack. */
type Connection = EventEmitter & {
  readonly stream: Duplex
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
  sendCopyFail(message: string): void
}

/** A statement that `pg.Client.query` accepts. Its methods are called by the client. */
class SimpleStatement implements pg.Submittable {
  readonly #text: string
  readonly #handlers: ResultHandlers
  readonly #settle: (error: Error | undefined) => void
  #error: Error | undefined

  constructor(text: string, handlers: ResultHandlers, settle: (error: Error | undefined) => void) {
    this.#text = text
    this.#handlers = handlers
    this.#settle = settle
  }

  submit(connection: unknown): void {
    ;(connection as Connection).query(this.#text)
  }

  handleRowDescription({ fields }: { readonly fields: readonly ResultColumn[] }): void {
    this.#handlers.onColumns?.(fields)
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.#handlers.onRow?.(fields)
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#handlers.onComplete?.(text)
  }

  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    // The client's parser reuses the memory for what arrives next, while the handler may keep its chunks for a stream.
    this.#handlers.onCopyData?.(Buffer.from(chunk))
  }

  handleCopyInResponse(connection: Connection): void {
    this.#sendRows(connection).then(
      () => connection.endCopyFrom(),
      (error: unknown) => {
        const message = error instanceof Error ? error.message : String(error)
        this.#error ??= error instanceof Error ? error : new Error(message)
        connection.sendCopyFail(message)
      },
    )
  }

  async #sendRows(connection: Connection): Promise<void> {
    const { stream } = connection
    await this.#handlers.copyIn?.({
      write: async (chunk) => {
        // The server has refused a row: it ignores the others.
        if (this.#error) throw this.#error
        connection.sendCopyFromChunk(chunk)
        if (stream.writableNeedDrain) await drained(stream)
      },
    })
  }

  handleEmptyQuery(): void {
    // Nothing to hand over.
  }

  /** The client forgets a statement that fails, but the server sends ReadyForQuery unless the connection is lost. */
  handleError(error: Error, connection: Connection): void {
    this.#error ??= error
    if ('severity' in error && error.severity !== 'FATAL') {
      connection.once('readyForQuery', () => this.#settle(this.#error))
      connection.once('end', () => this.#settle(this.#error))
    } else this.#settle(this.#error)
  }

  handleReadyForQuery(): void {
    this.#settle(this.#error)
  }
}

const drained = (stream: Duplex): Promise<void> =>
  new Promise((resolve, reject) => {
    const settle = (): void => {
      stream.off('drain', settle).off('close', settle)
      if (stream.destroyed) reject(new Error('the connection to the database was lost'))
      else resolve()
    }
    stream.on('drain', settle).on('close', settle)
  })

/**
 * Runs one or several statements. Parameters are not possible.
 *
 * @param handlers receive the results; a function makes them from the function that writes results
 * @throws the first error of the server; of `copyIn`; when the connection is lost
 */
export function runSimple(
  client: Client,
  text: string,
  handlers: ResultHandlers | ((writeTo: WriteTo) => ResultHandlers) = {},
): Promise<void> {
  const { stream } = (client as unknown as { readonly connection: Connection }).connection
  const writeTo = (output: Writable, chunk: string | Buffer): void => {
    if (output.write(chunk) || stream.isPaused()) return
    stream.pause()
    const resume = (): void => {
      output.off('drain', resume).off('close', resume)
      stream.resume()
    }
    // After `close`, the results are not read any more.
    output.on('drain', resume).on('close', resume)
  }
  return new Promise((resolve, reject) => {
    const statement = new SimpleStatement(
      text,
      typeof handlers === 'function' ? handlers(writeTo) : handlers,
      (error) => {
        if (error) reject(error)
        else resolve()
      },
    )
    client.query(statement)
  })
}

/** Status of the session after the last statement: idle, in a transaction, or in a failed one. */
export function transactionStatus(client: Client): 'I' | 'T' | 'E' {
  const status = (client as unknown as { getTransactionStatus(): string | null }).getTransactionStatus()
  return status === 'T' || status === 'E' ? status : 'I'
}
