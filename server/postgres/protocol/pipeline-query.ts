// A pipeline on one connection, at the level of the protocol: transactions run one after the other, and each may be
// sent before the server has responded to the one ahead of it.
// https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
import type pg from 'pg'
import type { Flow, PipelineStatement, RawRow, RowReceiver, ServerError } from '../../rest/database.ts'
import { StreamedField } from './streamed-field.ts'
import { intercept, type GiveBack } from './incoming.ts'
import type { StatementStats } from '../../common/statement-stats.ts'
import { statementName, type StatementCache } from './statement-cache.ts'
import { MessageReader, readColumnNames, readError, readRow } from './message-reader.ts'
import { MessageWriter } from './message-writer.ts'
import { statementError, unsendable } from './statement-error.ts'

/** Statements that share one Sync, and so one implicit transaction. */
export type PipelinePart = readonly PipelineStatement[]

/** Receives a large row while it still arrives: all fields but the last, and the last one. The results leave it out. */
export type OnLargeRow = (fields: RawRow, last: StreamedField) => void

/** What runs for one caller. */
export type QueuedTransaction = {
  /** Each one an implicit transaction, unless a part begins with BEGIN. */
  readonly parts: readonly PipelinePart[]
  /** Receives a large row before the transaction has ended; without it, large rows are buffered like others. */
  readonly onLargeRow?: OnLargeRow | undefined
  /** Records duration and result size. */
  readonly stats?: StatementStats | undefined
  /** Whether one of the statements has a `receiver`. */
  readonly hasReceiver?: boolean
  /**
   * Maximum number of bytes of the rows of statements with `isCounted`. With the row that exceeds it, the transaction fails,
   * and what follows is discarded while it arrives.
   */
  readonly maxBytes?: number | undefined
  /** Is called when `maxBytes` is exceeded, while the server still runs the transaction. */
  onExcess?(): void
  /** Is called when no other transaction is ahead. */
  onBegin?(): void
  /** Receives the rows of every statement in order, or the first error of the server or of the lost connection. */
  settle(error: Error | undefined, results: RawRow[][]): void
}

/** A Parse or Close that was sent; the unnamed statement has the empty name. */
type Preparation = { readonly kind: 'parse' | 'close'; readonly name: string }

/** How far a part has come. After an error the server skips the rest of the part. */
type PartProgress = {
  /** What was sent; `prepared` counts what the server has responded to. */
  readonly preparations: Preparation[]
  prepared: number
  bound: number
  completed: number
}

/** A transaction that has not ended. */
type Running = {
  readonly transaction: QueuedTransaction
  readonly results: RawRow[][]
  rows: RawRow[]
  syncs: number
  readonly parts: PartProgress[]
  /** Bytes of its rows. */
  bytes: number
  /** Bytes of the rows that `maxBytes` limits. */
  counted: number
  error: Error | undefined
  streamed: StreamedField | undefined
}

const code = {
  parseComplete: 0x31,
  bindComplete: 0x32,
  closeComplete: 0x33,
  rowDescription: 0x54,
  dataRow: 0x44,
  commandComplete: 0x43,
  emptyQuery: 0x49,
  error: 0x45,
  ready: 0x5a,
}

/** The receiver of the statement that is being executed. */
const receiverOf = (running: Running, { completed }: PartProgress): RowReceiver | undefined =>
  running.transaction.parts[running.syncs]?.[completed]?.receiver

/** program_limit_exceeded */
const tooLarge = (maxBytes: number): ServerError => ({
  severity: 'ERROR',
  code: '54000',
  message: `the rows of the transaction have more than ${maxBytes} bytes`,
  isTooLarge: true,
})

const allText: readonly (0 | 1)[] = []
const writer = new MessageWriter()

/**
 * A query object for `pg`. While it is active it reads the socket itself, so that values stay bytes. It leaves the last
 * ReadyForQuery to `pg`, so that the client knows that it is idle.
 */
export class PipelineQuery implements pg.Submittable {
  readonly #cache: StatementCache | undefined
  readonly #onEnd: (error: Error | undefined) => void
  readonly #reader: MessageReader
  /** Transactions in order; the server is running the first one. */
  readonly #transactions: Running[] = []
  #unsent: Running[] = []
  #isFlushing = false
  /** When the first transaction could begin, as `performance.now()`. */
  #since = 0
  /** Transactions whose responses ended in the chunk that is being read. */
  #ended: Running[] = []
  #giveBack: GiveBack | undefined
  #stream: pg.Connection['stream'] | undefined
  /** Has received rows of the chunk that is being read. */
  #receiver: RowReceiver | undefined

  /**
   * @param cache the prepared statements of the connection; without it, statements are not prepared
   * @param onEnd is called when all transactions have ended, or with the error of a lost connection
   */
  constructor(cache: StatementCache | undefined, onEnd: (error: Error | undefined) => void) {
    this.#cache = cache
    this.#onEnd = onEnd
    this.#reader = new MessageReader({
      wants: () => this.#transactions[0]?.transaction.onLargeRow !== undefined,
      begin: (fields, length) => this.#beginLargeRow(fields, length),
      refuses: (length) => this.#exceeds(length),
    })
  }

  /** Adds a transaction. All that are added in one turn of the event loop are sent together. */
  add(transaction: QueuedTransaction): void {
    const running: Running = {
      transaction,
      results: [],
      rows: [],
      syncs: 0,
      parts: [],
      bytes: 0,
      counted: 0,
      error: undefined,
      streamed: undefined,
    }
    this.#unsent.push(running)
    if (this.#transactions.push(running) === 1) transaction.onBegin?.()
    if (!this.#stream || this.#isFlushing) return
    this.#isFlushing = true
    setImmediate(this.#flush)
  }

  submit(connection: pg.Connection): void {
    const { stream } = connection
    this.#stream = stream
    this.#giveBack = intercept(stream, this.#receive)
    this.#flush()
  }

  readonly #flush = (): void => {
    this.#isFlushing = false
    if (!this.#stream || this.#unsent.length === 0) return
    if (this.#unsent.length === this.#transactions.length) this.#since = performance.now()
    for (const running of this.#unsent) this.#writeOrFail(running)
    this.#unsent = []
    writer.sendTo(this.#stream)
  }

  /**
   * Writes a transaction. If it cannot be written, only this transaction fails: the writer, which all connections share, is
   * reset, and each of the parts is a single Sync, so that responses still match the transactions.
   */
  #writeOrFail(running: Running): void {
    const { mark } = writer
    try {
      this.#write(running)
    } catch (error) {
      writer.undoTo(mark)
      const { parts, transaction } = running
      for (const progress of parts.splice(0)) this.#skip(progress)
      running.error = unsendable(transaction.parts, error)
      parts.push(...transaction.parts.map(() => ({ preparations: [], prepared: 0, bound: 0, completed: 0 })))
      parts.forEach(() => writer.sync())
    }
  }

  #write({ transaction, parts }: Running): void {
    for (const part of transaction.parts) {
      const progress: PartProgress = { preparations: [], prepared: 0, bound: 0, completed: 0 }
      parts.push(progress)
      let next = 0
      let isChecked = false
      for (const statement of part) {
        next++
        if (!isChecked && statement.hasNoEffect !== true) {
          isChecked = true
          this.#checkRest(part, next)
        }
        const { values, resultFormats, receiver } = statement
        if (receiver?.namesOf) {
          writer.parse('', receiver.namesOf.text)
          progress.preparations.push({ kind: 'parse', name: '' })
          writer.describeStatement('')
        }
        writer.bind(this.#prepare(statement, progress), values, resultFormats ?? allText)
        writer.execute()
      }
      writer.sync()
    }
  }

  /**
   * Describes the prepared statements that follow one with an effect, before that one is executed: if one of them is
   * stale, the whole part can run again. Describing does not plan, so it costs little.
   */
  #checkRest(part: PipelinePart, from: number): void {
    if (!this.#cache) return
    for (let index = from; index < part.length; index++) {
      const statement = part[index]
      if (!statement || statement.isUnprepared === true) continue
      const name = statementName(statement.text)
      if (this.#cache.use(name) === 'prepared') writer.describeStatement(name)
    }
  }

  /**
   * The name to bind a statement by. A part does not use a statement that another part prepares before the server has
   * confirmed it: the server skips the Parse when something before it fails.
   */
  #prepare({ text, isUnprepared }: PipelineStatement, { preparations }: PartProgress): string {
    const cache = isUnprepared === true ? undefined : this.#cache
    if (cache) {
      const name = statementName(text)
      const state = cache.use(name)
      if (state === 'prepared') return name
      if (state === 'preparing' && preparations.some((sent) => sent.name === name)) return name
      const { hasRoom, evicted } = state === undefined ? cache.reserve(name) : { hasRoom: false }
      if (evicted !== undefined) {
        writer.closeStatement(evicted)
        preparations.push({ kind: 'close', name: evicted })
      }
      if (hasRoom) {
        writer.parse(name, text)
        preparations.push({ kind: 'parse', name })
        return name
      }
    }
    writer.parse('', text)
    preparations.push({ kind: 'parse', name: '' })
    return ''
  }

  readonly #receive = (chunk: Buffer): void => {
    const rest = this.#reader.read(chunk, this.#onMessage)
    this.#receiver?.flush()
    this.#receiver = undefined
    if (rest) this.#stopReading(rest)
    if (this.#ended.length > 0) this.#recordRuns()
  }

  /** Responses that arrive in one chunk share the elapsed time equally. */
  #recordRuns(): void {
    const now = performance.now()
    const each = (now - this.#since) / this.#ended.length
    this.#since = now
    for (const { transaction, bytes, error } of this.#ended) if (!error) transaction.stats?.record(each, bytes)
    this.#ended = []
  }

  #stopReading(rest?: Buffer): void {
    const giveBack = this.#giveBack
    this.#giveBack = undefined
    giveBack?.(rest)
  }

  readonly #onMessage = (messageCode: number, buffer: Buffer, start: number, end: number): boolean => {
    const [running] = this.#transactions
    const progress = running?.parts[running.syncs]
    if (!running || !progress) return true
    switch (messageCode) {
      case code.parseComplete:
      case code.closeComplete:
        this.#prepared(progress.preparations[progress.prepared++])
        return true
      case code.bindComplete:
        progress.bound++
        return true
      case code.dataRow:
        if (running.transaction.hasReceiver === true && this.#receiveRow(running, progress, buffer, start, end))
          return true
        if (running.transaction.maxBytes !== undefined && this.#isExcess(running, progress, end - start)) return true
        running.rows.push(readRow(buffer, start, end))
        running.bytes += end - start
        return true
      case code.commandComplete:
      case code.emptyQuery:
        if (!running.error) running.results.push(running.rows)
        running.rows = []
        progress.completed++
        return true
      case code.error:
        running.error ??= statementError(running.syncs, progress, readError(buffer, start, end))
        this.#skip(progress)
        return true
      case code.ready:
        if (++running.syncs < running.transaction.parts.length) return true
        // `pg` reads the last ReadyForQuery.
        if (this.#transactions.length === 1) return false
        this.#transactions.shift()
        this.#finish(running, running.error)
        this.#transactions[0]?.transaction.onBegin?.()
        return true
      case code.rowDescription:
        if (running.transaction.hasReceiver === true)
          receiverOf(running, progress)?.columns(readColumnNames(buffer, start))
        return true
      default:
        // Descriptions of parameters, and messages that may arrive at any time: notices, notifications, parameters.
        return true
    }
  }

  /** Whether a large row that begins to arrive is discarded. */
  #exceeds(length: number): boolean {
    const [running] = this.#transactions
    const progress = running?.parts[running.syncs]
    if (!running || !progress || running.transaction.maxBytes === undefined) return false
    return this.#isExcess(running, progress, length, false)
  }

  /**
   * Whether a row exceeds the limit of its transaction, which fails then.
   *
   * @param counts whether the row has arrived completely
   */
  #isExcess(running: Running, progress: PartProgress, length: number, counts = true): boolean {
    const { transaction } = running
    const { maxBytes = Infinity, parts } = transaction
    if (running.error) return true
    if (parts[running.syncs]?.[progress.completed]?.isCounted !== true) return false
    const counted = running.counted + length
    if (counts) running.counted = counted
    if (counted <= maxBytes) return false
    running.error = statementError(running.syncs, progress, tooLarge(maxBytes))
    running.rows = []
    transaction.onExcess?.()
    return true
  }

  /** Passes a row to the receiver of its statement; false when the statement has none. */
  #receiveRow(running: Running, progress: PartProgress, buffer: Buffer, start: number, end: number): boolean {
    const receiver = receiverOf(running, progress)
    if (!receiver) return false
    if (!receiver.hasBegun) receiver.begin(readRow(buffer, start, end), this.#flow())
    this.#receiver = receiver
    const length = buffer.readInt32BE(start + 2)
    receiver.row(buffer, length < 0 ? -1 : start + 6, start + 6 + length)
    return true
  }

  #flow(): Flow {
    return { pause: () => this.#stream?.pause(), resume: () => this.#stream?.resume() }
  }

  #prepared(preparation: Preparation | undefined): void {
    if (!preparation || preparation.name === '') return
    if (preparation.kind === 'parse') this.#cache?.prepared(preparation.name)
    else this.#cache?.removed(preparation.name)
  }

  /** Reverts the preparations that the server skips after an error. */
  #skip(progress: PartProgress): void {
    for (const { kind, name } of progress.preparations.slice(progress.prepared)) {
      if (name === '') continue
      if (kind === 'parse') this.#cache?.removed(name)
      else this.#cache?.prepared(name)
    }
    progress.prepared = progress.preparations.length
  }

  #beginLargeRow(fields: RawRow, length: number): StreamedField {
    const field = new StreamedField(length, this.#flow())
    const [running] = this.#transactions
    if (running) {
      running.streamed = field
      running.bytes += length
      running.transaction.onLargeRow?.(fields, field)
    }
    return field
  }

  handleReadyForQuery(): void {
    const running = this.#transactions.shift()
    this.#onEnd(undefined)
    if (running) this.#finish(running, running.error)
  }

  /** `pg` calls this when the connection is lost, or when it cannot send. */
  handleError(error: Error): void {
    this.#stopReading()
    this.#onEnd(error)
    for (const running of this.#transactions.splice(0)) this.#finish(running, running.error ?? error)
  }

  #finish(running: Running, error: Error | undefined): void {
    const { transaction, results, streamed } = running
    this.#ended.push(running)
    streamed?.end(error)
    transaction.settle(error, results)
  }
}
