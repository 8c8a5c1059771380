// A run of the rows of a statement in place of the statement: see `PipelineStatement.rows`.
import type { EncodedRows, RowsRequest } from '../../rest/row-transfer.ts'
import { TracelessError } from '../../common/traceless-error.ts'
import { pieceSize } from './buffer-pool.ts'
import { PooledBuffer } from './pooled-buffer.ts'
import { StreamedField } from './streamed-field.ts'

/**
 * Bytes of a body that is kept in memory. A larger one goes where bodies of slow readers are kept (`SpillSpace`); where that is not
 * possible, the statement itself runs, which streams the body.
 */
export const mostInMemory = 2 * 1024 * 1024
/** Bytes of a row that is encoded if the statement itself could run. */
export const mostOfRow = mostInMemory
/** Bytes of a body in memory that no other statement returns: those of a value of PostgreSQL. */
export const mostOfOnlyForm = 1024 * 1024 * 1024 - 1

/** Where a large body is collected. */
export type Collection = Parameters<typeof StreamedField.collected>[1]

/**
 * Whether rows run, instead of the statement in whose place they may run.
 *
 * @param usesRows whether they may, if the statement could run
 */
export const runsRows = ({ plan, isGivenUp }: RowsRequest, usesRows: boolean): boolean =>
  plan.isOnlyForm || (usesRows && !isGivenUp && !plan.isRefused)

/** A run that was sent. */
export class RowsRun {
  readonly request: RowsRequest
  /** Number of the statement in its part. */
  readonly index: number
  /** The name that the rows are prepared under; empty if they are not. */
  readonly name: string
  /** Undefined until the columns are known. */
  encoded: EncodedRows | undefined
  /** Whether the server was asked to describe the columns. */
  readonly isDescribed: boolean
  /** The beginning of the body. */
  #kept: PooledBuffer[] = []
  #keptBytes = 0
  /** The body, if it is large. */
  #collected: StreamedField | undefined

  constructor(request: RowsRequest, index: number, name: string, encoded: EncodedRows | undefined) {
    this.request = request
    this.index = index
    this.name = name
    this.encoded = encoded
    this.isDescribed = encoded === undefined
  }

  /** Encodes a row; false when that is not possible. Only a form that has an alternative may fail. */
  add(encoded: EncodedRows, buffer: Buffer, start: number, end: number): boolean {
    if (encoded.add(buffer, start, end)) return true
    if (!this.request.plan.isOnlyForm) return false
    this.keep(encoded)
    if (!encoded.add(buffer, start, end)) this.#keepBytes(encoded.addLong(buffer, start))
    return true
  }

  /** Keeps what was encoded of the chunk that has arrived. */
  keep(encoded: EncodedRows): void {
    this.#keepBytes(encoded.take())
  }

  /** Whether the body is larger than what is kept in memory, and does not go elsewhere yet. */
  get isLarge(): boolean {
    return this.#keptBytes > mostInMemory && this.#collected === undefined
  }

  /** Moves the body to where large ones are kept, and what follows with it. */
  collect(collection: Collection): void {
    this.#collected = StreamedField.collected(this.#kept.splice(0), collection)
  }

  /** Frees what is kept of a body that is not sent. */
  drop(): void {
    for (const pooled of this.#kept.splice(0)) pooled.free()
    this.#collected?.drop()
  }

  #keepBytes(bytes: Buffer): void {
    if (this.#collected) return this.#collected.push(bytes)
    this.#keptBytes += bytes.length
    let from = this.#kept.at(-1)?.append(bytes) ?? 0
    for (; from < bytes.length; from += pieceSize)
      this.#kept.push(PooledBuffer.of(bytes.subarray(from, from + pieceSize)))
  }

  /** The large body, which is complete then; undefined if it is in memory. */
  collected(encoded: EncodedRows): StreamedField | undefined {
    if (!this.#collected) return undefined
    this.keep(encoded)
    this.#collected.end()
    return this.#collected
  }

  /** The whole body. */
  body(encoded: EncodedRows): Buffer {
    if (this.#kept.length === 0) return Buffer.from(encoded.take())
    this.keep(encoded)
    const body = Buffer.concat(this.#kept.map(({ bytes }) => bytes))
    for (const pooled of this.#kept.splice(0)) pooled.free()
    return body
  }

  /** The same as a value that has arrived completely. */
  field(encoded: EncodedRows): StreamedField {
    this.keep(encoded)
    return StreamedField.arrived(this.#kept)
  }
}

/**
 * The rows cannot be encoded, or are too many. The plan is refused, or the request given up, so the transaction, which had no
 * effect, can run again with the statement itself.
 */
export class RowsRefused extends TracelessError {
  constructor() {
    super('the rows cannot be encoded', undefined)
    this.name = 'RowsRefused'
  }
}
