// A pipeline on one connection, at the level of the protocol: transactions run one after the other, and each may be
// sent before the server has responded to the one ahead of it.
// https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
import type pg from 'pg'
import type { RawRow, RowReceiver } from '../../rest/row-transfer.ts'
import { StreamedField } from './streamed-field.ts'
import { intercept, type GiveBack } from './incoming.ts'
import type { StatementCache } from './statement-cache.ts'
import { MessageReader, readColumns, readError, readRow } from './message-reader.ts'
import { PartWriter, writer } from './part-writer.ts'
import { RunningTransaction, type PartProgress, type QueuedTransaction } from './queued-transaction.ts'
import { RowsRefused, type RowsRun } from './rows-run.ts'
import { arrivals } from './arrival.ts'
import { statementError, unsendable } from './statement-error.ts'
import { TransactionFlow } from './transaction-flow.ts'

const code = {
  parseComplete: 0x31,
  bindComplete: 0x32,
  closeComplete: 0x33,
  rowDescription: 0x54,
  noData: 0x6e,
  dataRow: 0x44,
  commandComplete: 0x43,
  emptyQuery: 0x49,
  error: 0x45,
  ready: 0x5a,
}

/**
 * A query object for `pg`. While it is active it reads the socket itself, so that values stay bytes. It leaves the last
 * ReadyForQuery to `pg`, so that the client knows that it is idle.
 */
export class PipelineQuery implements pg.Submittable {
  readonly #writer: PartWriter
  readonly #onEnd: (error: Error | undefined) => void
  readonly #reader: MessageReader
  /** Transactions in order; the server is running the first one. */
  readonly #transactions: RunningTransaction[] = []
  #unsent: RunningTransaction[] = []
  #isFlushing = false
  /** When the first transaction could begin, as `performance.now()`. */
  #since = 0
  /** Transactions whose responses ended in the chunk that is being read. */
  #ended: RunningTransaction[] = []
  #giveBack: GiveBack | undefined
  #stream: pg.Connection['stream'] | undefined
  /** Has received rows of the chunk that is being read. */
  #receiver: RowReceiver | undefined
  /** Has encoded rows of that chunk. */
  #encoding: RowsRun | undefined

  /**
   * @param cache the prepared statements of the connection; without it, statements are not prepared
   * @param onEnd is called when all transactions have ended, or with the error of a lost connection
   */
  constructor(cache: StatementCache | undefined, onEnd: (error: Error | undefined) => void) {
    this.#writer = new PartWriter(cache)
    this.#onEnd = onEnd
    this.#reader = new MessageReader({
      wants: () => this.#wantsLargeRow(),
      begin: (fields, length) => this.#beginLargeRow(fields, length),
      refuses: (length) => this.#exceeds(length),
    })
  }

  /**
   * Adds a transaction. It is sent at once if the server has nothing to do; otherwise together with all that are added before
   * the server responds, or in this round of the event loop. A round may take seconds when thousands of sockets have data.
   */
  add(transaction: QueuedTransaction): void {
    const running = new RunningTransaction(transaction)
    this.#unsent.push(running)
    const isFirst = this.#transactions.push(running) === 1
    if (isFirst) transaction.onBegin?.()
    if (!this.#stream || this.#isFlushing) return
    if (isFirst) return this.#flush()
    this.#isFlushing = true
    setImmediate(this.#endRound)
  }

  submit(connection: pg.Connection): void {
    const { stream } = connection
    this.#stream = stream
    this.#giveBack = intercept(stream, this.#receive)
    this.#flush()
  }

  readonly #endRound = (): void => {
    this.#isFlushing = false
    this.#flush()
  }

  #flush(): void {
    if (!this.#stream || this.#unsent.length === 0) return
    if (this.#unsent.length === this.#transactions.length) {
      this.#since = performance.now()
      this.#transactions[0]?.transaction.timer?.begin()
    }
    for (const running of this.#unsent) this.#writeOrFail(running)
    this.#unsent = []
    writer.sendTo(this.#stream)
  }

  /**
   * Writes a transaction. If it cannot be written, only this transaction fails: the writer, which all connections share, is
   * reset, and each of the parts is a single Sync, so that responses still match the transactions.
   */
  #writeOrFail(running: RunningTransaction): void {
    const { mark } = writer
    try {
      const { sent } = running
      const { timer, usesRows } = running.transaction
      for (const part of sent) this.#writer.write(part, running.parts, timer?.timesStatements, usesRows)
    } catch (error) {
      writer.undoTo(mark)
      const { parts, transaction } = running
      for (const progress of parts.splice(0)) this.#writer.revert(progress)
      running.error = unsendable(transaction.parts, error)
      running.sent.forEach(() => this.#writer.writeEmpty(parts))
    }
  }

  readonly #receive = (chunk: Buffer): void => {
    const rest = this.#reader.read(chunk, this.#onMessage)
    this.#receiver?.flush()
    this.#receiver = undefined
    if (this.#encoding) this.#keepRows(this.#encoding)
    this.#encoding = undefined
    if (rest) this.#stopReading(rest)
    if (this.#ended.length > 0) this.#recordRuns()
    this.#flush()
  }

  /** Responses that arrive in one chunk share the elapsed time equally. */
  #recordRuns(): void {
    const now = performance.now()
    const each = (now - this.#since) / this.#ended.length
    const least = Math.max(0, arrivals.earliest(now) - this.#since) / this.#ended.length
    this.#since = now
    for (const { transaction, bytes, error } of this.#ended) {
      if (error) continue
      transaction.stats?.record(each, bytes, least, now)
      transaction.pace?.record(least, now)
    }
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
        this.#writer.confirm(progress.preparations[progress.prepared++])
        return true
      case code.bindComplete:
        progress.bound++
        return true
      case code.dataRow:
        if (progress.rows !== undefined && this.#encodeRow(running, progress, buffer, start, end)) return true
        if (running.transaction.hasReceiver === true && this.#receiveRow(running, progress, buffer, start, end))
          return true
        if (running.transaction.maxBytes !== undefined && running.isExcess(progress, end - start)) return true
        running.rows.push(readRow(buffer, start, end))
        running.bytes += end - start
        return true
      case code.commandComplete:
      case code.emptyQuery:
        this.#encoding = undefined
        if (progress.rows !== undefined) running.endRows(progress)
        if (!running.error && !running.isCleaning) running.results.push(running.rows)
        running.rows = []
        running.transaction.timer?.endStatement(running.syncs, progress.completed, undefined)
        progress.completed++
        return true
      case code.error:
        this.#fail(running, progress, buffer, start, end)
        return true
      case code.ready:
        running.transaction.timer?.endPart(running.syncs, running.error)
        running.syncs++
        if (running.syncs < running.transaction.parts.length) return true
        if (running.syncs === running.transaction.parts.length && running.transaction.cleanup) return true
        // `pg` reads the last ReadyForQuery.
        if (this.#transactions.length === 1) return false
        this.#transactions.shift()
        this.#finish(running, running.error)
        this.#beginNext()
        return true
      case code.noData:
      case code.rowDescription:
        if (progress.checks > 0) progress.checks--
        else if (messageCode === code.noData) return true
        else if (progress.rows !== undefined) this.#describeRows(running, progress, buffer, start)
        else if (running.transaction.hasReceiver === true) this.#describeToReceiver(running, progress, buffer, start)
        return true
      default:
        // Descriptions of parameters, and messages that may arrive at any time: notices, notifications, parameters.
        return true
    }
  }

  #wantsLargeRow(): boolean {
    const [running] = this.#transactions
    if (running?.transaction.onLargeRow === undefined) return false
    const progress = running.parts[running.syncs]
    return !progress || running.rowsOf(progress) === undefined
  }

  /** Encodes a row; false when it is not one of those that run in place of a statement. */
  #encodeRow(running: RunningTransaction, progress: PartProgress, buffer: Buffer, start: number, end: number): boolean {
    const rows = running.rowsOf(progress)
    if (!rows) return false
    running.encode(rows, progress, buffer, start, end)
    this.#encoding = rows
    return true
  }

  /** Keeps the rows that were encoded of the chunk that has arrived. */
  #keepRows(rows: RowsRun): void {
    if (rows.encoded) rows.keep(rows.encoded)
    const [running] = this.#transactions
    if (rows.isLarge) running?.collect(rows, this.#flowOf(running))
  }

  #describeRows(running: RunningTransaction, progress: PartProgress, buffer: Buffer, start: number): void {
    const rows = running.rowsOf(progress)
    if (rows?.isDescribed !== true) return
    this.#writer.describe(rows, readColumns(buffer, start))
    if (!rows.encoded) running.error ??= new RowsRefused()
  }

  #fail(running: RunningTransaction, progress: PartProgress, buffer: Buffer, start: number, end: number): void {
    const error = readError(buffer, start, end)
    if (!running.isCleaning) running.error ??= statementError(running.syncs, progress, error)
    running.transaction.timer?.endStatement(running.syncs, progress.completed, error)
    this.#writer.skip(progress)
  }

  #beginNext(): void {
    const next = this.#transactions[0]?.transaction
    next?.onBegin?.()
    next?.timer?.begin()
  }

  /** Whether a large row that begins to arrive is discarded. */
  #exceeds(length: number): boolean {
    const [running] = this.#transactions
    const progress = running?.parts[running.syncs]
    if (!running || !progress) return false
    const rows = running.rowsOf(progress)
    if (rows && running.isTooLong(rows, rows.encoded?.bytes ?? 0, length)) return true
    if (running.transaction.maxBytes === undefined) return false
    return running.isExcess(progress, length, false)
  }

  /** Passes a row to the receiver of its statement; false when the statement has none. */
  #receiveRow(
    running: RunningTransaction,
    progress: PartProgress,
    buffer: Buffer,
    start: number,
    end: number,
  ): boolean {
    const receiver = running.receiver(progress)
    if (!receiver) return false
    this.#receiver = receiver
    if (!running.error && !receiver.row(buffer, start, end, this.#flowOf(running))) running.refuseRows()
    return true
  }

  #describeToReceiver(running: RunningTransaction, progress: PartProgress, buffer: Buffer, start: number): void {
    const receiver = running.receiver(progress)
    if (!receiver || running.error) return
    const columns = readColumns(buffer, start)
    // What is not executed is described before the statement itself is bound.
    if (progress.bound === progress.completed) receiver.names(columns)
    else if (!receiver.columns(columns)) running.refuseRows()
  }

  #beginLargeRow(fields: RawRow, length: number): StreamedField {
    const [running] = this.#transactions
    const field = new StreamedField(length, this.#flowOf(running))
    if (running) {
      running.streamed = field
      running.bytes += length
      running.transaction.onLargeRow?.(fields, field)
    }
    return field
  }

  #flowOf(running: RunningTransaction | undefined): TransactionFlow {
    const flow =
      running?.flow ?? new TransactionFlow({ pause: () => this.#stream?.pause(), resume: () => this.#stream?.resume() })
    if (running) running.flow = flow
    return flow
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
    for (const running of this.#transactions.splice(0)) {
      running.transaction.timer?.endPart(running.syncs, running.error ?? error)
      this.#finish(running, running.error ?? error)
    }
  }

  #finish(running: RunningTransaction, error: Error | undefined): void {
    const { transaction, results, streamed, flow } = running
    this.#ended.push(running)
    if (error) running.drop()
    flow?.end()
    streamed?.end(error)
    transaction.settle(error, results)
  }
}
