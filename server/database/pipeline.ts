// Several statements in one round trip: everything is sent in one write. What stands before one Sync is one implicit
// transaction, which an error anywhere in it undoes.
// https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
import type pg from 'pg'
import { StatementCache, statementName } from './statement-cache.ts'
import { ArrivingField } from './arriving-field.ts'
import { MessageReader, MessageWriter, readError, readRow, type Row, type ServerError } from './wire.ts'

export type { Row, ServerError } from './wire.ts'

export type PipelineStatement = {
  readonly text: string
  readonly values: readonly (string | Buffer | null)[]
  /** Format of every result column, text (0) or binary (1); all are text when it is left out. */
  readonly resultFormats?: readonly (0 | 1)[]
}

/** Statements that share one Sync, and so one implicit transaction. */
export type PipelinePart = readonly PipelineStatement[]

/**
 * Takes a row that is so large that it has not arrived as a whole: its fields but the last, and the last one. Such a row is
 * not among the results.
 */
export type OnArriving = (fields: Row, last: ArrivingField) => void

/** An error that the server sent for a statement. The connection goes on working, unless the severity is FATAL. */
export class StatementError extends Error {
  readonly server: ServerError

  constructor(server: ServerError) {
    super(server.message)
    this.name = 'StatementError'
    this.server = server
  }
}

const code = { parseComplete: 0x31, dataRow: 0x44, commandComplete: 0x43, emptyQuery: 0x49, error: 0x45, ready: 0x5a }

const allText: readonly (0 | 1)[] = []
const writer = new MessageWriter()
const caches = new WeakMap<object, StatementCache>()

function cacheOf(client: pg.ClientBase): StatementCache {
  let cache = caches.get(client)
  if (!cache) caches.set(client, (cache = new StatementCache()))
  return cache
}

/**
 * A query object for `pg`: while it is active it reads the socket itself, so that values stay bytes. The last
 * ReadyForQuery is left to `pg`, whose bookkeeping so stays right.
 */
class Exchange implements pg.Submittable {
  readonly #parts: readonly PipelinePart[]
  readonly #cache: StatementCache | undefined
  readonly #settle: (error: Error | undefined, results: Row[][]) => void
  readonly #reader: MessageReader
  readonly #results: Row[][] = []
  readonly #parsed: string[] = []
  #rows: Row[] = []
  #parseCompletes = 0
  #syncs = 0
  #error: Error | undefined
  #restore: (() => void) | undefined
  #settled = false
  #deliver: ((chunk: Buffer) => void) | undefined
  #stream: pg.Connection['stream'] | undefined
  #arriving: ArrivingField | undefined

  constructor(
    parts: readonly PipelinePart[],
    cache: StatementCache | undefined,
    onArriving: OnArriving | undefined,
    settle: (error: Error | undefined, results: Row[][]) => void,
  ) {
    this.#parts = parts
    this.#cache = cache
    this.#settle = settle
    this.#reader = new MessageReader(
      onArriving &&
        ((fields, length) => {
          const flow = { pause: () => this.#stream?.pause(), resume: () => this.#stream?.resume() }
          this.#arriving = new ArrivingField(length, flow)
          onArriving(fields, this.#arriving)
          return this.#arriving
        }),
    )
  }

  submit(connection: pg.Connection): void {
    const { stream } = connection
    this.#stream = stream
    const listeners = stream.listeners('data') as ((chunk: Buffer) => void)[]
    stream.removeAllListeners('data')
    stream.on('data', this.#receive)
    this.#deliver = (chunk) => {
      for (const listener of listeners) listener(chunk)
    }
    this.#restore = () => {
      stream.off('data', this.#receive)
      for (const listener of listeners) stream.on('data', listener)
    }
    for (const part of this.#parts) {
      for (const { text, values, resultFormats } of part) {
        const name = this.#prepare(text)
        writer.bind(name, values, resultFormats ?? allText)
        writer.execute()
      }
      writer.sync()
    }
    stream.write(writer.take())
  }

  #prepare(text: string): string {
    if (!this.#cache) {
      writer.parse('', text)
      return ''
    }
    const name = statementName(text)
    if (!this.#cache.use(name)) {
      const evicted = this.#cache.add(name)
      if (evicted !== undefined) writer.closeStatement(evicted)
      writer.parse(name, text)
      this.#parsed.push(name)
    }
    return name
  }

  readonly #receive = (chunk: Buffer): void => {
    const rest = this.#reader.read(chunk, this.#onMessage)
    if (!rest) return
    this.#restore?.()
    this.#restore = undefined
    this.#deliver?.(rest)
  }

  readonly #onMessage = (messageCode: number, buffer: Buffer, start: number, end: number): boolean => {
    switch (messageCode) {
      case code.parseComplete:
        this.#parseCompletes++
        return true
      case code.dataRow:
        this.#rows.push(readRow(buffer, start))
        return true
      case code.commandComplete:
      case code.emptyQuery:
        this.#results.push(this.#rows)
        this.#rows = []
        return true
      case code.error:
        this.#error ??= new StatementError(readError(buffer, start, end))
        return true
      case code.ready:
        return ++this.#syncs < this.#parts.length
      default:
        // BindComplete, CloseComplete, NoData, and what may come at any time: notices, notifications, parameters.
        return true
    }
  }

  handleReadyForQuery(): void {
    this.#finish(this.#error)
  }

  /** The connection was lost, or `pg` could not send. */
  handleError(error: Error): void {
    this.#restore?.()
    this.#restore = undefined
    this.#finish(this.#error ?? error)
  }

  #finish(error: Error | undefined): void {
    if (this.#settled) return
    this.#settled = true
    if (error && this.#cache) {
      // What stood behind the error was skipped by the server, so it is not prepared.
      for (const name of this.#parsed.slice(this.#parseCompletes)) this.#cache.delete(name)
    }
    this.#arriving?.end(error)
    this.#settle(error, this.#results)
  }
}

/** Prepared statements are gone, there already, or stale: see `runPipeline`. */
const staleStatement = (error: Error): boolean =>
  error instanceof StatementError &&
  (error.server.code === '26000' ||
    error.server.code === '42P05' ||
    (error.server.code === '0A000' && error.server.message === 'cached plan must not change result type'))

const exchange = (
  client: pg.ClientBase,
  parts: readonly PipelinePart[],
  cache: StatementCache | undefined,
  onArriving?: OnArriving,
) =>
  new Promise<Row[][]>((resolve, reject) => {
    client.query(
      new Exchange(parts, cache, onArriving, (error, results) => {
        if (error) reject(error)
        else resolve(results)
      }),
    )
  })

/**
 * Runs the parts on a client that is not used by anyone else, in one round trip.
 *
 * @param parts each one an implicit transaction, unless a part begins with BEGIN
 * @param prepare whether statements are prepared and kept on the connection
 * @param onArriving takes large rows before the transaction has ended; without it they are waited for
 * @returns the rows of every statement, in order
 * @throws StatementError for the first error of the server; other errors mean that the connection is lost
 */
export async function runPipeline(
  client: pg.ClientBase,
  parts: readonly PipelinePart[],
  prepare: boolean,
  onArriving?: OnArriving,
): Promise<Row[][]> {
  const cache = prepare ? cacheOf(client) : undefined
  try {
    return await exchange(client, parts, cache, onArriving)
  } catch (error) {
    if (!cache || !(error instanceof Error) || !staleStatement(error)) throw error
    // Nothing was done, or it was undone. Once more, with statements prepared anew.
    cache.clear()
    await exchange(client, [[{ text: 'DEALLOCATE ALL', values: [] }]], undefined)
    return exchange(client, parts, cache, onArriving)
  }
}
