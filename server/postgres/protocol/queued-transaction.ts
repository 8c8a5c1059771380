// A transaction of a pipeline, and how far it has come.
import type { ServerError } from '../../rest/database.ts'
import type { RawRow, RowReceiver } from '../../rest/row-transfer.ts'
import type { StatementStats } from '../../common/statement-stats.ts'
import type { WritePace } from '../sharing/write-pace.ts'
import { largeRow, lengthOfRow } from './message-reader.ts'
import { statementError } from './statement-error.ts'
import type { StatementTimer } from './statement-timer.ts'
import type { StreamedField } from './streamed-field.ts'
import type { TransactionFlow } from './transaction-flow.ts'
import type { PipelinePart } from './pipeline-part.ts'
import { mostInMemory, mostOfOnlyForm, mostOfRow, RowsRefused, type Collection, type RowsRun } from './rows-run.ts'
import type { SpillSpace } from './spill-space.ts'

/** Receives a large row while it still arrives: all fields but the last, and the last one. The results leave it out. */
export type OnLargeRow = (fields: RawRow, last: StreamedField) => void

/** Where the large body of a transaction goes whose rows are encoded. */
export type LargeBodies = {
  /** Where it is kept until it is sent. */
  readonly space: SpillSpace
  /** Receives it once it is complete, before the transaction has ended, unless `onLargeRow` does. The results leave it out. */
  takeBody(body: StreamedField): void
}

/** What runs for one caller. */
export type QueuedTransaction = {
  /** Each one an implicit transaction, unless a part begins with BEGIN. */
  readonly parts: readonly PipelinePart[]
  /**
   * Cleans the session of what the parts may have left in it, in a transaction of its own, whether they have failed or not. It
   * belongs to the connection, not to the caller: it has no results, is not observed, and its errors are ignored.
   */
  readonly cleanup?: PipelinePart | undefined
  /** Receives a large row before the transaction has ended; without it, large rows are buffered like others. */
  readonly onLargeRow?: OnLargeRow | undefined
  /** Without it, a large body of encoded rows is kept in memory, or not encoded. */
  readonly largeBodies?: LargeBodies | undefined
  /** Records duration and result size. */
  readonly stats?: StatementStats | undefined
  /** Records how long it has occupied a shared connection, if it is a write. */
  readonly pace?: WritePace | undefined
  /** Whether one of the statements has a `receiver`. */
  readonly hasReceiver?: boolean
  /** Whether rows may run in place of statements that have them. The transaction may then end with `RowsRefused`. */
  readonly usesRows?: boolean | undefined
  /**
   * Maximum number of bytes of the rows of statements with `isCounted`. With the row that exceeds it, the transaction fails,
   * and what follows is discarded while it arrives.
   */
  readonly maxBytes?: number | undefined
  /** Times its statements for an observer. */
  readonly timer?: StatementTimer | undefined
  /** Is called when `maxBytes` is exceeded, or when rows cannot be encoded or are too large for it, while the server still runs the transaction. */
  onExcess?(): void
  /** Is called when no other transaction is ahead. */
  onBegin?(): void
  /** Receives the rows of every statement in order, or the first error of the server or of the lost connection. */
  settle(error: Error | undefined, results: RawRow[][]): void
}

/** A Parse or Close that was sent; the unnamed statement has the empty name. */
export type Preparation = { readonly kind: 'parse' | 'close'; readonly name: string }

/** How far a part has come. After an error the server skips the rest of the part. */
export type PartProgress = {
  /** What was sent; `prepared` counts what the server has responded to. */
  readonly preparations: Preparation[]
  prepared: number
  /** Descriptions that have not arrived of statements that were only checked. They precede all others. */
  checks: number
  bound: number
  completed: number
  /** The statements of which the rows are encoded, in order, up to the last one that has ended. Undefined without any. */
  rows: RowsRun[] | undefined
}

/** A transaction that has not ended. */
export class RunningTransaction {
  readonly transaction: QueuedTransaction
  readonly results: RawRow[][] = []
  /** Of the statement that is being executed. */
  rows: RawRow[] = []
  /** Number of parts that have ended. */
  syncs = 0
  readonly parts: PartProgress[] = []
  /** Bytes of its rows. */
  bytes = 0
  error: Error | undefined
  streamed: StreamedField | undefined
  /** Of its large row, or of the rows of its receiver. */
  flow: TransactionFlow | undefined
  /** Bytes of the rows that `maxBytes` limits. */
  #counted = 0

  constructor(transaction: QueuedTransaction) {
    this.transaction = transaction
  }

  /** All parts that are sent. */
  get sent(): readonly PipelinePart[] {
    const { parts, cleanup } = this.transaction
    return cleanup ? [...parts, cleanup] : parts
  }

  /** Whether the parts have ended, and what runs cleans the session. */
  get isCleaning(): boolean {
    return this.syncs >= this.transaction.parts.length
  }

  /** The receiver of the statement that is being executed. */
  receiver({ completed }: PartProgress): RowReceiver | undefined {
    return this.transaction.parts[this.syncs]?.[completed]?.receiver
  }

  /** The rows that are arriving in place of the result of a statement. */
  rowsOf({ rows, completed }: PartProgress): RowsRun | undefined {
    return rows?.[0]?.index === completed && !this.isCleaning ? rows[0] : undefined
  }

  /** Encodes a row. The transaction fails if that is not possible. */
  encode(run: RowsRun, progress: PartProgress, buffer: Buffer, start: number, end: number): void {
    const { request, encoded } = run
    if (this.error || !encoded) return
    const { bytes } = encoded
    if (this.isTooLong(run, bytes, end - start)) return
    if (run.add(encoded, buffer, start, end)) {
      if (this.transaction.maxBytes !== undefined) this.isExcess(progress, encoded.bytes - bytes)
      return
    }
    request.plan.refuse()
    this.error = new RowsRefused()
  }

  /** Fails the transaction because the receiver of its rows cannot go on. */
  refuseRows(): void {
    this.error = new RowsRefused()
    this.transaction.onExcess?.()
  }

  /** Keeps a large body where such bodies are kept, if there is such a place. */
  collect(run: RowsRun, flow: Collection['flow']): void {
    const { space } = this.transaction.largeBodies ?? {}
    // A write has taken effect by the time that there is no room: its rows are kept in memory then.
    const onFull = run.request.plan.isOnlyForm ? undefined : (): void => this.#giveUp(run)
    if (space) run.collect({ space, flow, onFull })
  }

  /**
   * Whether a row is too long to be encoded, or its body too long to be kept. The transaction fails then.
   *
   * @param bytes length of the body before the row
   */
  isTooLong(run: RowsRun, bytes: number, row: number): boolean {
    if (this.error) return true
    const { isOnlyForm } = run.request.plan
    const most = isOnlyForm ? mostOfOnlyForm : this.transaction.largeBodies ? Infinity : mostInMemory
    const isLongRow = !isOnlyForm && row > mostOfRow
    if (bytes + row <= most && !isLongRow) return false
    // Other requests would meet the row, too.
    if (isLongRow) run.request.plan.refuse()
    this.#giveUp(run)
    return true
  }

  /** Fails the transaction because a body cannot be kept: the statement itself runs then, or there is an error if that is not possible. */
  #giveUp(run: RowsRun): void {
    const { request, index } = run
    request.isGivenUp = true
    this.error ??= request.plan.isOnlyForm
      ? statementError(this.syncs, { completed: index, bound: index + 1 }, tooLong)
      : new RowsRefused()
    run.drop()
    this.transaction.onExcess?.()
  }

  /** Makes the result of the rows of a statement that has ended, if they were encoded. */
  endRows(progress: PartProgress): void {
    const rows = this.rowsOf(progress)
    if (!rows) return
    progress.rows?.shift()
    // The transaction does not know of it any more when it ends.
    if (!rows.encoded || this.error) return rows.drop()
    const { encoded, request, index } = rows
    const { onLargeRow, largeBodies, timer } = this.transaction
    if (!request.plan.isOnlyForm) timer?.replace(this.syncs, index, request.plan.text)
    const fields = encoded.end()
    const { bytes } = encoded
    this.bytes += bytes
    const isLarge = onLargeRow !== undefined && lengthOfRow(fields) + 4 + bytes >= largeRow
    const body = rows.collected(encoded) ?? (isLarge ? rows.field(encoded) : undefined)
    if (!body) this.rows = [[...fields, rows.body(encoded)]]
    else if (onLargeRow) onLargeRow(fields, body)
    else {
      this.rows = [fields]
      largeBodies?.takeBody(body)
    }
  }

  /** Frees the rows of a transaction that has failed. */
  drop(): void {
    for (const { rows } of this.parts) rows?.forEach((run) => run.drop())
  }

  /**
   * Whether a row exceeds the limit of the transaction, which fails then.
   *
   * @param counts whether the row has arrived completely
   */
  isExcess(progress: PartProgress, length: number, counts = true): boolean {
    const { maxBytes = Infinity, parts } = this.transaction
    if (this.error) return true
    if (parts[this.syncs]?.[progress.completed]?.isCounted !== true) return false
    const counted = this.#counted + length
    if (counts) this.#counted = counted
    if (counted <= maxBytes) return false
    this.error = statementError(this.syncs, progress, tooLarge(maxBytes))
    this.rows = []
    this.transaction.onExcess?.()
    return true
  }
}

/** program_limit_exceeded */
const tooLong: ServerError = {
  severity: 'ERROR',
  code: '54000',
  message: `the rows of the response have more than ${mostOfOnlyForm} bytes; whether they were written is not known`,
}
const tooLarge = (maxBytes: number): ServerError => ({
  severity: 'ERROR',
  code: '54000',
  message: `the rows of the transaction have more than ${maxBytes} bytes`,
  isTooLarge: true,
})
