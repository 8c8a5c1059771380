// A run of the rows of a statement in place of the statement: see `PipelineStatement.rows`.
import type { EncodedRows, RowsRequest } from '../../rest/database.ts'
import { TracelessError } from '../../common/traceless-error.ts'

/** Bytes of a body that is kept in memory, at most; a larger one is streamed by the statement itself. */
export const mostEncoded = 2 * 1024 * 1024

/** A run that was sent. */
export type RowsRun = {
  readonly request: RowsRequest
  /** Number of the statement in its part. */
  readonly index: number
  /** The name that the rows are prepared under; empty if they are not. */
  readonly name: string
  /** Undefined until the columns are known. */
  encoded: EncodedRows | undefined
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
