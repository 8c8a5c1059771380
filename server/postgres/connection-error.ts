// Why a transaction got no connection.
import { TracelessError } from '../common/traceless-error.ts'
import type { DatabaseFailure } from '../rest/database.ts'

type Kind = Exclude<DatabaseFailure['kind'], 'statement failed'>

/** Nothing was run: no connection could be made, none became free in time, or the caller was gone before. */
export class ConnectionError extends TracelessError {
  readonly kind: Kind

  constructor(kind: Kind, message: string, cause?: unknown) {
    super(message, cause)
    this.name = 'ConnectionError'
    this.kind = kind
  }
}

export const connectionErrors = {
  /** `message` is that of the error that caused it. */
  notConnected: (message: string, cause: unknown) => new ConnectionError('not connected', message, cause),
  timedOut: () => new ConnectionError('timed out', 'no connection became free in time'),
  callerGone: () => new ConnectionError('caller gone', 'the caller no longer waits'),
}
